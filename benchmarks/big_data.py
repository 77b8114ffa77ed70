"""Made-up samples on disk, as many as wanted: four views of 250 columns, and one of four classes each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gramless as gl

N_VIEWS, WIDTH, N_CLASSES = 4, 250, 4
KERNELS = ("linear", "poly2", "gaussian", "intersection")
ROWS = 8_000  # of a block: 32 MB
NOISE = 10.0  # of a feature, beside a difference of classes of about one


def view_file(folder: Path, view: int) -> Path:
    return folder / f"view{view}.npy"


def make(folder: Path, n_samples: int, seed: int) -> None:
    """Non-negative features whose classes overlap. Of a seed, fewer samples are the first of more.

    Where there are enough already they are used again; else they and all scores of them are replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / f"samples-{seed}"
    if done.exists() and int(done.read_text()) >= n_samples:
        return
    for outdated in (*folder.glob("samples-*"), *folder.glob("scores*.npy")):
        outdated.unlink()
    shape = (n_samples, WIDTH)
    views = [
        np.lib.format.open_memmap(view_file(folder, v), mode="w+", dtype=np.float32, shape=shape)
        for v in range(N_VIEWS)
    ]
    labels = np.lib.format.open_memmap(folder / "labels.npy", mode="w+", dtype=np.int8, shape=(n_samples,))
    prototypes = np.random.default_rng(seed).random((N_VIEWS, N_CLASSES, WIDTH), dtype=np.float32)
    for start in range(0, n_samples, ROWS):
        rows = slice(start, min(start + ROWS, n_samples))
        n_rows = rows.stop - rows.start
        rng = np.random.default_rng([seed, start])
        labels[rows] = rng.integers(0, N_CLASSES, ROWS)[:n_rows]
        for view, prototype in zip(views, prototypes, strict=True):
            view[rows] = prototype[labels[rows]] + NOISE * rng.random((ROWS, WIDTH), np.float32)[:n_rows]
    for array in (*views, labels):
        array.flush()
    done.write_text(f"{n_samples}")


def opened(folder: Path, n_samples: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Memory maps of the first samples, by view, and of their labels."""
    views = {f"view{v}": np.load(view_file(folder, v), mmap_mode="r")[:n_samples] for v in range(N_VIEWS)}
    return views, np.load(folder / "labels.npy", mmap_mode="r")[:n_samples]


def classifier(n_landmarks: int, seed: int, scratch: Path | None = None) -> gl.DeepMapClassifier:
    """16 kernels, as many hidden units as in the paper; nothing is learned but heads: data is what is large here."""
    network = gl.DeepKernelNetwork(KERNELS, (80,), learning=None)
    return gl.DeepMapClassifier(network, n_landmarks, tuning=None, scratch=scratch, random_state=seed)
