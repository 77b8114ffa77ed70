"""What docs/engine.md promises of threads and forks, in processes of their own, where a hang or an abort is seen."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")

START = """
import os, sys, threading
import joblib, numpy as np, torch
import gramless as gl

torch.set_num_threads(2)
rng = np.random.default_rng(0)
X = gl.Views({"a": rng.random((200, 40), dtype=np.float32), "b": rng.random((200, 60), dtype=np.float32)})
y = (X["a"][:, :4].sum(1) > 2).astype(int)

def fitted():
    learning = gl.Supervised(n_steps=1, validation=0.0)
    network = gl.DeepKernelNetwork(hidden=(4,), learning=learning)
    return gl.DeepMapClassifier(network, 20, tuning=None, head="ridge", C=1.0, random_state=0).fit(X, y)

def scores(model):
    sums = torch.rand(300, 300).exp() @ torch.rand(300, 300)  # PyTorch's own threads, in loops and products
    assert sums.isfinite().all()
    return model.decision_function(X)

def same(model):
    return np.array_equal(scores(model), expected)
"""

FORKS = (
    START
    + """
import multiprocessing

def right_in_child(compute):
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if compute() else 3)
        finally:
            os._exit(4)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

assert right_in_child(lambda: np.isfinite(scores(fitted())).all() and torch.get_num_threads() == 2)
print("before first use", flush=True)
model = fitted()
expected = scores(model)
assert right_in_child(lambda: same(model) and same(fitted()) and torch.get_num_threads() == 2)
print("after first use", flush=True)
assert right_in_child(lambda: same(model) and right_in_child(lambda: same(model)))
print("a child's child", flush=True)
found = []
thread = threading.Thread(target=lambda: found.append(same(model) and right_in_child(lambda: same(model))))
thread.start()
thread.join()
assert found == [True]
print("from a thread", flush=True)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(same, [model] * 4) == [True] * 4
print("a pool", flush=True)
assert same(model)
print("the parent afterwards", flush=True)
"""
)

THREADS = (
    START
    + """
import dask
import dask.array as da
import numba

def concurrently(work, n=4):
    begin, found = threading.Barrier(n), []
    def body():
        begin.wait()
        found.extend(work() for _ in range(3))
    threads = [threading.Thread(target=body) for _ in range(n)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return found == [True] * 3 * n

model = fitted()
expected = scores(model)
assert concurrently(lambda: same(model))
print("one model", flush=True)
assert concurrently(lambda: same(fitted()), 2)
print("fits", flush=True)
for backend in ("threading", "loky"):
    parts = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(model.decision_function)(X) for _ in range(4))
    assert all(np.array_equal(part, expected) for part in parts)
    print(backend, flush=True)
blocks = {name: da.from_array(X[name], chunks=(50, -1)) for name in X.names}
answers = model.decision_function(blocks)
with dask.config.set(scheduler="threads", num_workers=4):
    found = answers.compute()
with dask.config.set(scheduler="synchronous"):
    assert np.array_equal(found, answers.compute())
print("Dask", flush=True)
assert torch.get_num_threads() == 2
try:
    print("Numba's threads by", numba.threading_layer())
except ValueError:
    print("no threads of Numba's")
"""
)

INSIDE = """
import os, signal, threading
import gramless as gl
from gramless.support.threads import one_thread

def enter_and_leave():
    while True:
        with one_thread():
            pass

with one_thread():
    pass
threading.Thread(target=enter_and_leave, daemon=True).start()
for _ in range(30):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends one that waits for a thread that it does not have
        with one_thread():
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print("no child waited", flush=True)
os._exit(0)
"""


LEAVING = """
import os, threading, time

left_behind = 0

def look():
    global left_behind
    there = set(os.listdir("/proc/self/task"))
    time.sleep(0.03)
    left_behind += len(there - set(os.listdir("/proc/self/task")))

os.register_at_fork(before=look)  # such functions are called the other way round: this one last
import torch
import gramless as gl

def compute():
    torch.rand(600, 600).exp() @ torch.rand(600, 600)

torch.set_num_threads(16)
compute()
for _ in range(20):
    thread = threading.Thread(target=compute)
    thread.start()
    thread.join()
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print(f"{left_behind} threads were still leaving")
"""


def told(script):
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    environment["GOMP_SPINCOUNT"] = "0"  # threads that spin while they wait take the cores of a busy machine
    environment["NUMBA_THREADING_LAYER"] = "workqueue"  # which would abort the process where two threads come to it
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_forked_child_computes_like_its_parent():
    assert told(FORKS) == [
        "before first use",
        "after first use",
        "a child's child",
        "from a thread",
        "a pool",
        "the parent afterwards",
    ]


def test_several_threads_on_one_model():
    pytest.importorskip("dask.array")
    assert told(THREADS) == ["one model", "fits", "threading", "loky", "Dask", "no threads of Numba's"]


def test_a_child_does_not_wait_for_a_number_of_threads_that_others_were_changing():
    assert told(INSIDE) == ["no child waited"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are seen in /proc")
def test_what_computed_for_a_thread_that_has_ended_is_gone_before_a_fork():
    """A thread on its way out may hold a lock of MKL's memory, and the child then never gets it."""
    assert told(LEAVING) == ["0 threads were still leaving"]
