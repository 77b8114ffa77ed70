"""Samples in blocks, what passes over them are about, and the optima that other solvers find."""

import operator
import warnings
from functools import reduce

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from gramless.heads import Head, SquaredHinge, fit_over_blocks, newton_totals
from tests.oracles import heads as oracle

AMPLE = 2**30
TOLERANCE = 1e-10
WEIGHTS = [(1.0, 1.0), (1.0, 6.0), (0.5, 2.0)]


def problem(rng, n=300, d=12, rates=(0.5, 0.1, 0.3), dtype=np.float64):
    X = rng.normal(size=(n, d)) * np.linspace(2.0, 0.1, d)
    F = X @ rng.normal(size=(d, len(rates))) + rng.normal(size=(n, len(rates)))
    thresholds = [np.quantile(f, 1 - rate) for f, rate in zip(F.T, rates, strict=True)]
    return X.astype(dtype), np.where(thresholds < F, 1.0, -1.0)


def zeros(X, signs):
    return Head(np.zeros((signs.shape[1], X.shape[1])), np.zeros(signs.shape[1]), 1)


class Passes:
    """All the data in blocks of rows, and which labels each pass over it was about."""

    def __init__(self, X, signs, loss=None, C=1.0, weights=None, blocks=None):
        self.sides = C * np.array(weights or [(1.0, 1.0)] * signs.shape[1])
        self.loss = loss or SquaredHinge()
        self.blocks = [(X[rows], signs[rows]) for rows in (blocks or np.array_split(np.arange(len(X)), 5))]
        self.labels = []

    def __call__(self, w, labels, reach):
        self.labels.append(labels.tolist())
        sides = self.sides[labels]
        return reduce(
            operator.add, (newton_totals(X, s[:, labels], w, reach, self.loss, sides) for X, s in self.blocks)
        )


def solved(*args, tolerance=TOLERANCE, **options):
    """`fit_over_blocks`, and closer to the optimum than it goes by itself."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gramless.heads.blockwise.TOLERANCE", tolerance)
        return fit_over_blocks(*args, **options)


def fit(X, signs, *args, start=None, varied=None, options=(), **data):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        varied = np.ones(signs.shape[1], dtype=bool) if varied is None else varied
        chosen = {"budget": AMPLE} | dict(options)
        return solved(Passes(X, signs, *args, **data), start or zeros(X, signs), varied, **chosen)


def liblinear(X, sign, C=1.0, weight=(1.0, 1.0)):
    """Weights with the bias last."""
    machine = LinearSVC(C=C, dual=False, tol=1e-10, max_iter=1_000_000, class_weight={-1: weight[0], 1: weight[1]})
    machine.fit(np.asarray(X, dtype=float), sign)
    return np.append(machine.coef_[0], machine.intercept_[0])


def stacked(head):
    return np.column_stack([head.coefficients, head.intercepts])


def objective(w, X, sign, C=1.0, width=None):
    if width is None:
        losses = [lambda m: oracle.squared_hinge(m, C)] * len(X)
    else:
        losses = [lambda m: oracle.huberized_hinge(m, C, width)] * len(X)
    return oracle.objective(np.asarray(w[:-1], float), float(w[-1]), np.asarray(X, float), sign, losses)
