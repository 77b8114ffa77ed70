"""From a landmark Gram matrix to the projection U = alpha Lambda^(-1/2) (Eq. 6), with an account of what was lost."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch
from torch import Tensor

from gramless.errors import ClippedSpectrumWarning, DataError
from gramless.support.checks import check_array

VISIBLE_MASS = 1e-3  # clipped share of the spectrum from which a warning is due


@dataclass(frozen=True, eq=False)
class Projection:
    """U, and what of the spectrum it keeps.

    `clipped_mass` is the share of the sum of absolute eigenvalues that was negative, beyond rounding: 0 for a
    p.s.d. matrix. Clipped directions are lost; the map cannot show a negative square.
    """

    matrix: Tensor  # (N, n_components), float64
    eigenvalues: Tensor  # (n_components,): kept, in descending order
    clipped_mass: float
    clipped_norm: float  # largest absolute value of a clipped eigenvalue
    n_clipped: int
    n_truncated: int  # positive eigenvalues beyond rounding that n_components cut off

    def __post_init__(self) -> None:
        check_array("a projection", self.matrix, (None, None))
        if not self.matrix.shape[1]:
            raise DataError("a projection has at least one component.")
        check_array("the eigenvalues of a projection", self.eigenvalues, (self.matrix.shape[1],))

    @property
    def landmark_map(self) -> Tensor:
        """phi(x_i) of the landmarks themselves, alpha Lambda^(1/2), without the rounding of K U: (N, n_components)."""
        return self.matrix * self.eigenvalues


def project(gram: Tensor, n_components: int | None, dtype: torch.dtype) -> Projection:
    """Eigendecompose a symmetric Gram matrix in float64 and keep the largest eigenvalues.

    Eigenvalues that rounding alone explains are dropped: those below N eps lambda_max of float64, and below
    eps lambda_max of the type `dtype` in which the map will be evaluated, whose rounding, divided by sqrt(lambda),
    would otherwise drown the column. Where nothing is left, as of a kernel that is zero, the map is a column of zeros.
    """
    gram = gram.double()
    if not gram.isfinite().all():
        raise DataError(
            "a landmark Gram matrix contains infinity or NaN: the kernel overflows. Use smaller weights or gains, "
            "kernels normalised to a unit diagonal, or an activation that grows more slowly."
        )
    eigenvalues, vectors = torch.linalg.eigh((gram + gram.T) / 2)
    eigenvalues, vectors = eigenvalues.flip(0), vectors.flip(1)
    largest = eigenvalues.abs().max().item()
    rounding = largest * max(len(gram) * torch.finfo(torch.float64).eps, torch.finfo(dtype).eps)
    kept = eigenvalues > rounding
    clipped = eigenvalues < -rounding
    n_positive = int(kept.sum())
    n_kept = n_positive if n_components is None else min(n_components, n_positive)
    total = eigenvalues.abs().sum().item()
    nothing = torch.zeros_like(vectors[:, :1])
    return Projection(
        matrix=(vectors[:, :n_kept] / eigenvalues[:n_kept].sqrt()).contiguous() if n_kept else nothing,
        eigenvalues=eigenvalues[:n_kept].clone() if n_kept else nothing[0],
        clipped_mass=eigenvalues[clipped].abs().sum().item() / total if total else 0.0,
        clipped_norm=eigenvalues[clipped].abs().max().item() if clipped.any() else 0.0,
        n_clipped=int(clipped.sum()),
        n_truncated=n_positive - n_kept,
    )


def warn_if_clipped(projection: Projection, what: str) -> None:
    """Say so when enough of the spectrum was negative to show in results."""
    if projection.clipped_mass > VISIBLE_MASS:
        warnings.warn(
            f"{projection.clipped_mass:.1%} of the spectrum of {what} was negative and is clipped "
            f"({projection.n_clipped} eigenvalues): the kernel is not p.s.d. there, and the map cannot follow it. "
            "Activations that keep p.s.d. kernels p.s.d. are sinh, exp, identity and polynomials.",
            ClippedSpectrumWarning,
            stacklevel=3,
        )
