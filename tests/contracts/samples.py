"""Random samples for the property-based parts of the contracts."""

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

VALUES = st.integers(-5000, 5000).map(lambda i: i / 1000)
"""Zeros and ties are common, and nothing underflows when it is multiplied a few times."""

MOST_FEATURES = 5

seeds = st.integers(0, 2**32 - 1)


def sample_sets(n_sets=2, max_rows=6, max_features=MOST_FEATURES):
    """Several sets of samples with the same features: arrays (n, d), (m, d), ..."""
    rows = st.integers(1, max_rows)
    return st.integers(1, max_features).flatmap(
        lambda d: st.tuples(
            *(rows.flatmap(lambda n: arrays(np.float64, (n, d), elements=VALUES)) for _ in range(n_sets))
        )
    )


def generator(seed=0):
    return torch.Generator().manual_seed(seed)
