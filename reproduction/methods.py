"""Other methods on the same pictures, each in the setting of a row of the paper's comparison or of the field."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from sklearn.preprocessing import normalize

from gramless.pictures.annotation.fitting import N_LANDMARKS, learn_keywords
from reproduction import baselines
from reproduction.cells import Figures
from reproduction.keywords import judged, on_vectors, with_both_heads
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
    phi = baselines.transductive_map(laboratory.gram(average_network(laboratory, seed)), N_COMPONENTS)
    return on_vectors(phi, laboratory.collection, seed)


def word_vectors(laboratory: Laboratory, seed: int) -> Figures:
    """CNN-R's setting."""
    pictures = laboratory.collection
    regression = baselines.word_vector_regression(pictures.views[NETWORK], pictures.labels)
    return with_both_heads(regression, regression, pictures, seed)


def neighbours(laboratory: Laboratory, seed: int) -> Figures:
    """JEC."""
    pictures = laboratory.collection
    transfer = baselines.label_transfer(baselines.equal_distances(pictures.views), pictures.labels)
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
