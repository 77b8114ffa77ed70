"""Completing samples that lack views, pair by pair and one left-out sample at a time."""

from __future__ import annotations

import numpy as np

WIDTH, ROUNDS = 8.0, 2
RIDGES = 10.0 ** np.arange(-5.0, 1.5, 0.5)


def complete(views: list[np.ndarray], known: list[np.ndarray]) -> list[np.ndarray]:
    """The views (n, d) without NaN; known samples may lack views themselves."""
    known = [np.array(z, dtype=float) for z in known]
    has = [~np.isnan(z).all(1) for z in known]
    centres = [z[h].mean(0) for z, h in zip(known, has, strict=True)]
    scales = [
        np.sqrt(np.mean([[np.sum((a - b) ** 2) for a in z[h]] for b in z[h]])) or 1.0
        for z, h in zip(known, has, strict=True)
    ]
    low, high = ([getattr(z[h], f)(0) for z, h in zip(known, has, strict=True)] for f in ("min", "max"))
    for z, h, centre in zip(known, has, centres, strict=True):
        z[~h] = centre

    def kernel(v, x, z):
        apart = [np.sum(((x[u] - z[u]) / scales[u]) ** 2) for u in range(len(x)) if u != v]
        return np.exp(-np.mean(apart) / WIDTH)

    def sample(blocks, i):
        return [b[i] for b in blocks]

    def regression(v):
        rows = np.flatnonzero(has[v])
        gram = np.array([[kernel(v, sample(known, i), sample(known, j)) for j in rows] for i in rows])
        targets, errors = known[v][rows] - centres[v], []
        for ridge in RIDGES:
            error = 0.0
            for i in range(len(rows)):
                others = np.delete(np.arange(len(rows)), i)
                a = np.linalg.solve(gram[np.ix_(others, others)] + ridge * np.eye(len(others)), targets[others])
                error += np.sum((gram[i, others] @ a - targets[i]) ** 2)
            errors.append(error)
        weights = np.linalg.solve(gram + RIDGES[np.argmin(errors)] * np.eye(len(rows)), targets)
        return lambda x: np.clip(
            centres[v] + np.array([kernel(v, x, sample(known, j)) for j in rows]) @ weights, low[v], high[v]
        )

    if not all(h.all() for h in has):
        for _ in range(ROUNDS):
            for v in range(len(known)):
                predict = regression(v)
                known[v][~has[v]] = [predict(sample(known, i)) for i in np.flatnonzero(~has[v])] or known[v][~has[v]]
    regressions = [regression(v) for v in range(len(known))]
    found = [np.array(x, dtype=float) for x in views]
    lacks = [np.isnan(x).all(1) for x in found]
    for x, lack, centre in zip(found, lacks, centres, strict=True):
        x[lack] = centre
    for _ in range(ROUNDS):
        for v, predict in enumerate(regressions):
            for i in np.flatnonzero(lacks[v]):
                found[v][i] = predict(sample(found, i))
    return found
