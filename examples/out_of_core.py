"""Fit on more samples than memory holds, and write their vectors into a file; a stopped run continues."""

import tempfile
from pathlib import Path

import numpy as np

import gramless as gl

N = 2000  # as many as you have


def make_files(folder: Path) -> dict[str, Path]:
    """Two descriptions of the samples and their classes, as you would find them on disk."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    arrays = {name: (y[:, None] + rng.standard_normal((N, 10))).astype(np.float32) for name in ("colours", "words")}
    for name, array in (arrays | {"classes": y}).items():
        np.save(folder / f"{name}.npy", array)
    return {name: folder / f"{name}.npy" for name in (*arrays, "classes")}


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    files = make_files(folder)
    views = {view: np.load(files[view], mmap_mode="r") for view in ("colours", "words")}
    samples = gl.in_blocks(views, np.load(files["classes"], mmap_mode="r"), rows=500)
    classifier = gl.DeepMapClassifier(n_landmarks=50, scratch=folder, random_state=0).fit(samples)
    written = classifier.map_network_.transform(samples).write(folder / "vectors.npy")
    vectors = np.load(written, mmap_mode="r")
    print(f"{vectors.shape[0]} vectors of {vectors.shape[1]} numbers in {written.name}")
    print(f"{np.mean(np.asarray(classifier.predict(samples)) == np.load(files['classes'])):.1%} right")
