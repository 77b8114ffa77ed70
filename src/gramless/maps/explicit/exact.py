"""Exact maps of the linear kernel, phi(x) = x, of polynomial ones (section 3.1 of the paper), and of Hellinger's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb, sqrt

import torch
from torch import Generator, Tensor

from gramless.kernels import Hellinger, Kernel, Linear, Polynomial
from gramless.kernels.features import take_root
from gramless.maps.explicit.base import Bounds, ExplicitMap, MapRecipe
from gramless.support.budget import require
from gramless.support.config import current_budget


@dataclass(frozen=True)
class Exact(MapRecipe):
    """The exact map, for linear, polynomial and Hellinger kernels."""

    def fit(self, kernel: Kernel, landmarks: Tensor, generator: Generator, bounds: Bounds | None = None) -> ExplicitMap:
        n_features = landmarks.shape[1]
        if isinstance(kernel, Linear):
            return LinearMap(kernel, n_features)
        if isinstance(kernel, Hellinger):
            return HellingerMap(kernel, n_features)
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


@dataclass(frozen=True, eq=False)
class ExactMap(ExplicitMap):
    """A map that depends on nothing but its kernel and the number of features; a column each, if not more."""

    kernel: Kernel
    n_features: int

    @property
    def n_columns(self) -> int:
        return self.n_features


@dataclass(frozen=True)
class LinearMap(ExactMap):
    kernel: Linear

    def transform(self, x: Tensor) -> Tensor:
        return self._normalize(x, x)


@dataclass(frozen=True)
class HellingerMap(ExactMap):
    """The roots of the features."""

    kernel: Hellinger

    def transform(self, x: Tensor) -> Tensor:
        self.kernel.check(x)
        return self._normalize(take_root(x, self.kernel.root), x)


@dataclass(frozen=True, eq=False)
class PolynomialMap(ExactMap):
    """x (x) ... (x) x with equal monomials merged: sqrt(multinomial) times each distinct product of features.

    A positive offset c is one more feature with the constant value sqrt(c).
    """

    kernel: Polynomial

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

    Built one degree at a time: a tuple that ends in j is extended by j, j + 1, ..., and its coefficient multiplied by
    (its new length) / (how often its last index now stands in it).
    """
    factors = torch.arange(n_features)[None, :]
    coefficients = torch.ones(n_features, dtype=torch.float64)
    repeats = torch.ones(n_features, dtype=torch.long)
    for length in range(2, degree + 1):
        last = factors[-1]
        n_children = n_features - last
        parent = torch.repeat_interleave(n_children)
        first_child = torch.repeat_interleave(n_children.cumsum(0) - n_children, n_children)
        new = last[parent] + torch.arange(len(parent)) - first_child
        repeats = torch.where(new == last[parent], repeats[parent] + 1, 1)
        factors = torch.cat([factors[:, parent], new[None, :]])
        coefficients = coefficients[parent] * length / repeats
    return factors, coefficients.sqrt()
