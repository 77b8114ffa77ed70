"""Explicit maps of one elementary kernel: eigendecomposition (Nystrom), random Fourier, exact, unary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations_with_replacement, pairwise
from math import comb, sqrt
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Generator, Tensor

from gramless.kernels import Gaussian, Hellinger, Intersection, Kernel, Laplacian, Linear, Polynomial
from gramless.kernels.operations import inverse_root
from gramless.kernels.statistics import Statistic, pair_statistic
from gramless.maps.spectrum import Projection, project, warn_if_clipped
from gramless.support.budget import require
from gramless.support.checks import Constraints, StrOptions, check_parameters, whole
from gramless.support.config import current_budget

Bounds = Callable[[], tuple[Tensor, Tensor]]
"""Finds the smallest and the largest value of every feature, over all training samples."""


class ExplicitMap(ABC):
    """phi with <phi(x), phi(z)> equal or close to kernel(x, z): an immutable value, made by a `MapRecipe`."""

    kernel: Kernel

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """How many columns `transform` returns."""

    @abstractmethod
    def transform(self, x: Tensor) -> Tensor:
        """phi(x): (n, n_columns)."""

    def compress(self, x: Tensor) -> Any:
        """Something smaller than phi(x) that `inner` takes as well; phi(x) itself where nothing smaller exists."""
        return self.transform(x)

    def _normalize(self, phi: Tensor, x: Tensor) -> Tensor:
        """From the map of the plain kernel to that of the kernel normalised to a unit diagonal."""
        return phi * inverse_root(self.kernel.plain_diagonal(x))[:, None] if self.kernel.normalize else phi


class MapRecipe(ABC):
    """How to make the explicit map of a kernel; holds the choices, such as a number of levels or of frequencies."""

    _parameter_constraints: ClassVar[Constraints] = {}

    def __post_init__(self) -> None:
        check_parameters(self)

    @abstractmethod
    def fit(self, kernel: Kernel, landmarks: Tensor, generator: Generator, bounds: Bounds | None = None) -> ExplicitMap:
        """Make the map.

        `landmarks` (N, d) are the samples on which eigendecomposition maps are exact; `bounds` finds the
        smallest and largest value of each feature over all training samples (over the landmarks, if not given); a map
        that does not fit into the memory budget is refused.
        """


def refuse_conditional(kernels: Iterable[Kernel], what: str) -> None:
    """Maps are of p.s.d. kernels."""
    names = [kernel.name for kernel in kernels if kernel.conditional]
    if names:
        raise ValueError(
            f"{what} needs an explicit map of every elementary kernel, and the {names[0]} kernel, which is only "
            "conditionally p.s.d., has none: no vectors have such inner products. Map the whole network at once, "
            "as DeepMapNetwork does with another way of tuning than 'algorithm1', or leave that kernel out."
        )


def inner(a: Any, b: Any) -> Tensor:
    """<phi(x_i), phi(z_j)> from transformed or compressed samples: (n, m)."""
    return a @ b.T if isinstance(a, Tensor) else a.inner(b)


@dataclass(frozen=True)
class Eigen(MapRecipe):
    """phi(x) = k(x, S) U of any kernel (Eqs. 6 and 7 with l = 1): exact on the landmarks."""

    def fit(self, kernel: Kernel, landmarks: Tensor, generator: Generator, bounds: Bounds | None = None) -> EigenMap:
        refuse_conditional([kernel], "an eigendecomposition of one kernel")
        require(
            3 * len(landmarks) ** 2 * 8,
            current_budget(),
            what=f"the eigendecomposition of {len(landmarks)} landmarks",
            remedy="Use fewer landmarks, or raise memory_budget.",
        )
        exact = landmarks.double()
        projection = project(kernel.pairwise(exact, exact), None, landmarks.dtype)
        warn_if_clipped(projection, f"the {kernel.name} kernel on the landmarks")
        return EigenMap(kernel, landmarks, projection)


@dataclass(frozen=True, eq=False)
class EigenMap(ExplicitMap):
    kernel: Kernel
    landmarks: Tensor  # (N, d)
    projection: Projection

    @property
    def n_columns(self) -> int:
        return self.projection.matrix.shape[1]

    def transform(self, x: Tensor) -> Tensor:
        return self.kernel.pairwise(x, self.landmarks.to(x)) @ self.projection.matrix.to(x)


@dataclass(frozen=True)
class Fourier(MapRecipe):
    """Frequencies drawn from the spectrum of a Gaussian or Laplacian kernel (Rahimi and Recht, 2007).

    The error falls as 1 / sqrt(n_frequencies).
    """

    n_frequencies: int = 500

    _parameter_constraints: ClassVar[Constraints] = {"n_frequencies": [whole(1)]}

    def fit(self, kernel: Kernel, landmarks: Tensor, generator: Generator, bounds: Bounds | None = None) -> FourierMap:
        require(
            2 * 8.0 * landmarks.shape[1] * self.n_frequencies,
            current_budget(),
            what=f"{self.n_frequencies:,} random frequencies of {landmarks.shape[1]:,} features",
            remedy="Use fewer frequencies, or raise memory_budget.",
        )
        shape = (landmarks.shape[1], self.n_frequencies)
        frequencies = torch.empty(shape, dtype=torch.float64)
        if isinstance(kernel, Gaussian):
            frequencies.normal_(generator=generator)
        elif isinstance(kernel, Laplacian):
            frequencies.cauchy_(generator=generator)
        else:
            raise TypeError(f"random Fourier features exist for gaussian and laplacian, not for {kernel.name}.")
        return FourierMap(kernel, (frequencies / kernel.width).to(landmarks))


@dataclass(frozen=True, eq=False)
class FourierMap(ExplicitMap):
    """(cos <w, x>, sin <w, x>) / sqrt(D) over D frequencies w: the diagonal is exactly 1."""

    kernel: Gaussian | Laplacian
    frequencies: Tensor  # (d, n_frequencies)

    @property
    def n_columns(self) -> int:
        return 2 * self.frequencies.shape[1]

    def transform(self, x: Tensor) -> Tensor:
        phases = x @ self.frequencies.to(x)
        return torch.cat([phases.cos(), phases.sin()], dim=1).mul_(1 / sqrt(self.frequencies.shape[1]))


@dataclass(frozen=True)
class Exact(MapRecipe):
    """The exact map, for linear, polynomial (section 3.1 of the paper) and Hellinger kernels."""

    def fit(self, kernel: Kernel, landmarks: Tensor, generator: Generator, bounds: Bounds | None = None) -> ExplicitMap:
        n_features = landmarks.shape[1]
        if isinstance(kernel, (Linear, Hellinger)):
            return ProductMap(kernel, n_features)
        if isinstance(kernel, Polynomial):
            n_columns = count_monomials(n_features, kernel.degree, kernel.offset)
            require(
                len(landmarks) * n_columns * landmarks.element_size(),
                current_budget(),
                what=f"the exact map of a degree-{kernel.degree} polynomial kernel on {n_features} features has "
                f"{n_columns:,} columns; mapping {len(landmarks)} landmarks",
                remedy="Use the eigendecomposition map (input_maps='eigen'), which has one column per landmark.",
            )
            return PolynomialMap(kernel, n_features)
        raise TypeError(
            f"the {kernel.name} kernel has no finite exact map; linear, polynomial and hellinger kernels have one."
        )


@dataclass(frozen=True)
class ProductMap(ExplicitMap):
    """What the kernel multiplies: the features themselves (linear), or their roots (Hellinger)."""

    kernel: Linear | Hellinger
    n_features: int

    @property
    def n_columns(self) -> int:
        return self.n_features

    def transform(self, x: Tensor) -> Tensor:
        self.kernel.check(x)
        features = self.kernel.formula.features
        return self._normalize(x if features is None else features(x), x)


@dataclass(frozen=True, eq=False)
class PolynomialMap(ExplicitMap):
    """x (x) ... (x) x with equal monomials merged: sqrt(multinomial) times each distinct product of features.

    A positive offset c is one more feature with the constant value sqrt(c).
    """

    kernel: Polynomial
    n_features: int

    @cached_property
    def monomials(self) -> tuple[Tensor, Tensor]:
        """The features that each column multiplies, (degree, n_columns), and the factor of each, (n_columns,).

        The factor is the root of how often the product occurs in the Kronecker power.
        """
        return monomials(self.n_features + (self.kernel.offset > 0), self.kernel.degree)

    @property
    def n_columns(self) -> int:
        return count_monomials(self.n_features, self.kernel.degree, self.kernel.offset)

    def transform(self, x: Tensor) -> Tensor:
        extended = x
        if self.kernel.offset > 0:
            extended = torch.cat([x, x.new_full((len(x), 1), sqrt(self.kernel.offset))], dim=1)
        factors, roots = self.monomials
        factors = factors.to(x.device)
        phi = extended[:, factors[0]] * roots.to(x)
        for factor in factors[1:]:
            phi *= extended[:, factor]
        return self._normalize(phi, x)


def count_monomials(n_features: int, degree: int, offset: float) -> int:
    """Distinct products of `degree` features: s(s+1)/2 for degree 2 without offset."""
    return comb(n_features + (offset > 0) + degree - 1, degree)


def monomials(n_features: int, degree: int) -> tuple[Tensor, Tensor]:
    """Non-decreasing index tuples (degree, n_columns), and sqrt of the multinomial coefficient of each.

    An index more multiplies the coefficient by (the new length) / (how often that index now stands in the tuple).
    """
    indices = chain.from_iterable(combinations_with_replacement(range(n_features), degree))
    factors = torch.from_numpy(np.fromiter(indices, np.int64).reshape(-1, degree).T)
    repeats = torch.ones_like(factors[0])
    coefficients = repeats.double()
    for length, (last, new) in enumerate(pairwise(factors), 2):
        repeats = torch.where(new == last, repeats + 1, 1)
        coefficients = coefficients * length / repeats
    return factors, coefficients.sqrt()


@dataclass(frozen=True)
class Unary(MapRecipe):
    """The decimal-to-unary map of histogram intersection (Eqs. 2 and 3, Proposition 1).

    Q levels per feature between its smallest and largest value.

    "floor" is the paper's quantiser; "nearest" removes its bias of half a step per feature and is our default.
    """

    levels: int = 255
    rounding: Literal["nearest", "floor"] = "nearest"

    _parameter_constraints: ClassVar[Constraints] = {
        "levels": [whole(1)],
        "rounding": [StrOptions({"nearest", "floor"})],
    }

    def fit(self, kernel: Kernel, landmarks: Tensor, generator: Generator, bounds: Bounds | None = None) -> UnaryMap:
        if not isinstance(kernel, Intersection):
            raise TypeError(f"the unary map is that of the intersection kernel, not of {kernel.name}.")
        kernel.check(landmarks)
        low, high = bounds() if bounds else (landmarks.amin(0), landmarks.amax(0))
        return UnaryMap(kernel, low, high - low, self.levels, self.rounding)


@dataclass(frozen=True, eq=False)
class UnaryMap(ExplicitMap):
    """Feature d becomes Q zeros and ones, the first k(x_d) of them ones, times sqrt(step_d), and sqrt(low_d).

    Eq. 2 as printed would set k + 1 ones; the text under it and the proof set k, and so does this. Values outside the
    bounds are clipped to them.
    """

    kernel: Intersection
    low: Tensor  # (d,)
    width: Tensor  # (d,): high - low
    levels: int
    rounding: str

    @property
    def n_columns(self) -> int:
        return len(self.low) * (self.levels + 1)

    @property
    def step(self) -> Tensor:
        return self.width / self.levels

    def codes(self, x: Tensor) -> Tensor:
        """k(x_d) in 0 ... Q: (n, d)."""
        self.kernel.check(x)
        step, low = self.step.to(x), self.low.to(x)
        position = torch.where(step > 0, self.levels * ((x - low) / torch.where(step > 0, self.width.to(x), 1.0)), 0.0)
        return (position.round() if self.rounding == "nearest" else position.floor()).clamp_(0, self.levels)

    def transform(self, x: Tensor) -> Tensor:
        thresholds = torch.arange(1, self.levels + 1, dtype=x.dtype, device=x.device)
        ones = self.codes(x)[:, :, None] >= thresholds  # (n, d, Q)
        unary = ones * self.step.to(x).sqrt()[:, None]
        constant = self.low.to(x).sqrt().expand(len(x), -1)[:, :, None]  # (n, d, 1)
        return self._normalize(torch.cat([unary, constant], dim=2).flatten(1), x)

    def compress(self, x: Tensor) -> UnaryCodes:
        gains = inverse_root(self.kernel.plain_diagonal(x)) if self.kernel.normalize else x.new_ones(len(x))
        return UnaryCodes(self.codes(x), gains, self.step.to(x), self.low.to(x).sum())


@dataclass(frozen=True, eq=False)
class UnaryCodes:
    """Codes instead of unary vectors: inner products of the latter are minima of the former.

    sum_d step_d min(k_d, k'_d) + low_d costs d operations where the vectors cost Q d (design rule: never form them).
    """

    codes: Tensor  # (n, d)
    gains: Tensor  # (n,): 1, or the normalisation of each sample
    step: Tensor  # (d,)
    constant: Tensor  # sum of the lower bounds

    def apply(self, function: Callable[[Tensor], Tensor]) -> UnaryCodes:
        """The same codes after a change of type or device."""
        return UnaryCodes(*map(function, (self.codes, self.gains, self.step, self.constant)))

    def inner(self, other: UnaryCodes) -> Tensor:
        a, b = self.codes * self.step, other.codes * self.step
        minima = pair_statistic(Statistic.MINIMUM, a, b)  # (n, m)
        return (minima + self.constant) * self.gains[:, None] * other.gains
