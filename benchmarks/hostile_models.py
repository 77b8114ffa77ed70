"""One small saved model of every kind that a file can hold, and what each of them answers."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.frozen import FrozenEstimator

import gramless as gl
from gramless.heads import OnlineHead
from gramless.kernels import ArcCosine, ChiSquare, Custom, Gaussian, Laplacian, Precomputed
from gramless.learning import SemiSupervised
from gramless.pictures.annotation import Album, Annotator
from gramless.pictures.features import PictureFeatures

N, N_ASKED = 24, 4
WIDTHS = {"a": 4, "b": 3}
SMALL: dict[str, Any] = {"hidden": (3,), "learning": None, "random_state": 0}


def inner(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    return x @ z.T


def softened(values: torch.Tensor) -> torch.Tensor:
    return torch.log1p(values)


FUNCTIONS: dict[str, Callable] = {"inner": inner, "softened": softened}


def models(seed: int) -> dict[str, Any]:
    """Small models of every kind, fitted on made-up data."""
    rng = np.random.default_rng(seed)
    X = {name: rng.random((N, width)) for name, width in WIDTHS.items()}
    y = np.arange(N) % 3
    Y = np.column_stack([y == 0, y != 1, rng.random(N) < 0.5]).astype(int)
    texts = np.array(["cat", "dog", "émeu"])[y]
    kernel = gl.DeepKernelNetwork(**SMALL)
    all_kernels = {"a": [ChiSquare(), Laplacian(), ArcCosine(2)], "b": [Gaussian(scale=2.0), "poly3", "intersection"]}
    numbered = {"a": X["a"], "number": np.arange(N, dtype=float)[:, None]}
    own = {"a": [Custom(inner), "linear"], "number": [Precomputed(inner(X["a"], X["a"]))]}
    sparse_landmarks = gl.Views({"a": sparse.csr_array(X["a"][:6] * (X["a"][:6] > 0.5)), "b": X["b"][:6]})
    single = {name: block.astype(np.float32) for name, block in X.items()}

    def mapped(**settings: Any) -> Any:
        return gl.DeepMapNetwork(gl.DeepKernelNetwork(**SMALL), 6, random_state=0, **settings).fit(X)

    def classifier(labels: Any, **settings: Any) -> Any:
        return gl.DeepMapClassifier(
            gl.DeepKernelNetwork(**SMALL), **({"n_landmarks": 6, "random_state": 0} | settings)
        ).fit(X, labels)

    online = gl.DeepMapClassifier(gl.DeepKernelNetwork(**SMALL), 6, random_state=0)
    for _ in range(2):
        online.partial_fit(X, y)
    started = OnlineHead.start(2, 3, 1.0, [(1.0, 1.0)] * 2, budget=1 << 20)
    return {
        "unfitted network": gl.DeepKernelNetwork(all_kernels, (2,), random_state=1),
        "kernel network": kernel.fit(X),
        "kernel": gl.DeepKernelNetwork(all_kernels, **SMALL).fit(X).kernel_,
        "functions, known values": gl.DeepKernelNetwork(own, activation=softened, **SMALL).fit(numbered),
        "polynomial activation": gl.DeepKernelNetwork(activation=(0.0, 1.0, 0.5), **SMALL).fit(X),
        "learned network": gl.DeepKernelNetwork(
            hidden=(2,), learning=SemiSupervised(n_steps=2, validation=0.3), random_state=0
        ).fit(X, y),
        "cut into views": gl.DeepKernelNetwork(views={"a": slice(0, 4), "b": [4, 5, 6]}, **SMALL).fit(
            np.hstack([X["a"], X["b"]])
        ),
        "collapsed map": mapped(),
        "collapsed map, float32": gl.DeepMapNetwork(gl.DeepKernelNetwork(**SMALL), 6, random_state=0).fit(single),
        "moved landmarks": mapped(tuning="landmarks"),
        "as it comes": gl.DeepMapClassifier(n_landmarks=6, random_state=0).fit(X, y),
        "as it comes, kernel": gl.DeepKernelClassifier(random_state=0).fit(X, Y),
        "the paper's tuning": mapped(tuning="algorithm1"),
        "sparse landmarks": mapped(landmarks=sparse_landmarks),
        "map of a frozen network": gl.DeepMapNetwork(
            FrozenEstimator(gl.DeepKernelNetwork(**SMALL).fit(X)), 6, random_state=0
        ).fit(X),
        "kernel classifier": gl.DeepKernelClassifier(gl.DeepKernelNetwork(**SMALL), class_weight={0: 2.0}).fit(X, y),
        "two classes": classifier(y > 0),
        "texts": classifier(texts),
        "texts as objects": classifier(texts.astype(object), n_landmarks=5),
        "labels": classifier(Y, threshold="f1"),
        "labels, calibrated": classifier(Y, top_k=2),
        "labels, best scores": classifier(Y, top_k=2, recall_weight=None),
        "online": online,
        "online head": started.update(rng.random((9, 3)), np.where(rng.random((9, 2)) < 0.5, 1.0, -1.0)),
        "regressor on a map": gl.DeepMapRegressor(gl.DeepKernelNetwork(**SMALL), 6).fit(X, X["a"][:, 0]),
        "regressor on a kernel": gl.DeepKernelRegressor(gl.DeepKernelNetwork(**SMALL)).fit(X, X["a"][:, :2]),
        "annotator": _annotator(rng),
    }


def _annotator(rng: np.random.Generator) -> Annotator:
    words = {"DenseSift": rng.random((5, 128)).astype(np.float32)}
    views = {"Rgb": rng.random((N, 8)), "DenseSift": rng.random((N, 5))}
    Y = (rng.random((N, 3)) < 0.5).astype(int)
    clf = gl.DeepMapClassifier(gl.DeepKernelNetwork(**SMALL), 6, top_k=2, random_state=0).fit(views, Y)
    album = Album.of([f"{i}.jpg" for i in range(N)], Y, clf.map_network_.transform(views), [b"JPEG" * 3] * N)
    return Annotator(PictureFeatures(tuple(views), words), clf, ("sea", "sky", "tree"), album)


def answers(model: Any) -> list[np.ndarray] | None:
    """What a model says of a few samples that it has not seen; None where it is not fitted or too wide to be asked."""
    if isinstance(model, OnlineHead):
        return [model.head.margins(np.linspace(0, 1, model.w.shape[1] - 1)[None])] if model.w.size < 1e6 else None
    if isinstance(model, FrozenEstimator):
        return answers(model.estimator)
    if isinstance(model, Annotator):
        X = _samples(model.classifier.layout_, model.classifier.map_network_.kernel_)
        if X is None:
            return None
        margins = model.margins(gl.Views(X))
        p = model.probabilities(margins)
        model.suggestions(p[0], model.choose(p)[0])
        found = model.album.nearest(model.classifier.map_network_.transform(X)[0], 3, model.keywords)
        return [margins, p, model.choose(p), np.array([neighbour.similarity for neighbour in found])]
    if isinstance(model, gl.DeepKernel):
        X = _samples(model.layout, model)
        return None if X is None else [model(X), model.diagonal(X)]
    if not hasattr(model, "layout_"):
        return None
    kernel = model.map_network_.kernel_ if hasattr(model, "map_network_") else model.kernel_
    X = _samples(model.layout_, kernel)
    if X is None:
        return None
    if hasattr(model, "ridge_"):
        return list(model.predict(X, return_std=True))
    if hasattr(model, "predict"):
        model._repr_html_()
        return [model.decision_function(X), model.predict(X), model.predict_proba(X), *_learned_on(model, X)]
    return [model.transform(X)] if hasattr(model, "transform") else [model.kernel_(X)]


def _learned_on(model: Any, X: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What a classifier says after one more block, where it remembers the blocks before."""
    if getattr(model, "online_", None) is None:
        return []
    labels = model.labels_
    more = np.resize([[0, 1], [1, 0]], (N_ASKED, labels.n_columns)) if labels.multilabel else labels.classes[:2]
    return [copy(model).partial_fit(X, np.resize(more, N_ASKED) if more.ndim == 1 else more).decision_function(X)]


def _samples(layout: dict[str, int], kernel: gl.DeepKernel) -> dict[str, np.ndarray] | None:
    """Samples of these views, that the kernels are defined for."""
    if sum(layout.values()) > 10_000:
        return None
    rng = np.random.default_rng(7)
    X = {name: rng.random((N_ASKED, width)) for name, width in layout.items()}
    for entry in kernel.inputs:
        if isinstance(entry.kernel, Precomputed):
            X[entry.view] = (np.arange(N_ASKED, dtype=float) % len(entry.kernel.gram))[:, None]
    return X
