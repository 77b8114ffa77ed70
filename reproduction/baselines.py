"""Scores of keywords by other methods: nearest neighbours, word vectors, transductive maps.

Each is a function of row numbers, (fitted, asked) -> scores (n_asked, n_keywords), as in `classifiers`.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse.linalg import svds
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler, normalize
from torch import Tensor

from gramless.engine import choose_device
from gramless.estimators import DeepKernelNetwork
from gramless.learning import SemiSupervised, kernel_distances, neighbour_laplacian
from gramless.views import Views
from reproduction.classifiers import Scores

N_NEIGHBOURS = 5
RIDGE = 0.1  # per picture, on features of unit spread; as the size, chosen on validation pictures of COREL5k
WORD_VECTOR_SIZE = 128


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
        vectors = word_vectors(labels[fitted])
        counts = np.maximum(labels[fitted].sum(1, keepdims=True), 1)
        targets = labels[fitted] @ vectors / counts
        found = Ridge(alpha=RIDGE * len(fitted)).fit(scaled[fitted], targets).predict(scaled[asked])
        return normalize(found) @ normalize(vectors).T

    return scores


def word_vectors(labels: np.ndarray) -> np.ndarray:
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
    size = min(WORD_VECTOR_SIZE, len(information) - 1)
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
