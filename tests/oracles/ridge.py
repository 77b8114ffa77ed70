"""Ridge regression by refitting: every sample left out in turn, one linear system for each."""

import numpy as np


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
