"""Which samples are learned from and which are held out to judge by, so that rare labels are not left to chance."""

from __future__ import annotations

from math import floor

import numpy as np
import torch


def representatives(signs: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Mask of few samples that have every label, and lack every label, that any sample has or lacks: (n,).

    Rare labels choose first, each the first of its samples in `order`, unless one of them is chosen already.
    """
    place = np.empty(len(order), dtype=int)
    place[order] = np.arange(len(order))
    chosen = np.zeros(len(signs), dtype=bool)
    sides = [column == sign for sign in (1.0, -1.0) for column in signs.T]
    for side in sorted(sides, key=np.count_nonzero):
        members = np.flatnonzero(side)
        if len(members) and not chosen[members].any():
            chosen[members[place[members].argmin()]] = True
    return chosen


def draw_stratified(signs: np.ndarray, size: int, generator: torch.Generator) -> np.ndarray:
    """Numbers of that many random samples, or of all if there are no more; the representatives are among them."""
    order = torch.randperm(len(signs), generator=generator).numpy()
    if size < len(order):
        order = order[np.argsort(~representatives(signs, order)[order], kind="stable")]
    return np.sort(order[:size])


def hold_out_stratified(signs: np.ndarray, share: float, generator: torch.Generator) -> np.ndarray:
    """Mask of the samples to hold out, (n,): about that share of all, and of the samples with each label.

    The representatives are never held out, so that whatever any sample is can be learned. Iterative stratification in a
    simple form: the rarest label goes first and gives up its share of samples; where that is no whole number, it is
    rounded such that the share of all samples placed so far stays right. Of a label that most samples have, those
    without it count. O(n n_labels).
    """
    n = len(signs)
    order = torch.randperm(n, generator=generator).numpy()
    rare = np.where(2 * (signs > 0).sum(0) <= n, signs > 0, signs < 0)
    held, placed = np.zeros(n, dtype=bool), representatives(signs, order)
    for label in np.argsort(rare.sum(0), kind="stable"):
        has = rare[:, label]
        rows = order[(has & ~placed)[order]]
        fair = floor(share * has.sum() - held[has].sum())
        placed[rows] = True
        on_track = round(share * placed.sum() - held.sum())
        held[rows[: np.clip(on_track, max(fair, 0), max(fair + 1, 0))]] = True
    rest = order[~placed[order]]
    held[rest[: max(int(share * n) - held.sum(), 0)]] = True
    return held
