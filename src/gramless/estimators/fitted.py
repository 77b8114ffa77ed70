"""What fit sets on an estimator: all at once, and declared with its type, so that it can be known to be whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cache
from typing import Any, ClassVar, TypeVar, get_origin, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils._set_output import _get_output_config

from gramless.errors import DataError
from gramless.estimators.inputs import positions
from gramless.views import Columns, Layout, column_list

Estimator = TypeVar("Estimator", bound=BaseEstimator)


class FittedOnViews:
    """An estimator that was fitted on Views. Subclasses declare every attribute that fit sets as an annotation."""

    sometimes: ClassVar[frozenset[str]] = frozenset({"feature_names_in_", "_sklearn_output_config"})
    """Attributes that fit does not always set."""

    layout_: Layout
    n_features_in_: int
    feature_names_in_: np.ndarray
    _sklearn_output_config: dict[str, str]

    def check_fitted(self) -> None:
        """Refuse attributes that do not fit together; for estimators that do not come from fit."""
        handed_over = self.get_params(deep=False).values()  # type: ignore[attr-defined]
        for estimator in (self, *(value for value in handed_over if isinstance(value, FittedOnViews))):
            estimator._validate_params()  # type: ignore[attr-defined]  # what fit would refuse; partial_fit would not look
        get_tags(self)  # which scikit-learn asks for: of parameters that cannot be there are none
        columns = self.views  # type: ignore[attr-defined]
        covered = self.n_features_in_ == sum(self.layout_.values()) or columns is not None
        if not self.layout_ or min(self.layout_.values()) < 1 or self.n_features_in_ < 1 or not covered:
            raise DataError(f"{self.n_features_in_} features do not make up the views {self.layout_}.")
        names = getattr(self, "feature_names_in_", None)
        if names is not None and not (
            names.shape == (self.n_features_in_,) and all(isinstance(name, str) for name in names)
        ):
            raise DataError(f"{self.n_features_in_} features must have texts as names, got {names}.")
        _get_output_config("transform", self)  # refuses what scikit-learn's set_output does not know
        _check_columns(columns, names, self.layout_, self.n_features_in_)

    def _check_layout(self, layout: Layout) -> None:
        """Refuse a part of the estimator that knows other views."""
        if layout != self.layout_:
            raise DataError(f"an estimator of the views {self.layout_} holds a part of the views {layout}.")


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


@cache
def fitted_attributes(cls: Any) -> tuple[Mapping[str, Any], frozenset[str]]:
    """All attributes that fit sets, and what they are; and those that it sets sometimes."""
    ours = [base for base in cls.__mro__ if issubclass(base, FittedOnViews)]
    declared = {name for base in ours for name in vars(base).get("__annotations__", {})}
    hints = {name: hint for name, hint in get_type_hints(cls).items() if get_origin(hint) is not ClassVar}
    return {name: hints[name] for name in sorted(declared & hints.keys())}, cls.sometimes


def _check_columns(columns: Columns | None, names: np.ndarray | None, layout: Layout, n_features: int) -> None:
    """Whether `views=`, which cuts one array into views, gives the views that were fitted on."""
    if columns is None:
        return
    if columns.keys() != layout.keys():
        raise DataError(f"views= names {list(columns)}, but {list(layout)} were fitted on.")
    places = np.broadcast_to(False, (n_features,))  # takes no memory, however many there are said to be
    for name, chosen in (positions(columns, names) or {}).items():
        listed = [] if isinstance(chosen, slice) else list(column_list(chosen))
        by_name = names is None and bool(listed) and all(isinstance(column, str) for column in listed)
        n_columns = len(listed) if by_name else len(places[listed or chosen])
        if n_columns != layout[name]:
            raise DataError(f"views= gives {name!r} {n_columns} columns, but it has {layout[name]}.")
