"""Elementary kernels, each said once. A new kernel is one class, one name here, and one oracle in the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gramless.kernels.base import KERNELS, NAMED, Domain, Kernel, kernel_name
from gramless.kernels.decays import ChiSquare, Gaussian, Laplacian, RationalQuadratic
from gramless.kernels.distance import Distance, column_distances
from gramless.kernels.formula import Formula
from gramless.kernels.given import Custom, Precomputed
from gramless.kernels.operations import Operation
from gramless.kernels.products import ArcCosine, Hellinger, Intersection, Linear, Polynomial
from gramless.kernels.statistics import Features, Statistic

__all__ = [
    "KERNELS",
    "NAMED",
    "ArcCosine",
    "ChiSquare",
    "Custom",
    "Distance",
    "Domain",
    "Features",
    "Formula",
    "Gaussian",
    "Hellinger",
    "Intersection",
    "Kernel",
    "KernelSpec",
    "Laplacian",
    "Linear",
    "Operation",
    "Polynomial",
    "Precomputed",
    "RationalQuadratic",
    "Statistic",
    "column_distances",
    "kernel_name",
    "make_kernel",
]

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
