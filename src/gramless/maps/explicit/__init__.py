"""Explicit maps of one elementary kernel: exact, unary, eigendecomposition (Nystrom), random Fourier."""

from gramless.maps.explicit.base import ExplicitMap, MapRecipe, inner, refuse_conditional
from gramless.maps.explicit.eigen import Eigen
from gramless.maps.explicit.exact import Exact
from gramless.maps.explicit.fourier import Fourier
from gramless.maps.explicit.spectrum import Projection, project, warn_if_clipped
from gramless.maps.explicit.unary import Unary

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
