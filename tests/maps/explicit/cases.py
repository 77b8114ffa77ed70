"""Every recipe with every kernel that it supports."""

from dataclasses import replace

from gramless.kernels import ArcCosine, ChiSquare, Gaussian, Hellinger, Intersection, Laplacian, Linear, Polynomial
from gramless.maps.explicit import Eigen, Exact, Fourier, Unary
from tests.contracts.maps import MapCase
from tests.oracles import kernels as oracle

SCALE = 1.7


def _with_normalised(cases):
    return cases + [replace(case, kernel=replace(case.kernel, normalize=True)) for case in cases]


EXACT = _with_normalised(
    [
        MapCase("exact-linear", Exact(), Linear(), oracle.linear),
        MapCase("exact-hellinger", Exact(), Hellinger(), oracle.hellinger),
        MapCase("exact-hellinger4", Exact(), Hellinger(root=4), oracle.hellinger4),
    ]
    + [
        MapCase(f"exact-poly{p}-{c:g}", Exact(), Polynomial(degree=p, offset=c), oracle.polynomial(p, c))
        for p in (1, 2, 3, 4)
        for c in (0.0, 0.75)
    ]
)
UNARY = _with_normalised(  # rounding can move a code by one level
    [
        MapCase(f"unary-{rounding}-{levels}", Unary(levels, rounding), Intersection(), oracle.intersection, 4 / levels)
        for rounding in ("floor", "nearest")
        for levels in (8, 255)
    ]
)
EIGEN = _with_normalised(
    [
        MapCase("eigen-linear", Eigen(), Linear(), oracle.linear),
        MapCase("eigen-poly2", Eigen(), Polynomial(degree=2), oracle.polynomial(2)),
        MapCase("eigen-gaussian", Eigen(), Gaussian(scale=SCALE), oracle.gaussian(SCALE)),
        MapCase("eigen-laplacian", Eigen(), Laplacian(scale=SCALE), oracle.laplacian(SCALE)),
        MapCase("eigen-chi2", Eigen(), ChiSquare(scale=SCALE), oracle.chi_square(SCALE)),
        MapCase("eigen-intersection", Eigen(), Intersection(), oracle.intersection),
        MapCase("eigen-arccos1", Eigen(), ArcCosine(order=1), oracle.arc_cosine(1)),
    ]
)
FOURIER = _with_normalised(
    [
        MapCase("fourier-gaussian", Fourier(50), Gaussian(scale=SCALE), oracle.gaussian(SCALE)),
        MapCase("fourier-laplacian", Fourier(50), Laplacian(scale=SCALE), oracle.laplacian(SCALE)),
    ]
)
