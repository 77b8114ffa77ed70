"""An estimator becomes fitted in one step: interrupted, it stays what it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import TypeVar

from sklearn.base import BaseEstimator

Estimator = TypeVar("Estimator", bound=BaseEstimator)


@contextmanager
def fitted_in_one_step(estimator: Estimator, *, going_on: bool = False) -> Iterator[Estimator]:
    """A twin of the estimator, to be fitted in its place; in the end the estimator gets all of its attributes.

    going_on : the twin knows what the estimator has learned; otherwise nothing of a fit before survives
    """
    twin = copy(estimator)
    if not going_on:
        for name in [name for name in vars(twin) if name.endswith("_") and not name.startswith("__")]:
            delattr(twin, name)  # by scikit-learn's convention, these are what fit has set
    yield twin
    estimator.__dict__ = twin.__dict__
