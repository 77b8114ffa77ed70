"""Settings for every test: one thread per worker, and property-based tests that a busy machine cannot fail."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import numpy as np
import pytest
import torch

torch.set_num_threads(1)
hypothesis.settings.register_profile(
    "gramless",
    deadline=None,
    max_examples=int(os.environ.get("GRAMLESS_EXAMPLES", "30")),
    derandomize="CI" in os.environ,  # new examples are for people to meet, not for a submission
    print_blob=True,
)
hypothesis.settings.load_profile("gramless")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
