"""As many labels as a sample deserves: a threshold per label with the highest expected F1, micro and macro together.

By probabilities p_l(x), N_l = sum_x p_l(x) samples have the label l; where PP_l of them get it, it is right for
TP_l = sum p_l(x) over these. F1 of all answers together is M = 2 TP / (PP + N), sums over labels; as papers take it
from means over the L labels it is F = 2 R P / (R + P), R = mean TP_l / N_l, P = mean TP_l / PP_l. Giving l to one more
x changes M + F by p_l(x) a_l - b_l,

    a_l = 2 / (PP + N) + (F_R / N_l + F_P / PP_l) / L,    b_l = 2 TP / (PP + N)^2 + F_P TP_l / PP_l^2 / L,

so that l is given where p_l(x) > b_l / a_l. Of M alone the threshold is half of the best M, the same for all labels
(Lipton et al. 2014), which leaves rare labels out; F alone gives every sample whatever cannot lower a mean over labels.
b_l / a_l depends on the answer and the answer on it: Frank and Wolfe's averages, as in `top_gains`.
"""

from __future__ import annotations

import numpy as np

from gramless.heads.decisions import Threshold
from gramless.heads.top_gains import f_slopes

N_ROUNDS = 40
DOUBT = 1 / 1200  # wrong answers per sample, counted on top of each label's; chosen on COREL5k's training pictures
START = 0.3
NEVER = 1.0  # no probability is above
LEAST = 1e-9  # samples that are to be expected to have a label


def f1_thresholds(probabilities: np.ndarray, weights: np.ndarray | None = None) -> Threshold:
    """Of probabilities (n, n_labels) of samples whose classifiers have not seen them; NaN is none.

    weights : (n,), how much every sample counts; None counts all alike

    They are counted instead of the labels, of which a rare one has too few to learn a threshold from. A label that no
    sample may have is never given. N_ROUNDS times O(n n_labels).
    """
    p = np.nan_to_num(probabilities, nan=0.0)
    weights = np.ones(len(p)) if weights is None else weights
    having, doubt = weights @ p, DOUBT * weights.sum()
    known = having > LEAST
    if not known.any():
        return Threshold(np.full(p.shape[1], NEVER))
    p, having = p[:, known], having[known]
    n_labels, total = len(having), having.sum()
    thresholds = np.full(n_labels, START)
    right, given = np.zeros(n_labels), np.zeros(n_labels)
    for round_ in range(N_ROUNDS):
        chosen = p > thresholds
        share = 2.0 / (round_ + 2.0)  # the first answer replaces the zeros
        right += share * (weights @ (p * chosen) - right)
        given += share * (weights @ chosen - given)
        counted = given + doubt
        by_recall, by_precision = f_slopes(float(np.mean(right / having)), float(np.mean(right / counted)), 1.0)
        all_given = given.sum() + total
        gain = 2.0 / all_given + (by_recall / having + by_precision / counted) / n_labels
        cost = 2.0 * right.sum() / all_given**2 + by_precision * right / counted**2 / n_labels
        thresholds = cost / gain
    found = np.full(len(known), NEVER)
    found[known] = thresholds
    return Threshold(found)
