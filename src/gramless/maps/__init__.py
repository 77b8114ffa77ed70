"""Explicit maps of one elementary kernel: exact, unary, eigendecomposition (Nystrom), random Fourier."""

from gramless.maps.base import ExplicitMap, MapRecipe, inner, refuse_conditional
from gramless.maps.eigen import Eigen
from gramless.maps.exact import Exact
from gramless.maps.fourier import Fourier
from gramless.maps.spectrum import Projection, project, warn_if_clipped
from gramless.maps.unary import Unary

__all__ = [
    "Eigen",
    "Exact",
    "ExplicitMap",
    "Fourier",
    "MapRecipe",
    "Projection",
    "Unary",
    "inner",
    "project",
    "refuse_conditional",
    "warn_if_clipped",
]
