"""Claims: a Dask cluster of two processes gives the same scores to 1e-6, 1.6 times as fast as one, also if one dies.

The samples of out_of_core.py, from the same files, which every worker reads for itself. Workers have one thread each.
Throughput is that of scores from features, on one worker and on two by turns. Then the whole path on two workers:
sample, map, classifiers and scores of all samples, compared with those that out_of_core.py left in the folder; and the
scores once more, with a worker killed (-9) when a third of them is done.
"""

from __future__ import annotations

import os
import pickle
import signal
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from big_data import N_VIEWS, ROWS, WIDTH, classifier, make, view_file
from distributed import Client, LocalCluster
from growth import resident
from harness import at_least, at_most, parser_of, report
from out_of_core import measure, scores_file

import gramless as gl
from gramless.support.budget import readable

TURNS = 3


def read(path: Path, start: int, stop: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def on_cluster(path: Path, n_samples: int, width: int | None, dtype: Any) -> da.Array:
    """An array file as a Dask array whose partitions are read where they are needed."""
    parts = []
    for start in range(0, n_samples, ROWS):
        stop = min(start + ROWS, n_samples)
        shape = (stop - start,) if width is None else (stop - start, width)
        parts.append(da.from_delayed(dask.delayed(read)(path, start, stop), shape, dtype))
    return da.concatenate(parts)


def samples_of(folder: Path, n_samples: int) -> dict[str, da.Array]:
    return {f"view{v}": on_cluster(view_file(folder, v), n_samples, WIDTH, np.float32) for v in range(N_VIEWS)}


@contextmanager
def workers(n: int) -> Iterator[Client]:
    with (
        LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=None, memory_limit=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def throughput(model: gl.DeepMapClassifier, X: dict[str, da.Array]) -> dict[int, float]:
    """Median seconds of all scores by number of workers, which take turns."""
    taken: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(TURNS):
        for n in taken:
            with workers(n):
                first = {name: view[:ROWS] for name, view in X.items()}
                dask.compute([model.decision_function(first) for _ in range(n)])  # load libraries and compiled code
                started = time.perf_counter()
                model.decision_function(X).sum().compute()
                taken[n].append(time.perf_counter() - started)
    return {n: statistics.median(seconds) for n, seconds in taken.items()}


def kill_one(client: Client, after_seconds: float) -> threading.Timer:
    """Kill a worker, as the kernel does where memory runs out."""
    victim = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(after_seconds, os.kill, (victim, signal.SIGKILL))
    timer.start()
    return timer


def compare(folder: Path, n_samples: int, n_timed: int, n_landmarks: int, seed: int) -> None:
    make(folder, n_samples, seed)
    if not scores_file(folder, n_samples).exists():
        measure(folder, n_samples, n_landmarks, seed)
    expected = np.load(scores_file(folder, n_samples), mmap_mode="r")
    X = samples_of(folder, n_samples)
    labels = on_cluster(folder / "labels.npy", n_samples, None, np.int8)
    with workers(2) as client:
        started = time.perf_counter()
        model = classifier(n_landmarks, seed, folder / "scratch-cluster").fit(X, labels)
        fitted = time.perf_counter()
        scores = model.decision_function(X).compute()
        scored = time.perf_counter()
        peak = max(resident("VmHWM", process) for process in client.run(os.getpid).values())
        timer = kill_one(client, (scored - fitted) / 3)
        after_death = model.decision_function(X).compute()
        timer.join()
    seconds = throughput(model, samples_of(folder, n_timed))
    size = np.abs(expected).max()
    n_labels, n_weights = len(model.classes_), model.head_.coefficients.shape[1] + 1
    sent, returned = len(pickle.dumps(model)), 8 * n_labels * n_weights * (n_weights + 1)
    report(
        "cluster",
        f"{n_samples:,} samples on a cluster of two processes, {n_landmarks} landmarks",
        ["step", "figure"],
        [
            ["fit, s", f"{fitted - started:.1f}"],
            ["passes", f"{model.n_iter_}"],
            ["scores of all, s", f"{scored - fitted:.1f}"],
            ["memory of a worker, most", readable(peak)],
            ["model, which every worker gets", readable(sent)],
            ["sums of a block and a pass, which come back", readable(returned)],
            [f"scores of {n_timed:,}, one worker, s", f"{seconds[1]:.1f}"],
            [f"scores of {n_timed:,}, two workers, s", f"{seconds[2]:.1f}"],
        ],
        {
            "n_samples": n_samples,
            "n_landmarks": n_landmarks,
            "fit_seconds": fitted - started,
            "score_seconds": scored - fitted,
            "worker_bytes": peak,
            "model_bytes": sent,
            "sums_bytes": returned,
            "n_timed": n_timed,
            "seconds_by_workers": seconds,
        },
        [
            at_most(
                "scores, off those of one machine, of the largest", float(np.abs(scores - expected).max() / size), 1e-6
            ),
            at_most("scores changed by the death of a worker", float((after_death != scores).sum()), 0),
            at_least("throughput of two workers over one's", seconds[1] / seconds[2], 1.6),
        ],
    )


if __name__ == "__main__":
    parser = parser_of(__doc__, samples=2_000_000, landmarks=500, seed=0)
    parser.add_argument("--folder", type=Path, default=Path("out/big_data"), help="where out_of_core.py has worked")
    parser.add_argument("--timed", type=int, default=320_000, help="samples for the throughput")
    given = parser.parse_args()
    gl.set_config(device="cpu")
    compare(given.folder.resolve(), given.samples, given.timed, given.landmarks, given.seed)
