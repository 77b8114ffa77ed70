"""Numba on PyTorch's number of threads, and PyTorch left alone."""

import numba
import pytest
import torch

from gramless.engine.cpu.threads import threads_of_torch


@pytest.fixture(autouse=True)
def _restored():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_numba_takes_torchs_number_up_to_its_own_limit():
    limit = numba.config.NUMBA_NUM_THREADS
    for number in (1, limit, limit + 3):
        torch.set_num_threads(number)
        with threads_of_torch() as used:
            assert used == numba.get_num_threads() == min(number, limit)
        assert torch.get_num_threads() == number


def test_both_numbers_are_restored_after_an_error():
    before = numba.get_num_threads()
    torch.set_num_threads(1)

    def fail():
        with threads_of_torch():
            torch.set_num_threads(2)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert (numba.get_num_threads(), torch.get_num_threads()) == (before, 1)
