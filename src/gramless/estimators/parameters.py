"""What the parameters may be that several estimators take: of the network, of the map, of the classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from gramless.estimators.landmark_number import wished_error
from gramless.kernels import NAMED, Domain, Kernel
from gramless.learning import LeaveOneOut, Supervised
from gramless.maps.landmarks import SELECTORS
from gramless.maps.tuning import TUNERS
from gramless.support.checks import (
    ASCENDING,
    POSITIVE,
    WHOLE_NUMBERS,
    Constraints,
    Interval,
    StrOptions,
    Such,
    is_sequence,
    whole,
)
from gramless.views import is_multiview


def kernel_list(chosen: Any) -> list[Any]:
    """The kernels of a view: one alone, or a sequence of them."""
    return list(chosen) if is_sequence(chosen) else [chosen]


def _of_all_views(kernels: Any) -> list[Any]:
    groups = kernels.values() if isinstance(kernels, Mapping) else [kernels]
    return [spec for group in groups for spec in kernel_list(group)]


def _kernels(chosen: Any) -> bool:
    return all(isinstance(spec, (str, Kernel)) or callable(spec) for spec in _of_all_views(chosen))


def needs_nonnegative(kernels: Any) -> bool:
    """Whether any of the kernels asked for is defined on non-negative data only; what is no kernel, fit refuses."""
    named = [NAMED.get(spec) if isinstance(spec, str) else spec for spec in _of_all_views(kernels)]
    return any(isinstance(kernel, Kernel) and kernel.domain is Domain.NONNEGATIVE for kernel in named)


PENALTY = Interval(Real, 1e-50, 1e50, closed="both")
"""Times a weight, its square is a number, neither 0 nor infinite."""


def _weights(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        PENALTY.is_satisfied_by(weight) or (isinstance(weight, Real) and weight == 0) for weight in value.values()
    )


NETWORK_CONSTRAINTS: Constraints = {
    "kernels": [
        Such(_kernels, "a kernel (its name, a Kernel or a function), a sequence of them, or a mapping of views to such")
    ],
    "hidden": [WHOLE_NUMBERS, StrOptions({"auto"})],
    "activation": [str, tuple, list, callable],
    "output_activation": [str, tuple, list, callable],
    "weights": [StrOptions({"random", "uniform"}), tuple, list],
    "learning": [str, Supervised, LeaveOneOut, None],
    "hidden_gain": [POSITIVE, ASCENDING],
    "output_gain": [POSITIVE, StrOptions({"auto"})],
    "normalize": ["boolean"],
}
"""Of a kernel network."""

MAP_CONSTRAINTS: Constraints = {
    "n_landmarks": [
        whole(1),
        StrOptions({"auto"}),
        Such(lambda value: wished_error(value) is not None, "a relative error above 0% and below 100% such as '1%'"),
    ],
    "landmarks": [
        StrOptions(set(SELECTORS)),
        Such(
            lambda value: is_multiview(value) or is_sequence(value), "row numbers, Views, a mapping or a list of views"
        ),
    ],
    "n_components": [whole(1), None],
    "tuning": [StrOptions(set(TUNERS)), None],
}
"""Of every estimator with a map of its own."""

HEAD_CONSTRAINTS: Constraints = {
    "C": [PENALTY, StrOptions({"auto"})],
    "threshold": [StrOptions({"sign", "f1"})],
    "class_weight": [
        Such(_weights, "a dict of classes to weights, each 0 or between 1e-50 and 1e50"),
        StrOptions({"balanced"}),
        None,
    ],
}
"""Of every estimator with a classifier of its own."""
