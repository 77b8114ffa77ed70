"""Worker processes: what Ctrl-C is to them, and how they end."""

import os
import signal
import time
import warnings

import psutil

from gramless.pictures.features.rows import in_order


def interrupted(number):
    """As when a terminal sends Ctrl-C to all processes."""
    os.kill(os.getpid(), signal.SIGINT)
    return number


def slow(number):
    if number:
        time.sleep(600)
    return os.getpid()


def test_worker_processes_do_not_hear_ctrl_c():
    assert list(in_order(interrupted, range(8), 2)) == list(range(8))


def test_closing_ends_what_workers_are_at_without_a_word():
    results = in_order(slow, range(4), 2)
    worker = psutil.Process(next(results))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results.close()
    worker.wait(timeout=60)
