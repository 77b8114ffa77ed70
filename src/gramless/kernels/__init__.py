"""Elementary kernels: one file, one kernel. A new kernel is its file, one line here, and one oracle in the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gramless.kernels.arc_cosine import ArcCosine as ArcCosine
from gramless.kernels.base import KERNELS as KERNELS
from gramless.kernels.base import NAMED as NAMED
from gramless.kernels.base import Domain as Domain
from gramless.kernels.base import Kernel as Kernel
from gramless.kernels.base import kernel_name as kernel_name
from gramless.kernels.chi_square import ChiSquare as ChiSquare
from gramless.kernels.custom import Custom as Custom
from gramless.kernels.distance import Distance as Distance
from gramless.kernels.features import Features as Features
from gramless.kernels.formula import Formula as Formula
from gramless.kernels.gaussian import Gaussian as Gaussian
from gramless.kernels.hellinger import Hellinger as Hellinger
from gramless.kernels.intersection import Intersection as Intersection
from gramless.kernels.laplacian import Laplacian as Laplacian
from gramless.kernels.linear import Linear as Linear
from gramless.kernels.operations import Operation as Operation
from gramless.kernels.polynomial import Polynomial as Polynomial
from gramless.kernels.precomputed import Precomputed as Precomputed
from gramless.kernels.rational_quadratic import RationalQuadratic as RationalQuadratic
from gramless.kernels.statistics import Statistic as Statistic

KernelSpec = str | Kernel | Callable[..., Any]


def make_kernel(spec: KernelSpec, *, normalize: bool) -> Kernel:
    """A kernel from its name or from a function of two arrays, normalised if asked; a Kernel stays as it is.

    Conditional kernels are never normalised.
    """
    if isinstance(spec, Kernel):
        return spec
    if isinstance(spec, str):
        if spec not in NAMED:
            raise ValueError(
                f"there is no kernel named {spec!r}. Named kernels: {', '.join(NAMED)}; "
                "or give a Kernel such as Gaussian(scale=2.0), or a function of two arrays."
            )
        return replace(NAMED[spec], normalize=normalize and not NAMED[spec].conditional)
    if callable(spec):
        return Custom(spec, normalize=normalize)
    raise TypeError(f"a kernel is a name, a Kernel or a function of two arrays, not {type(spec).__name__}.")
