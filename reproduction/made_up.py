"""Made-up features of ImageCLEF's dimensions, for measuring time and relative errors at its scale."""

from __future__ import annotations

import numpy as np

from gramless.support.progress import ProgressBar
from gramless.views import Views

WIDTHS = (480, 576, 512, 1000, 1000, 1000, 1000, 1000, 1000, 1000)  # Gist, colours, bags of visual words
N_KINDS = 100  # of pictures
CHUNK = 5_000  # rows that one random stream makes
SPARSITY = 0.3  # shape of the gamma numbers; histograms of small ones have few large bins


def made_up_views(n: int, seed: int) -> Views:
    """n rows of ten histograms that sum to one; the first m of n rows are those of m.

    Every picture is of one of a hundred kinds, each with a histogram per view that its pictures are drawn around, so
    that some pictures are alike as in a real collection.
    """
    kinds = [
        np.random.default_rng([seed, view]).gamma(SPARSITY, size=(N_KINDS, width)).astype(np.float32)
        for view, width in enumerate(WIDTHS)
    ]
    blocks = [np.empty((n, width), dtype=np.float32) for width in WIDTHS]
    with ProgressBar("made-up features", n) as progress:
        for start in range(0, n, CHUNK):
            rng = np.random.default_rng([seed, len(WIDTHS), start])
            kind = rng.integers(N_KINDS, size=CHUNK)
            rows = slice(start, min(start + CHUNK, n))
            for block, histograms in zip(blocks, kinds, strict=True):
                noise = rng.standard_gamma(SPARSITY, size=(CHUNK, block.shape[1]), dtype=np.float32)
                mixed = (noise + histograms[kind])[: rows.stop - rows.start]
                block[rows] = mixed / mixed.sum(1, keepdims=True)
            progress.advance(rows.stop - rows.start)
    return Views({f"view {number}": block for number, block in enumerate(blocks, 1)})
