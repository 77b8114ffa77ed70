"""Elementary kernels: one file, one kernel. A new kernel is one file, one line here, one oracle in the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gramless.kernels.arc_cosine import ArcCosine
from gramless.kernels.base import Domain, Kernel
from gramless.kernels.chi_square import ChiSquare
from gramless.kernels.custom import Custom
from gramless.kernels.distance import Distance
from gramless.kernels.gaussian import Gaussian
from gramless.kernels.hellinger import Hellinger
from gramless.kernels.intersection import Intersection
from gramless.kernels.laplacian import Laplacian
from gramless.kernels.linear import Linear
from gramless.kernels.polynomial import Polynomial
from gramless.kernels.precomputed import Precomputed

KernelSpec = str | Kernel | Callable

NAMED: dict[str, Kernel] = {
    "linear": Linear(),
    "poly2": Polynomial(degree=2),
    "poly3": Polynomial(degree=3),
    "gaussian": Gaussian(),
    "laplacian": Laplacian(),
    "intersection": Intersection(),
    "chi2": ChiSquare(),
    "hellinger": Hellinger(),
    "hellinger4": Hellinger(root=4),
    "distance": Distance(),
    "cosine-distance": Distance("rows"),
    "hellinger-distance": Distance("rows", root=2),
    "hellinger4-distance": Distance("rows", root=4),
    "arccos0": ArcCosine(order=0),
    "arccos1": ArcCosine(order=1),
    "arccos2": ArcCosine(order=2),
}
"""Kernels that can be asked for by name."""


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


__all__ = [
    "NAMED",
    "ArcCosine",
    "ChiSquare",
    "Custom",
    "Distance",
    "Domain",
    "Gaussian",
    "Hellinger",
    "Intersection",
    "Kernel",
    "KernelSpec",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "make_kernel",
]
