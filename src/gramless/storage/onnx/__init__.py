"""Out of Python: a fitted map or classifier as an ONNX file of standard operators; onnx is imported when needed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gramless.errors import DataError
from gramless.support.atomic import write_atomically
from gramless.support.packages import needed

ROWS_AT_ONCE = 16  # the hidden values of so many samples, n_units n_landmarks each, about fill a processor's cache


def export_onnx(model: Any, path: str | os.PathLike[str], *, rows_at_once: int = ROWS_AT_ONCE) -> None:
    """Write a fitted model as an ONNX file that runs without this package, for example in onnxruntime.

    Parameters
    ----------
    model : DeepMapNetwork, DeepMapClassifier, DeepMapRegressor or Annotator
        A network gives `vectors` (n, n_components). A classifier gives `scores`, as decision_function does,
        `probabilities`, as predict_proba does, and what predict answers: `classes` (n,), or `labels` (n, n_labels).
        A regressor gives `predictions` (n, n_targets), and with kernels of distances, whose values k(x, x) are known,
        `std`. An annotator is exported as its classifier, on the features of pictures.
    path
        The file is written whole or not at all; the same model gives the same bytes.
    rows_at_once : int
        Samples of a batch that are in work together. The file takes batches of any size; more rows at once need
        more memory, fewer lose time.

    The inputs are the views, float32 (n, width), under their names. Only operators of the ONNX standard are used. The
    file computes in the type of the map, float32 or float64, whatever `precision` the engine was allowed.
    """
    if rows_at_once < 1:
        raise ValueError(f"rows_at_once={rows_at_once}: give 1 or more.")
    if not Path(path).parent.is_dir():
        raise DataError(f"there is no folder {Path(path).parent}. Make it, or check the path.")
    needed("onnx")
    from gramless.storage.onnx.model import model_bytes

    content = model_bytes(model, rows_at_once)
    write_atomically(path, lambda file: file.write(content))


__all__ = ["export_onnx"]
