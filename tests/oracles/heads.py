"""What heads should compute, sample by sample in NumPy and SciPy, in float64."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.optimize import minimize


def squared_hinge(margin: float, box: float) -> float:
    return box * max(0.0, 1.0 - margin) ** 2


def huberized_hinge(margin: float, box: float, width: float) -> float:
    """Nothing, a parabola, a line."""
    if margin >= 1:
        return 0.0
    if 1 - margin <= box * width:
        return (1 - margin) ** 2 / (2 * width)
    return box * (1 - margin) - box**2 * width / 2


def boxes(sign: np.ndarray, C: float, weight: tuple[float, float]) -> np.ndarray:
    return np.array([C * weight[1] if s > 0 else C * weight[0] for s in sign])


def objective(w: np.ndarray, bias: float, X: np.ndarray, sign: np.ndarray, losses: list) -> float:
    """1/2 |w|^2 + 1/2 bias^2 + the losses, functions of one margin each."""
    total = 0.5 * float(w @ w) + 0.5 * bias**2
    for x, y, loss in zip(X, sign, losses, strict=True):
        total += loss(y * (float(w @ x) + bias))
    return total


def dual_optimum(X: np.ndarray, sign: np.ndarray, box: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, float]:
    """max sum a - 1/2 a'(Q + diag(width)) a in the box, Q with a constant feature; weights with the bias last."""
    A = np.column_stack([X, np.ones(len(X))]) * sign[:, None]
    Q = A @ A.T + np.diag(width)
    found = minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0),
        np.zeros(len(X)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, b) for b in box],
        options={"maxiter": 100_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return found.x @ A, -float(found.fun)


def f1(scores: np.ndarray, sign: np.ndarray, threshold: float) -> float:
    given, wanted = scores > threshold, sign > 0
    hits = int((given & wanted).sum())
    return 2 * hits / (int(given.sum()) + int(wanted.sum())) if hits else 0.0


def best_f1(scores: np.ndarray, sign: np.ndarray) -> float:
    """Over thresholds under, between and at all scores."""
    values = sorted(set(scores.tolist()))
    tried = [values[0] - 1.0, *values, *((a + b) / 2 for a, b in pairwise(values))]
    return max(f1(scores, sign, t) for t in tried)


def top_k(scores: list[float], k: int) -> set[int]:
    """Positions of the k best; among equals the first."""
    return set(sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k])


def left_out(gram, targets, alpha, weights):
    """What each sample misses its targets by (n, n_targets), and its variance given the others (n,)."""
    n = len(gram)
    residuals, variances = np.empty(targets.shape), np.empty(n)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        system = gram[np.ix_(others, others)] + alpha * np.diag(1 / weights[others])
        across = np.linalg.solve(system, gram[others, i])
        residuals[i] = targets[i] - across @ targets[others]
        variances[i] = gram[i, i] - across @ gram[others, i]
    return residuals, variances
