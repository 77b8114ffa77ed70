"""One thread for a while: nested, in several threads at once, in a Dask worker, and of few samples."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from threading import Barrier

import numpy as np
import pytest
import torch
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

import gramless as gl
from gramless.kernels import Custom
from gramless.support import threads
from gramless.support.threads import one_thread, threads_for


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with threadpool_limits(2, "blas"):
        yield
    torch.set_num_threads(before)


def numbers():
    """Of PyTorch's threads, and the largest of BLAS's."""
    return torch.get_num_threads(), max(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")


def test_number_of_threads_is_given_back():
    with one_thread():
        with one_thread():
            assert numbers() == (1, 1)
        assert numbers() == (1, 1)
        torch.set_num_threads(3)
    assert numbers() == (2, 2)


def test_an_error_gives_the_number_back():
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    assert numbers() == (2, 2)


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


def test_a_thread_that_is_not_the_first_has_one_thread_of_blas_too():
    def body():
        with one_thread():
            return numbers()

    with ThreadPoolExecutor(1) as pool:  # the fixture has set BLAS's number in this thread
        assert pool.submit(body).result(10) == (1, 1)
    assert numbers() == (2, 2)


def test_blas_gets_its_number_back_from_whoever_leaves_last():
    inside, left = Barrier(2), Barrier(2)

    def leaves_last():
        with one_thread():
            inside.wait(10)
            left.wait(10)
        return numbers()

    with ThreadPoolExecutor(1) as pool:
        with one_thread():
            last = pool.submit(leaves_last)
            inside.wait(10)
        left.wait(10)
        assert last.result(10)[1] == 2
    with threadpool_limits(3, "blas"):
        assert numbers()[1] == 3


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


@pytest.mark.parametrize(("n_samples", "expected"), [(0, (1, 1)), (63, (1, 1)), (1_500, (1, 1)), (1_501, (2, 2))])
def test_few_samples_are_work_for_one_thread(n_samples, expected):
    with threads_for(n_samples):
        assert numbers() == expected
    assert numbers() == (2, 2)


def numbers_seen(estimator, how="fit"):
    """While an estimator learns from 63 samples: those that its kernel finds whenever it is called."""
    seen = set()

    def watched(X, Z):
        seen.add(numbers())
        return X @ Z.T

    network = gl.DeepKernelNetwork([Custom(watched)], learning=None)
    model = network if isinstance(estimator, gl.DeepKernelNetwork) else clone(estimator).set_params(kernel=network)
    X = np.random.default_rng(0).random((63, 4), np.float32)
    getattr(model.set_params(random_state=0), how)(X, np.arange(63) % 27)
    assert numbers() == (2, 2)
    return seen


FITS = [
    (gl.DeepKernelNetwork(), "fit"),
    (gl.DeepMapNetwork(n_landmarks=10), "fit"),
    (gl.DeepKernelClassifier(), "fit"),
    (gl.DeepMapClassifier(n_landmarks=10), "fit"),
    (gl.DeepMapClassifier(n_landmarks=10), "partial_fit"),
    (gl.DeepKernelRegressor(), "fit"),
    (gl.DeepMapRegressor(n_landmarks=10), "fit"),
]


@pytest.mark.parametrize(("estimator", "how"), FITS, ids=lambda each: type(each).__name__)
def test_estimators_learn_from_few_samples_on_one_thread(estimator, how):
    assert numbers_seen(estimator, how) == {(1, 1)}


def test_estimators_learn_from_many_samples_on_all_threads(monkeypatch):
    monkeypatch.setattr(threads, "FEW_SAMPLES", 62)
    assert numbers_seen(gl.DeepMapNetwork(n_landmarks=10)) == {(2, 2)}
