"""Other methods on the same pictures, each in the setting of a row of the paper's comparison or of the field.

Nearest neighbours, keyword vectors and transductive maps come after the table of methods; the first two score keywords
by functions of row numbers, as in `keywords`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
import torch
from scipy.sparse.linalg import svds
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler, normalize
from torch import Tensor

from gramless import DeepKernelNetwork, SemiSupervised, Views
from gramless.engine import choose_device
from gramless.learning import kernel_distances, neighbour_laplacian
from gramless.pictures.annotation.fitting import N_LANDMARKS, learn_keywords
from reproduction.cells import Figures
from reproduction.keywords import Scores, judged, on_vectors, with_both_heads
from reproduction.laboratory import Laboratory, MapSpec, NetworkSpec

NETWORK = "EfficientNet-Lite0"  # the view of a trained network
N_COMPONENTS = 1_200  # of Nystroem's and of transductive maps: the paper's largest

NETWORK_SVM = "network features + linear SVM"
NYSTROEM = "Nystroem on the average kernel + linear SVM"
NEIGHBOURS = "JEC, nearest neighbours"
WORD_VECTORS = "network features + keyword embeddings"
TRANSDUCTIVE = "transductive maps + linear SVM"
ANNOTATE = f"gramless annotate, S = {N_LANDMARKS:,}"
NEED_A_NETWORK = (NETWORK_SVM, WORD_VECTORS)


def network_svm(laboratory: Laboratory, seed: int) -> Figures:
    """The paper's ResNet + SVM."""
    return on_vectors(normalize(laboratory.collection.views[NETWORK]), laboratory.collection, seed)


def nystroem(laboratory: Laboratory, seed: int) -> Figures:
    """The map of the average of all kernels: what learning the kernel adds to."""
    n_landmarks = min(N_COMPONENTS, laboratory.collection.n_train)
    compiled = laboratory.map(MapSpec(average_network(laboratory, seed), n_landmarks, seed))
    return on_vectors(compiled.phi, laboratory.collection, seed)


def transductive(laboratory: Laboratory, seed: int) -> Figures:
    """wTKML's setting."""
    phi = transductive_map(laboratory.gram(average_network(laboratory, seed)), N_COMPONENTS)
    return on_vectors(phi, laboratory.collection, seed)


def word_vectors(laboratory: Laboratory, seed: int) -> Figures:
    """CNN-R's setting."""
    pictures = laboratory.collection
    regression = word_vector_regression(pictures.views[NETWORK], pictures.labels)
    return with_both_heads(regression, regression, pictures, seed)


def neighbours(laboratory: Laboratory, seed: int) -> Figures:
    """JEC."""
    pictures = laboratory.collection
    transfer = label_transfer(equal_distances(pictures.views), pictures.labels)
    return with_both_heads(transfer, transfer, pictures, seed)


def annotate(laboratory: Laboratory, seed: int) -> Figures:
    """The keywords that a model of `gramless annotate fit` gives."""
    pictures = laboratory.collection
    train, test = pictures.train, pictures.test
    classifier = learn_keywords(pictures.views[train], pictures.labels[train], N_LANDMARKS, seed)
    return {"ours": judged(classifier.predict(pictures.views[test]) > 0, pictures)}


METHODS: dict[str, Callable[[Laboratory, int], Figures]] = {
    NETWORK_SVM: network_svm,
    WORD_VECTORS: word_vectors,
    NEIGHBOURS: neighbours,
    NYSTROEM: nystroem,
    TRANSDUCTIVE: transductive,
    ANNOTATE: annotate,
}


def methods_for(views: Sequence[str]) -> tuple[str, ...]:
    """All that can be run on views: two of them need a trained network's."""
    return tuple(method for method in METHODS if NETWORK in views or method not in NEED_A_NETWORK)


def made_from(laboratory: Laboratory, method: str, seed: int) -> tuple[Hashable, ...]:
    """What a method needs in memory."""
    of_average = method in (NYSTROEM, TRANSDUCTIVE)
    return laboratory.fingerprint, average_network(laboratory, seed) if of_average else method


def average_network(laboratory: Laboratory, seed: int) -> NetworkSpec:
    return NetworkSpec("average", 2, len(laboratory.collection), seed)


N_NEIGHBOURS = 5
RIDGE = 0.1  # per picture, on features of unit spread; as the size, chosen on validation pictures of COREL5k
KEYWORD_VECTOR_SIZE = 128


def equal_distances(views: Views) -> np.ndarray:
    """Joint equal contribution: (n, n) means over views of L1 distances, each scaled by its mean.

    The distances are read off Laplacian kernels exp(-L1 / scale), scale the mean distance, which the engine evaluates.
    Makadia, Pavlovic and Kumar (2008) scale by the largest distance, which one odd picture decides.
    """
    network = DeepKernelNetwork(("laplacian",), (), learning=None, random_state=0).fit(views)
    kernel = network.kernel_
    device = choose_device(views)
    distances = np.zeros((len(views), len(views)), dtype=np.float32)
    step = 500
    for start in range(0, len(views), step):
        rows = slice(start, start + step)
        values = kernel.elementary(views[rows], views, torch.float32, device)
        distances[rows] = -values.clamp_min_(torch.finfo(torch.float32).tiny).log_().mean(0).cpu().numpy()
    return distances


def label_transfer(distances: np.ndarray, labels: np.ndarray) -> Scores:
    """JEC's greedy transfer: the keywords of the nearest picture first, then those of the next four.

    Within the nearest picture keywords are ranked by their frequency in the training pictures; those of the others by
    their co-occurrence with the nearest one's, times their frequency among the others.
    """

    def scores(fitted: np.ndarray, asked: np.ndarray) -> np.ndarray:
        has = labels[fitted].astype(np.float64)
        frequency = has.mean(0)
        together = has.T @ has / len(has)
        nearest = np.argsort(distances[np.ix_(asked, fitted)], axis=1, kind="stable")[:, :N_NEIGHBOURS]
        first, others = has[nearest[:, 0]], has[nearest[:, 1:]].mean(1)
        seconds = (first @ together + 1e-6) * others
        return np.where(first > 0, 1.0 + frequency, seconds / (1.0 + seconds))  # below 1

    return scores


def word_vector_regression(features: np.ndarray, labels: np.ndarray) -> Scores:
    """Pictures are regressed to the mean of their keywords' vectors, and score keywords by cosine (CNN-R's setting)."""

    def scores(fitted: np.ndarray, asked: np.ndarray) -> np.ndarray:
        scaled = StandardScaler().fit(features[fitted]).transform(features)
        vectors = keyword_vectors(labels[fitted])
        counts = np.maximum(labels[fitted].sum(1, keepdims=True), 1)
        targets = labels[fitted] @ vectors / counts
        found = Ridge(alpha=RIDGE * len(fitted)).fit(scaled[fitted], targets).predict(scaled[asked])
        return normalize(found) @ normalize(vectors).T

    return scores


def keyword_vectors(labels: np.ndarray) -> np.ndarray:
    """(n_keywords, size): singular vectors of positive pointwise mutual information between keywords of a picture.

    Levy and Goldberg (2014): Word2Vec factorises about this matrix. Their words come from texts; these come from the
    keywords of the training pictures and need no download. A keyword that no picture has gets zeros.
    """
    has = labels.astype(np.float64)
    together = has.T @ has
    single = together.diagonal() / len(has)
    expected = np.outer(single, single) * len(has)
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log(together / expected)
    information = np.where(np.isfinite(information), np.maximum(information, 0.0), 0.0)
    size = min(KEYWORD_VECTOR_SIZE, len(information) - 1)
    left, values, _ = svds(information, k=size, random_state=0)
    vectors = left * np.sqrt(values)
    vectors[single == 0] = 0.0  # not the rounding of the solver, which would be a direction like any other
    return np.asarray(vectors)


def transductive_map(gram: Tensor, n_components: int) -> np.ndarray:
    """Vectors (n, n_components) of all pictures, test pictures without their keywords included (wTKML's setting).

    The largest eigenvectors of K (I + strength L K)^-1, the kernel of a Laplacian SVM: smooth on the graph of all
    pictures' nearest neighbours.
    """
    settings = SemiSupervised()
    values = gram.double()
    laplacian = neighbour_laplacian(kernel_distances(values), settings.n_neighbours)
    system = settings.strength * (laplacian @ values)
    system.diagonal().add_(1.0)
    smooth = torch.linalg.solve(system, values, left=False)
    eigenvalues, vectors = torch.linalg.eigh((smooth + smooth.T) / 2)
    largest = slice(-min(n_components, len(gram)), None)
    phi = vectors[:, largest] * eigenvalues[largest].clamp_min(0.0).sqrt()
    return phi.float().cpu().numpy()
