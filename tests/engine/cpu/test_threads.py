"""Tasks on several threads: each is done once, on as many threads as PyTorch has, and an error is the caller's."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from numba import njit

from gramless.engine.cpu.threads import run, tasks


@pytest.fixture(autouse=True)
def torchs_number():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@njit(nogil=True)
def count(counter, n_tasks, done):
    for task in tasks(counter, n_tasks):
        done[task] += 1


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_tasks", [0, 1, 2, 1000])
def test_every_task_is_done_once(n_threads, n_tasks):
    torch.set_num_threads(n_threads)
    done = np.zeros(n_tasks, np.int64)
    run(count, n_tasks, done)
    assert (done == 1).all()
    assert torch.get_num_threads() == n_threads


@pytest.mark.parametrize(("n_threads", "n_tasks", "n_calls"), [(1, 9, 1), (2, 1, 1), (2, 9, 2)])
def test_as_many_threads_as_torch_has_and_there_are_tasks(n_threads, n_tasks, n_calls):
    torch.set_num_threads(n_threads)
    together, seen = threading.Barrier(n_calls), []

    def loop(counter, n_tasks):
        together.wait(60)
        seen.append(threading.get_ident())

    run(loop, n_tasks)
    assert len(set(seen)) == n_calls


def test_several_threads_share_the_helpers():
    torch.set_num_threads(3)

    def all_done(_):
        done = np.zeros(200, np.int64)
        for _ in range(20):
            run(count, 200, done)
        return (done == 20).all()

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(all_done, range(8)))


def test_an_error_in_a_helper_is_the_callers():
    torch.set_num_threads(2)
    together, caller = threading.Barrier(2), threading.get_ident()

    def loop(counter, n_tasks):
        together.wait(60)
        if threading.get_ident() != caller:
            raise ValueError("in a helper")

    with pytest.raises(ValueError, match="in a helper"):
        run(loop, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
def test_a_forked_child_starts_helpers_of_its_own():
    torch.set_num_threads(2)
    run(count, 100, np.zeros(100, np.int64))
    together = threading.Barrier(2)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends one that waits for a thread that it does not have
        try:
            run(lambda counter, n_tasks: together.wait(20), 2)  # which the caller alone would not get beyond
            done = np.zeros(100, np.int64)
            run(count, 100, done)
            os._exit(0 if (done == 1).all() else 3)
        finally:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
