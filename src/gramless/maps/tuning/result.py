"""What every way of fine-tuning returns."""

from __future__ import annotations

from dataclasses import dataclass

from gramless.maps import DeepMap


@dataclass(frozen=True, eq=False)
class TuningResult:
    """A map that is at least as close to its kernel on held-out samples as the one that was given.

    Errors are relative errors in percent over all pairs of different held-out samples, which nothing was fitted to.
    Where nothing better was found, `map` is the very map that was given and both errors are the same.
    """

    map: DeepMap
    error_before: float
    error_after: float
    curve: list[tuple[int, float]]  # (iteration, held-out error), as the search went
    n_tuning: int  # samples that were used, held-out ones included


class BestSoFar:
    """The lowest held-out error yet, and the way there."""

    def __init__(self, error: float) -> None:
        self.error = error
        self.curve = [(0, error)]

    def offer(self, error: float, n_iterations: int = 1) -> bool:
        """Note the error after so many more iterations; whether it is lower than any before."""
        self.curve.append((self.curve[-1][0] + n_iterations, error))
        if not error < self.error:
            return False
        self.error = error
        return True
