"""Settings for every test: one thread per worker (or OMP_NUM_THREADS), and property-based tests that repeat themselves.

`make test` draws the same examples every time; what once failed at random is kept as an `@example` of its test.
`make fuzz` (tests/fuzz.py) draws new ones.
"""

import os
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import numpy as np
import pytest
import torch

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
hypothesis.settings.register_profile("fixed", deadline=None, max_examples=30, derandomize=True, database=None)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=200, database=None, print_blob=True)
hypothesis.settings.load_profile("fixed")


@pytest.fixture(scope="session", autouse=True)
def few_steps() -> Iterator[None]:
    """A classifier moves its landmarks by hundreds of steps; tests of other things need ten, tests/tuning its own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gramless.maps.tuning.landmark_descent.STEPS", 10)
        patched.setattr("gramless.maps.tuning.supervised_finish.MAX_STEPS", 10)
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
