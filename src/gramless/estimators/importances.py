"""What matters to a fitted model: the shares of its views and kernels in its decisions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from gramless.deep_kernel import DeepKernel
from gramless.estimators.fitted import FittedOnViews
from gramless.estimators.fitted_html import Fact, Tried, fitted_html
from gramless.heads.decision_shares import decision_shares
from gramless.kernels import kernel_name
from gramless.support.config import current_budget
from gramless.views import Views


@dataclass(frozen=True, eq=False)
class Importances:
    """Shares of elementary kernels, and so of views, in the decisions of a model, label by label.

    The share of a view is what the decision varies by where that view alone is drawn from another sample: Sobol's total
    effects, of samples that the model holds, divided by their sum over views. Within a view it is divided among kernels
    in the same way. `gramless.heads.decision_shares` has the formulas. The shares of a label sum to one; those of a
    label whose decisions are always the same are all 0.

    Attributes
    ----------
    labels : array (n_labels,)
        Classes or numbers of labels, of which two classes have one, the second; numbers of targets.
    views : tuple of str
        All views, also those that no kernel looks at.
    inputs : tuple of (view, name of the kernel)
        The elementary kernels.
    shares : array (n_labels, n_inputs)
    """

    labels: np.ndarray
    views: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...]
    shares: np.ndarray

    @property
    def of_views(self) -> np.ndarray:
        """(n_labels, n_views)"""
        return self._summed([view for view, _ in self.inputs], self.views)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels, each once."""
        return tuple(dict.fromkeys(kernel for _, kernel in self.inputs))

    @property
    def of_kernels(self) -> np.ndarray:
        """(n_labels, n_kernels): of all kernels of a name, on whatever view."""
        return self._summed([kernel for _, kernel in self.inputs], self.kernels)

    def _summed(self, owners: list[str], names: tuple[str, ...]) -> np.ndarray:
        belongs = np.array([[owner == name for name in names] for owner in owners], dtype=float)
        return self.shares @ belongs

    def __repr__(self) -> str:
        """Views, or the kernels of one, by their share on average over labels, the largest first."""
        several = len(self.views) > 1
        names, shares = (self.views, self.of_views) if several else (self.kernels, self.of_kernels)
        mean = shares.mean(0)
        order = np.argsort(-mean, kind="stable")
        return f"Importances({', '.join(f'{names[i]} {100 * mean[i]:.1f} %' for i in order)})"


@dataclass(frozen=True, eq=False)
class Expansion:
    """The decisions of a model as sums of kernel values with samples that it holds."""

    kernel: DeepKernel
    points: Views
    coefficients: np.ndarray  # (n_labels, n_points)


_KEPT: WeakKeyDictionary[Any, tuple[Views, Importances]] = WeakKeyDictionary()
"""By the head that they are of, with the samples that it is on: no part of a model, not in its file."""


class Explained(FittedOnViews):
    """A model that says what matters to it, a head on features of samples."""

    @abstractmethod
    def known_samples(self) -> Views:
        """Samples that were learned from, all their views; others that lack a view are completed from them."""

    @abstractmethod
    def _features(self, views: Views) -> np.ndarray:
        """What the head takes: (n, n_features)."""

    @property
    @abstractmethod
    def _n_features(self) -> int:
        """How many features `_features` gives."""

    @abstractmethod
    def _expansion(self) -> Expansion:
        """Its decisions as sums of kernel values."""

    @property
    @abstractmethod
    def _answers(self) -> tuple[Any, np.ndarray]:
        """The head, an immutable value, and what it has a decision of: (n_labels,)."""

    @abstractmethod
    def _network_facts(self) -> tuple[DeepKernel, list[Fact]]:
        """The network, and what there is to say of the samples that the model holds."""

    @abstractmethod
    def _head_facts(self) -> tuple[list[Fact], Tried | None]:
        """What was learned on top, and what it was chosen by."""

    @property
    def importances_(self) -> Importances:
        """Shares of views and kernels in the decisions, computed when they are first asked for."""
        check_is_fitted(self)
        (head, labels), expansion = self._answers, self._expansion()
        known = _KEPT.get(head)
        if known is not None and known[0] is expansion.points:
            return known[1]
        kernel = expansion.kernel
        found = Importances(
            labels,
            tuple(self.layout_),
            tuple((entry.view, kernel_name(entry.kernel)) for entry in kernel.inputs),
            decision_shares(kernel, expansion.points, expansion.coefficients, current_budget()),
        )
        _KEPT[head] = expansion.points, found
        return found

    def _html_repr(self) -> str:
        """For notebooks: scikit-learn's diagram, and what was fitted."""
        diagram = estimator_html_repr(self)
        try:
            check_is_fitted(self)
        except NotFittedError:
            return diagram
        (kernel, of_samples), (of_head, curve) = self._network_facts(), self._head_facts()
        shares = self.importances_.shares.mean(0) if hasattr(self, "importances_") else None
        return diagram + fitted_html(kernel, self.layout_, shares, [*of_samples, *of_head], curve)
