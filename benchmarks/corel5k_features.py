"""Features of COREL5k for the benchmarks: colour histograms, GIST and EfficientNet-Lite0.

    python benchmarks/corel5k_features.py --data DIR --features DIR

The folder of COREL5k in; VIEW.npy, float32, one row per picture (training list, then test list), and labels.npz out. A
view that is there already is left alone. Minutes on two cores.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from corel5k import VIEWS

from gramless.pictures.datasets import read_corel5k
from gramless.pictures.features import PictureFeatures
from gramless.support.atomic import write_atomically


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--features", type=Path, required=True)
    chosen = parser.parse_args()
    chosen.features.mkdir(parents=True, exist_ok=True)
    train, test = (read_corel5k(chosen.data, part) for part in ("train", "test"))
    write_atomically(
        chosen.features / "labels.npz", lambda file: np.savez_compressed(file, train=train.labels, test=test.labels)
    )
    missing = tuple(view for view in VIEWS if not (chosen.features / f"{view}.npy").exists())
    if not missing:
        return
    described = PictureFeatures(missing, words={}).describe((*train.paths, *test.paths))
    if described.views is None or described.unreadable:
        raise ValueError(f"pictures of COREL5k cannot be read: {described.unreadable[:3]}")
    for view in missing:
        rows = described.views[view]
        write_atomically(chosen.features / f"{view}.npy", lambda file, rows=rows: np.save(file, rows))


if __name__ == "__main__":
    main()
