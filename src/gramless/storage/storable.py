"""The classes that a file may name. Loading makes these and nothing else."""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from gramless.deep_kernel import DeepKernel
from gramless.errors import DataError
from gramless.estimators import (
    DeepKernelClassifier,
    DeepKernelNetwork,
    DeepKernelRegressor,
    DeepMapClassifier,
    DeepMapNetwork,
    DeepMapRegressor,
)
from gramless.estimators.fitted import FittedOnViews, fitted_attributes
from gramless.estimators.numbers import TargetScale
from gramless.heads import (
    Calibration,
    FitSummary,
    Head,
    Labels,
    LeastSquares,
    OnlineHead,
    SettingsPoint,
    SquaredHinge,
    Temperature,
    Threshold,
    TopGains,
    TopK,
)
from gramless.heads.discriminant import Discriminant
from gramless.heads.operating_points import OperatingPoint
from gramless.heads.ridge_path import RidgeSolution, Uncertainty
from gramless.kernels import KERNELS
from gramless.learning import CurvePoint, LeaveOneOut, SemiSupervised, Supervised
from gramless.maps import CollapsedMap
from gramless.maps.spectrum import Projection
from gramless.maps.tuning import RepresenterMap
from gramless.network import Layer, ViewKernel, activations

ESTIMATORS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *(DeepKernelClassifier, DeepKernelNetwork, DeepKernelRegressor),
        *(DeepMapClassifier, DeepMapNetwork, DeepMapRegressor),
        FrozenEstimator,
    )
}

VALUES: dict[str, type] = {cls.__name__: cls for cls in KERNELS} | {
    cls.__name__: cls
    for cls in (
        *(activations.Tanh, activations.Sinh, activations.Exp, activations.Identity),
        *(activations.Power, activations.CustomActivation),
        *(DeepKernel, ViewKernel, Layer),
        *(CollapsedMap, RepresenterMap, Projection),
        *(Head, Labels, FitSummary, OnlineHead, Calibration, Temperature, TopGains, TopK, Threshold),
        *(SettingsPoint, SquaredHinge, LeastSquares),
        *(LeaveOneOut, Supervised, SemiSupervised, CurvePoint),
        *(RidgeSolution, TargetScale, Uncertainty),
        *(Discriminant, OperatingPoint),
    )
}
"""Classes whose constructor arguments are attributes of the same names."""


def register(*classes: type) -> None:
    """Let files name more classes than the core has: values of an application that is built on it."""
    VALUES.update({cls.__name__: cls for cls in classes})


def arguments(value: Any) -> dict[str, Any]:
    """What the constructor of a value's class needs to make it again."""
    cls: Any = type(value)
    return {name: getattr(value, name) for name in argument_hints(cls)}


def with_arguments(cls: type, given: Mapping[str, Any]) -> Any:
    """A value of a class, made by its constructor of arguments that are what its hints ask for."""
    _check(cls, given, argument_hints(cls))
    return cls(**given)


@cache
def argument_hints(cls: Any) -> dict[str, Any]:
    """The arguments of a class's constructor, and what they are."""
    if dataclasses.is_dataclass(cls):
        hints = get_type_hints(cls)
        return {field.name: hints[field.name] for field in dataclasses.fields(cls)}
    hints = get_type_hints(cls.__init__)
    return {name: hints.get(name, Any) for name in inspect.signature(cls).parameters}


def parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """What an estimator was constructed with."""
    return estimator.get_params(deep=False)


def fitted(estimator: BaseEstimator) -> dict[str, Any]:
    """What fit has set on an estimator."""
    given = parameters(estimator)
    return {name: value for name, value in vars(estimator).items() if name not in given}


def restored(cls: Any, given: Mapping[str, Any], learned: Mapping[str, Any]) -> BaseEstimator:
    """An estimator from its parameters and from what fit has set on it, which has to fit together."""
    estimator = with_arguments(cls, given)
    if isinstance(estimator, FrozenEstimator) and not isinstance(estimator.estimator, BaseEstimator):
        raise DataError(f"a frozen estimator must hold an estimator, got {type(estimator.estimator).__name__}.")
    if learned:
        known, sometimes = fitted_attributes(cls) if issubclass(cls, FittedOnViews) else ({}, frozenset())
        _check(cls, learned, {name: hint for name, hint in known.items() if name in learned or name not in sometimes})
        vars(estimator).update(learned)
        estimator.check_fitted()
    return estimator


def _check(cls: type, given: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    if given.keys() != hints.keys():
        unlike = sorted(given.keys() ^ hints.keys())
        raise DataError(f"a {cls.__name__} is made of {', '.join(hints)}; {unlike} are too many or missing.")
    for name, value in given.items():
        if not conforms(value, hints[name]):
            raise DataError(f"{name} of a {cls.__name__} must be {hints[name]}, got {type(value).__name__}.")


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, as far as hints in this package go: what is inside is looked at as well."""
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if hint is None or hint is type(None):
        return value is None
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(conforms(value, option) for option in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is tuple:
        return isinstance(value, tuple) and _conform_in_order(value, inner)
    if origin in (list, Sequence):
        kinds = (list,) if origin is list else (list, tuple)
        return isinstance(value, kinds) and all(conforms(item, inner[0]) for item in value)
    if origin in (dict, Mapping):
        return isinstance(value, Mapping) and all(_conform_in_order(pair, inner) for pair in value.items())
    if origin is Callable:
        return callable(value)
    return _is_one(value, origin or hint)


def _conform_in_order(value: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(conforms(item, hints[0]) for item in value)
    return len(value) == len(hints) and all(map(conforms, value, hints))


def _is_one(value: Any, kind: type) -> bool:
    if kind is bool:
        return isinstance(value, (bool, np.bool_))
    if kind in (int, float):  # as Python has it, a whole number is a real one; a truth value is neither
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, (bool, np.bool_))
    return isinstance(value, kind)
