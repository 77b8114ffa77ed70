"""The state of an interrupted learning run on disk: safetensors and JSON, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
from torch import Tensor

from gramless.errors import FileFormatError
from gramless.support.array_file import ArrayFile, read_array_file, read_json, write_array_file
from gramless.support.checks import check_array


@dataclass(frozen=True)
class CurvePoint:
    """One point of the learning curve."""

    step: int
    objective: float
    score: float | None  # on the validation part, where there is one


@dataclass(eq=False)
class TrainingState:
    """Everything that the next step depends on."""

    logits: list[Tensor]
    first_moments: list[Tensor]
    second_moments: list[Tensor]
    step: int = 0
    alpha: Tensor | None = None
    best_logits: list[Tensor] = field(default_factory=list)
    curve: list[CurvePoint] = field(default_factory=list)

    @classmethod
    def beginning(cls, logits: Sequence[Tensor]) -> TrainingState:
        zeros = [torch.zeros_like(theta) for theta in logits]
        return cls(list(logits), zeros, [z.clone() for z in zeros], best_logits=list(logits))


FORM, FORM_VERSION = "gramless-checkpoint", 2
GROUPS = ("logits", "first_moments", "second_moments", "best_logits")


def fingerprint(settings: object, tensors: Iterable[Tensor]) -> str:
    """A hash of all that a run depends on, so that a checkpoint is continued by the run that made it and no other."""
    digest = hashlib.sha256(repr(settings).encode())
    for tensor in tensors:
        array = np.ascontiguousarray(tensor.detach().cpu().numpy())
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def save_state(state: TrainingState, path: str | os.PathLike[str], run: str) -> None:
    tensors = {f"{group}{i}": t for group in GROUPS for i, t in enumerate(getattr(state, group))}
    if state.alpha is not None:
        tensors["alpha"] = state.alpha
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
    curve = json.dumps([asdict(point) for point in state.curve])
    write_array_file(path, FORM, FORM_VERSION, arrays, {"run": run, "step": str(state.step), "curve": curve})


def load_state(path: str | os.PathLike[str], run: str) -> TrainingState | None:
    """The saved state, or None where nothing was saved; an error if the file is another run's, damaged, or none."""
    if not os.path.exists(path):
        return None
    try:
        file = read_array_file(path, FORM, FORM_VERSION)
    except FileFormatError as error:
        raise FileFormatError(f"{error} Remove it to start afresh.") from error
    if file.texts.get("run") != run:
        raise FileFormatError(
            f"{os.fspath(path)!r} is the checkpoint of another run: data, labels or settings differ. "
            "Give another path, or remove it to start afresh."
        )
    try:
        return _state(file)
    except (KeyError, TypeError, ValueError) as error:  # made by somebody else: of damage the digest knows
        raise FileFormatError(f"{os.fspath(path)!r} is no checkpoint ({error}). Remove it to start afresh.") from error


def _state(file: ArrayFile) -> TrainingState:
    for name, array in file.arrays.items():
        check_array(name, array, [None] * array.ndim)
    tensors = {name: torch.from_numpy(array) for name, array in file.arrays.items()}
    n_layers = sum(name.startswith("logits") for name in tensors)
    groups = {group: [tensors[f"{group}{i}"] for i in range(n_layers)] for group in GROUPS}
    curve = [CurvePoint(**point) for point in read_json(file.texts["curve"])]
    return TrainingState(**groups, step=int(file.texts["step"]), alpha=tensors.get("alpha"), curve=curve)
