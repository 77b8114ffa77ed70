"""One torch thread for a while: nested, in several threads at once, and in a Dask worker."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from threading import Barrier

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.support.threads import one_thread


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_number_of_threads_is_given_back():
    with one_thread():
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
        torch.set_num_threads(3)
    assert torch.get_num_threads() == 2


def test_threads_that_overlap_all_get_their_number_back():
    both_inside, first_outside = Barrier(2), Barrier(2)

    def body(leaves_first):
        with one_thread():
            both_inside.wait(10)  # the second thread is new to PyTorch, and finds the first one's number
            inside = torch.get_num_threads()
            if not leaves_first:
                first_outside.wait(10)
        if leaves_first:
            first_outside.wait(10)
        return inside, torch.get_num_threads()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(body, (True, False))) == [(1, 2), (1, 2)]
    assert torch.get_num_threads() == 2


def numbers_in_a_worker():
    import dask.array

    torch.set_num_threads(2)
    blocks = gl.in_blocks({"a": dask.array.from_array(np.ones((6, 2), np.float32), chunks=3)})
    with dask.config.set(scheduler="synchronous"):
        inside = blocks.total(lambda block: np.array([torch.get_num_threads()]), "counting threads")
    return inside.item(), torch.get_num_threads()


def test_a_dask_worker_keeps_its_number():
    pytest.importorskip("dask.array")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as worker:
        assert worker.submit(numbers_in_a_worker).result(timeout=60) == (1 + 1, 2)
