"""Blocks read ahead come in order, few at a time, under the settings of the caller, and fail where they are due."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

import gramless as gl
from gramless.blocks.local import in_order


def returned_later(number: int) -> int:
    time.sleep(0.002 * (number % 3 == 0))
    return number


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_tasks(n_threads):
    assert list(in_order((partial(returned_later, i) for i in range(40)), n_threads)) == list(range(40))


def test_no_tasks_no_results():
    assert list(in_order([], 3)) == []


@pytest.mark.parametrize("n_threads", [1, 3])
def test_only_so_many_are_begun_ahead(n_threads):
    begun = []
    tasks = (partial(begun.append, i) for i in range(50))
    results = in_order(tasks, n_threads)
    for taken in range(1, 51):
        next(results)
        time.sleep(0.001)
        assert len(begun) <= taken + n_threads


def test_what_a_task_raises_is_raised_in_its_place():
    def task(i: int) -> int:
        if i == 3:
            raise ValueError("the fourth block")
        return i

    results = in_order((partial(task, i) for i in range(10)), 2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="the fourth block"):
        next(results)


def test_what_the_source_of_tasks_raises_is_raised():
    def tasks():
        yield lambda: 0
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(in_order(tasks(), 2))


def test_tasks_see_the_settings_of_the_thread_that_asks():
    def task() -> tuple[str, bool]:
        return gl.get_config()["precision"], threading.current_thread() is threading.main_thread()

    with gl.config_context(precision="codes"):
        assert list(in_order([task] * 3, 2)) == [("codes", False)] * 3


def test_who_stops_asking_stops_the_reading():
    begun: list[int] = []

    def tasks() -> list[Callable[[], None]]:
        return [partial(begun.append, i) for i in range(1_000)]

    results = in_order(tasks(), 2)
    next(results)
    results.close()
    number = len(begun)
    time.sleep(0.01)
    assert len(begun) == number < 10
