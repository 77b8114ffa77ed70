"""The classes that a file may name. Loading makes these and nothing else."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from gramless.annotation import Album, Annotator
from gramless.dkn import DeepKernel
from gramless.dmn import CollapsedMap, LayeredMap, sublayers
from gramless.estimators import DeepKernelClassifier, DeepKernelNetwork, DeepMapClassifier, DeepMapNetwork
from gramless.estimators.operating_points import OperatingPoint
from gramless.features import PictureFeatures
from gramless.heads import Calibration, FitSummary, Head, Labels, OnlineHead, Threshold, TopGains, TopK
from gramless.kernels import (
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
from gramless.learning import CurvePoint, SemiSupervised, Supervised
from gramless.maps import eigen, exact, fourier, spectrum, unary
from gramless.network import Layer, ViewKernel, activations
from gramless.tuning import LandmarkExactMap, RepresenterMap

ESTIMATORS: dict[str, type] = {
    cls.__name__: cls
    for cls in (DeepKernelClassifier, DeepKernelNetwork, DeepMapClassifier, DeepMapNetwork, FrozenEstimator)
}

VALUES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *(ArcCosine, ChiSquare, Custom, Gaussian, Intersection, Laplacian, Linear, Polynomial, Precomputed),
        *(activations.Tanh, activations.Sinh, activations.Exp, activations.Identity),
        *(activations.Power, activations.CustomActivation),
        *(DeepKernel, ViewKernel, Layer),
        *(exact.Exact, exact.LinearMap, exact.PolynomialMap, fourier.Fourier, fourier.FourierMap),
        *(eigen.Eigen, eigen.EigenMap, spectrum.Projection),
        *(unary.Unary, unary.UnaryMap, unary.UnaryCodes),
        *(CollapsedMap, LayeredMap, LandmarkExactMap, RepresenterMap),
        *(sublayers.Concatenate, sublayers.Respond, sublayers.Project, sublayers.MapLayer),
        *(Head, Labels, FitSummary, OnlineHead, Calibration, TopGains, TopK, Threshold),
        *(Supervised, SemiSupervised, CurvePoint),
        *(OperatingPoint, PictureFeatures, Album, Annotator),
    )
}
"""Classes whose constructor arguments are attributes of the same names."""


def arguments(value: Any) -> dict[str, Any]:
    """What the constructor of a value's class needs to make it again."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    else:
        names = list(inspect.signature(type(value)).parameters)
    return {name: getattr(value, name) for name in names}


def parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """What an estimator was constructed with."""
    return estimator.get_params(deep=False)


def fitted(estimator: BaseEstimator) -> dict[str, Any]:
    """What fit has set on an estimator."""
    given = parameters(estimator)
    return {name: value for name, value in vars(estimator).items() if name not in given}
