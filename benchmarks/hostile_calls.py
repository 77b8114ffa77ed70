"""Calls of everything public with one hostile argument each; what comes back is returned to be looked at."""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
import torch
from hostile_values import LABELS, VALUES, Rng, array, ordinary
from sklearn.utils import estimator_html_repr

import gramless as gl
from gramless import metrics
from gramless.kernels import (
    NAMED,
    ArcCosine,
    ChiSquare,
    Custom,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
)
from gramless.maps import layered_map
from gramless.maps.explicit import Fourier, Unary

KERNELS = (Linear, Polynomial, Gaussian, Laplacian, Intersection, ChiSquare, ArcCosine, Custom, Precomputed)
SETTINGS = (gl.Supervised, gl.SemiSupervised, Fourier, Unary)
ESTIMATORS = {
    gl.DeepKernelNetwork: {"hidden": (3,), "learning": None},
    gl.DeepMapNetwork: {"kernel": gl.DeepKernelNetwork(("linear", "gaussian"), (2,), learning=None), "n_landmarks": 5},
    gl.DeepKernelClassifier: {"kernel": gl.DeepKernelNetwork(hidden=(3,), learning=None)},
    gl.DeepMapClassifier: {"kernel": gl.DeepKernelNetwork(hidden=(3,), learning=None), "n_landmarks": 5},
}
LEARNING = gl.Supervised(n_steps=2, evaluate_every=1)


@dataclass
class Try:
    """One call: what it is, what was handed over (which must not change), and the call, which gives its answers."""

    what: str
    name: str
    given: list[Any]
    call: Callable[[], Iterator[Any]]
    must_answer: bool = False


def n_rows(X: Any) -> int:
    """As many labels as go with samples, if that can be told."""
    try:
        return int(X.shape[0])
    except (AttributeError, IndexError, RuntimeError):  # a nested tensor has no shape to tell
        return 8


def answers(estimator: Any, X: Any) -> Iterator[Any]:
    """Everything that a fitted estimator says of samples."""
    for method in ("transform", "predict", "decision_function"):
        if hasattr(estimator, method):
            yield np.asarray(getattr(estimator, method)(X))
    if isinstance(estimator, gl.DeepKernelNetwork):
        yield from (estimator.kernel_(X), estimator.kernel_.diagonal(X))


@cache
def fitted() -> list[Any]:
    """One of each estimator, and both kinds of numbers, on ordinary views a and b."""
    X, y = ordinary(np.random.default_rng(0), 20)
    found = []
    for kind, settings in ESTIMATORS.items():
        for dtype in (np.float64, np.float32):
            views = {"a": X[:, :3].astype(dtype), "b": X[:, 3:].astype(dtype)}
            found.append(kind(**settings, random_state=0).fit(views, y))
    several = gl.DeepMapClassifier(**ESTIMATORS[gl.DeepMapClassifier], top_k=1, random_state=0)
    return [*found, several.fit(views, np.column_stack([y, 1 - y, y]))]


def hidden_over(kernels: Iterable[Any]) -> tuple[int, ...]:
    """Hidden units, where these kernels may stand under another activation than exp."""
    return () if any(kernel.conditional for kernel in kernels) else (2,)


def with_network(kind: type, network: dict[str, Any]) -> dict[str, Any]:
    """Settings of an estimator that is a network of these parameters, or has one."""
    if kind is gl.DeepKernelNetwork:
        return network
    return ESTIMATORS[kind] | {"kernel": gl.DeepKernelNetwork(**network)}


def fit_on_array(rng: Rng, i: int) -> Try:
    """As it comes by default, or with kernels of every kind."""
    name, X = array(rng, i)
    kind = list(ESTIMATORS)[i % len(ESTIMATORS)]
    settings = ESTIMATORS[kind]
    if kind is not gl.DeepMapNetwork:
        chosen = tuple(rng.choice(list(NAMED), 2))
        normalize, luck = bool(rng.random() < 0.6), rng.random()
        network = {
            "kernels": chosen,
            "normalize": normalize,
            "hidden": hidden_over(NAMED[kernel] for kernel in chosen),
            "learning": LEARNING if luck < 0.1 else None,
        }
        settings = with_network(kind, network if luck < 0.1 or luck >= 0.3 else {})

    def call() -> Iterator[Any]:
        y = np.arange(n_rows(X)) % 2
        yield from answers(kind(**settings, random_state=0).fit(X, y), X)

    return Try(f"{kind.__name__}.fit, arrays", f"{name}, {settings}", [X], call)


def use_on_array(rng: Rng, i: int) -> Try:
    name, X = array(rng, i)
    estimator = fitted()[i % len(fitted())]
    return Try(f"fitted {type(estimator).__name__}, arrays", name, [X], lambda: answers(estimator, X))


def views_of_array(rng: Rng, i: int) -> Try:
    name, X = array(rng, i)
    columns = VALUES[rng.integers(len(VALUES))] if rng.random() < 0.3 else None

    def call() -> Iterator[Any]:
        views = gl.Views(X, columns)
        yield from (np.asarray(views), np.asarray(views[:1]), repr(views))
        yield from (views.tensor(name, views.dtype) for name in views.names)

    return Try("Views", f"{name}, columns={columns!r}", [X, columns], call)


def blocks_of_array(rng: Rng, i: int) -> Try:
    name, X = array(rng, i)
    rows = VALUES[rng.integers(len(VALUES))] if rng.random() < 0.3 else 3
    labels = LABELS[rng.integers(len(LABELS))](rng, 8) if rng.random() < 0.3 else None
    estimator = fitted()[2]

    def call() -> Iterator[Any]:
        views = None if isinstance(X, (dict, list, tuple)) else {"a": slice(0, 3), "b": slice(3, 5)}
        blocks = gl.in_blocks(X, labels, views=views, rows=rows)
        yield from (np.asarray(block) for block in estimator.transform(blocks))

    return Try("in_blocks", f"{name}, rows={rows!r}", [X, rows, labels], call)


def fit_on_labels(rng: Rng, i: int) -> Try:
    make, kind = LABELS[i % len(LABELS)], list(ESTIMATORS)[i // len(LABELS) % len(ESTIMATORS)]
    X, _ = ordinary(rng, int(rng.choice([2, 3, 8, 12])))
    y = make(rng, len(X))
    learning = LEARNING if rng.random() < 0.5 and kind is not gl.DeepMapNetwork else None
    settings = with_network(kind, {"hidden": (3,), "learning": learning})
    partial = kind is gl.DeepMapClassifier and rng.random() < 0.4

    def call() -> Iterator[Any]:
        estimator = kind(**settings, random_state=0)
        yield from answers(estimator.partial_fit(X, y) if partial else estimator.fit(X, y), X)

    return Try(f"{kind.__name__}.fit, labels", f"{y!r} {learning} partial={partial}", [X, y], call)


def estimator_parameter(rng: Rng, i: int) -> Try:
    kind = list(ESTIMATORS)[i % len(ESTIMATORS)]
    names = kind._get_param_names()
    name = names[i // len(ESTIMATORS) % len(names)]
    value = VALUES[rng.integers(len(VALUES))]
    X, y = ordinary(rng, 10)

    def call() -> Iterator[Any]:
        estimator = kind(**(ESTIMATORS[kind] | {"random_state": 0, name: value}))
        yield from (repr(estimator), estimator_html_repr(estimator))
        yield from answers(estimator.fit(X, y), X)

    return Try(f"{kind.__name__}, parameters", f"{name}={value!r}", [X, y, value], call)


def value_parameter(rng: Rng, i: int) -> Try:
    """Kernels, settings of learning and recipes of maps."""
    kinds = KERNELS + SETTINGS
    kind = kinds[i % len(kinds)]
    names = [field.name for field in fields(kind)] if hasattr(kind, "__dataclass_fields__") else []
    name = names[i // len(kinds) % len(names)] if names else "normalize"
    value = VALUES[rng.integers(len(VALUES))]
    X, y = ordinary(rng, 10)
    if kind is Precomputed:
        X = np.arange(10.0)[:, None]

    def call() -> Iterator[Any]:
        needed = (
            {"function": lambda x, z: x @ z.T}
            if kind is Custom
            else {"gram": np.eye(10)}
            if kind is Precomputed
            else {}
        )
        made = kind(**(needed | {name: value}))
        if kind in KERNELS:
            network = gl.DeepKernelNetwork(made, (2,), learning=None, random_state=0).fit(X)
            yield from answers(network, X)
            x = torch.from_numpy(X)
            settled = network.kernel_.inputs[0].kernel
            yield from (settled.pairwise(x, x), settled.diagonal(x))
        elif isinstance(made, gl.Supervised):
            small = kind(
                **(
                    {"n_steps": 2, "max_samples": 10}
                    | ({} if name in ("n_steps", "max_samples", "checkpoint") else {name: value})
                )
            )
            yield from answers(gl.DeepKernelNetwork("linear", (), learning=small, random_state=0).fit(X, y), X)
        else:
            maps = {"linear": made} if kind is not Unary else {"intersection": made}
            kernel = gl.DeepKernelNetwork(tuple(maps), (), learning=None, random_state=0).fit(X).kernel_
            views, generator = kernel.views(X), torch.Generator().manual_seed(0)
            yield layered_map(kernel, views[:4], views, input_maps=maps, generator=generator).transform(views)

    return Try(f"{kind.__name__}, parameters", f"{name}={value!r}", [X, value], call)


def kernel_on_array(rng: Rng, i: int) -> Try:
    """One elementary kernel of any scale on samples of any size, and the fused evaluators beside it."""
    name, X = array(rng, i)
    kernel = NAMED[str(rng.choice(list(NAMED)))]
    if "scale" in {field.name for field in fields(kernel)}:
        kernel = type(kernel)(scale=10.0 ** rng.integers(-150, 150) if rng.random() < 0.5 else "neighbours")
    settings = {
        "activation": str(rng.choice(["tanh", "sinh", "exp", "identity"])),
        "output_activation": str(rng.choice(["exp", "identity", "sinh"])),
    }

    def call() -> Iterator[Any]:
        network = gl.DeepKernelNetwork(kernel, (2,), learning=None, random_state=0, **settings).fit(X)
        yield from answers(network, X)

    return Try("kernels, arrays", f"{name}, {kernel}, {settings}", [X], call)


METRICS = [
    metrics.top_k,
    metrics.annotation_scores,
    metrics.mf_samples,
    metrics.mf_concepts,
    metrics.mean_average_precision,
]


def metric(rng: Rng, i: int) -> Try:
    function = METRICS[i % len(METRICS)]
    name, first = array(rng, i // len(METRICS))
    n = n_rows(first)
    second = np.ones((n, 5), int) if rng.random() < 0.6 else LABELS[rng.integers(len(LABELS))](rng, n)
    second = VALUES[rng.integers(len(VALUES))] if function is metrics.top_k else second
    pair = (second, first) if rng.random() < 0.3 else (first, second)

    def call() -> Iterator[Any]:
        yield function(*pair)

    return Try(f"metrics.{function.__name__}", f"{name} and {second!r}", list(pair), call)


def error_measure(rng: Rng, i: int) -> Try:
    function = (gl.relative_error, gl.sampled_relative_error)[i % 2]
    network = fitted()[2]
    X, _ = ordinary(rng, 12)
    name, hostile = array(rng, i)
    arguments: dict[str, Any] = {"transformer": network, "kernel": network.kernel_, "X": X}
    chosen = list(inspect.signature(function).parameters)[i // 2 % len(inspect.signature(function).parameters)]
    arguments[chosen] = hostile if chosen == "X" else VALUES[rng.integers(len(VALUES))]
    return Try(
        function.__name__,
        f"{chosen}={name if chosen == 'X' else repr(arguments[chosen])}",
        [arguments[chosen]],
        lambda: iter([function(**arguments)]),
    )


def files(rng: Rng, i: int) -> Try:
    model, path = VALUES[rng.integers(len(VALUES))], VALUES[rng.integers(len(VALUES))]
    which = ("save what", "save where", "load what", "load garbage", "onnx what", "onnx where", "partitions")[i % 7]
    good = fitted()[3]

    def call() -> Iterator[Any]:
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                if which == "save what":
                    gl.save(model, "model")
                elif which == "save where":
                    gl.save(good, path)
                elif which == "load what":
                    gl.load(path)
                elif which == "load garbage":
                    with open("model", "wb") as file:
                        file.write(rng.bytes(int(rng.integers(0, 200))))
                    gl.load("model")
                elif which == "onnx what":
                    gl.export_onnx(model, "model.onnx")
                elif which == "onnx where":
                    gl.export_onnx(good, path)
                else:
                    gl.write_partitions(model, "parts")
            finally:
                os.chdir(before)
        yield which

    return Try("files", f"{which}: {model!r}, {path!r}", [model, path], call)


def nothing_wrong(rng: Rng, i: int) -> Try:
    """Ordinary samples, which must be answered: whoever refuses everything refuses the hostile too."""
    X, y = ordinary(rng, int(rng.integers(6, 14)))
    kinds = list(ESTIMATORS)
    kind, own = kinds[i % len(kinds)], Custom(lambda x, z: x @ z.T)
    kernel = [*NAMED.values(), own][i // len(kinds) % (len(NAMED) + 1)]

    def call() -> Iterator[Any]:
        network = gl.DeepKernelNetwork(kernel, hidden_over([kernel]), learning=LEARNING, random_state=0)
        settings = ESTIMATORS[kind] | {"kernel": network, "random_state": 0}
        estimator = network if kind is gl.DeepKernelNetwork else kind(**settings)
        yield from answers(estimator.fit(X, y), X)

    return Try("nothing wrong", f"{kind.__name__}, {kernel}", [X, y], call, must_answer=True)


KINDS = [
    fit_on_array, use_on_array, fit_on_labels, estimator_parameter, value_parameter, kernel_on_array,
    fit_on_array, use_on_array, estimator_parameter,
        views_of_array, blocks_of_array, metric, error_measure, files, nothing_wrong,
]  # fmt: skip


def hostile_try(i: int, seed: int) -> Try:
    """The i-th try."""
    return KINDS[i % len(KINDS)](np.random.default_rng([seed, i]), i // len(KINDS))
