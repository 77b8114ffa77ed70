"""An estimator becomes fitted in one step: interrupted, it stays what it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import TypeVar

from sklearn.base import BaseEstimator

Estimator = TypeVar("Estimator", bound=BaseEstimator)


@contextmanager
def fitted_in_one_step(estimator: Estimator) -> Iterator[Estimator]:
    """A twin of the estimator, to be fitted in its place; in the end the estimator gets all of its attributes."""
    twin = copy(estimator)
    yield twin
    estimator.__dict__ = twin.__dict__
