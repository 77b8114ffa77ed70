"""Worker processes: what Ctrl-C is to them, and how they end."""

import os
import signal
import time
import warnings
from functools import partial

import psutil
import pytest

from gramless.pictures.features.workers import in_order


def interrupted(number):
    """As when a terminal sends Ctrl-C to all processes."""
    os.kill(os.getpid(), signal.SIGINT)
    return number


def interrupts(parent, number):
    """As when it is for the one that asks."""
    if number == 0:
        os.kill(parent, signal.SIGINT)
    return number


def birth_mask(number):
    """Whether the process was started with Ctrl-C blocked: nothing else blocks it there."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def slow(number):
    if number:
        time.sleep(600)
    return os.getpid()


def test_worker_processes_do_not_hear_ctrl_c():
    assert list(in_order(interrupted, range(8), 2)) == list(range(8))


@pytest.fixture
def usual_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_comes_between_two_answers_and_after_those_that_were_begun(usual_handler):
    found = []
    with pytest.raises(KeyboardInterrupt):
        found.extend(in_order(partial(interrupts, os.getpid()), range(10_000), 2))
    assert found == list(range(len(found)))
    assert 0 < len(found) < 10_000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert list(in_order(abs, range(32), 2)) == list(range(32))


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no masks on this system")
def test_workers_are_deaf_before_they_have_begun():
    assert all(in_order(birth_mask, range(16), 2))
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_closing_ends_what_workers_are_at_without_a_word():
    results = in_order(slow, range(4), 2)
    worker = psutil.Process(next(results))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results.close()
    worker.wait(timeout=60)
