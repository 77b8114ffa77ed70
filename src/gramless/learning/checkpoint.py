"""The state of an interrupted learning run on disk: safetensors and JSON, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from gramless.atomic import write_atomically
from gramless.errors import FileFormatError


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


GROUPS = ("logits", "first_moments", "second_moments", "best_logits")


def fingerprint(settings: object, tensors: Iterable[Tensor]) -> str:
    """A hash of all that a run depends on, so that a checkpoint is continued by the run that made it and no other."""
    digest = hashlib.sha256(repr(settings).encode())
    for tensor in tensors:
        array = np.ascontiguousarray(tensor.detach().cpu().numpy())
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def save_state(state: TrainingState, path: str | os.PathLike, run: str) -> None:
    tensors = {f"{group}{i}": t.contiguous() for group in GROUPS for i, t in enumerate(getattr(state, group))}
    tensors = {name: tensor.cpu().clone() for name, tensor in tensors.items()}
    if state.alpha is not None:
        tensors["alpha"] = state.alpha.cpu().contiguous()
    curve = json.dumps([asdict(point) for point in state.curve])
    metadata = {"format": "gramless-checkpoint", "run": run, "step": str(state.step), "curve": curve}
    content = to_bytes(tensors, metadata)
    write_atomically(path, lambda file: file.write(content))


def load_state(path: str | os.PathLike, run: str) -> TrainingState | None:
    """The saved state, or None where nothing was saved; an error if the file is another run's or no checkpoint."""
    if not os.path.exists(path):
        return None
    try:
        tensors = load_file(path)
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
    except SafetensorError as error:
        raise FileFormatError(f"{os.fspath(path)!r} is no checkpoint ({error}). Remove it to start afresh.") from error
    if metadata.get("format") != "gramless-checkpoint" or metadata.get("run") != run:
        raise FileFormatError(
            f"{os.fspath(path)!r} is the checkpoint of another run: data, labels or settings differ. "
            "Give another path, or remove it to start afresh."
        )
    n_layers = sum(name.startswith("logits") for name in tensors)
    groups = {group: [tensors[f"{group}{i}"] for i in range(n_layers)] for group in GROUPS}
    curve = [CurvePoint(**point) for point in json.loads(metadata["curve"])]
    return TrainingState(**groups, step=int(metadata["step"]), alpha=tensors.get("alpha"), curve=curve)
