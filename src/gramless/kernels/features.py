"""What samples are turned into before they are compared: roots, unit rows, scaled columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from torch import Tensor, where

from gramless.errors import DataError
from gramless.kernels.operations import inverse_root

FARTHEST = 1e150  # from the centre, in units of the factors: its square is still a number


@dataclass(frozen=True, eq=False)
class Features:
    """a = factors (t(x) - centre), t the roots of x, with unit length where asked."""

    root: int = 1
    unit_rows: bool = False
    centre: Tensor | None = None  # (d,) float64, as are the factors
    factors: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """(n, d) of samples (n, d)."""
        return self.of_roots(take_root(x, self.root))

    def of_roots(self, roots: Tensor) -> Tensor:
        """The same from x^(1 / root)."""
        compared = unit_rows(roots) if self.unit_rows else roots
        if self.centre is None or self.factors is None:
            return compared
        if roots.shape[1] != len(self.centre):
            raise DataError(f"the distance kernel was fitted on {len(self.centre)} features, got {roots.shape[1]}.")
        return (compared - self.centre.to(roots)).mul_(self.factors.to(roots))

    def checked(self, x: Tensor) -> Tensor:
        """The features, refused where their squares are no numbers."""
        found = self(x)
        if self.factors is not None and not found.abs().max() <= FARTHEST:
            raise DataError(
                f"samples lie {found.abs().max().item():.3g} times the mean distance from the fitted ones, whose "
                "squares are no numbers any more: look for a column with wrong units, or fit on such samples too."
            )
        return found


@cache
def roots(root: int) -> Features:
    """x^(1 / root), the same value for all kernels that compare by it."""
    return Features(root)


def unit_rows(x: Tensor) -> Tensor:
    """Rows of length 1; a row of zeros stays one."""
    largest = x.detach().abs().amax(1, keepdim=True)
    x = x / where(largest > 0, largest, 1.0)  # so that no square overflows
    return x * inverse_root(x.square().sum(1))[:, None]


def take_root(x: Tensor, root: int) -> Tensor:
    """x^(1 / root) by square roots of square roots."""
    for _ in range(root.bit_length() - 1):
        x = x.sqrt()
    return x


def check_root(root: int, smallest: int) -> None:
    if root not in (1, 2, 4) or root < smallest:
        raise ValueError(
            f"root={root!r}: give {'1, 2 or 4' if smallest == 1 else '2 or 4'}, for which roots are exact."
        )
