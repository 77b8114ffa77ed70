"""Where the engine computes, and how exactly: as the configuration says, and as far as this machine can."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from functools import cache
from threading import Lock
from typing import Any

import torch

from gramless.support.config import get_config
from gramless.views import Views

_matmul: Any = torch.backends.cuda.matmul
# PyTorch's setting, and its values for exact products and for tf32. As of 2.9, reading the older one is an error once
# the newer one was used.
_NEW = hasattr(_matmul, "fp32_precision")
_SETTING, _EXACT, _SHORT = ("fp32_precision", "ieee", "tf32") if _NEW else ("allow_tf32", False, True)
_turn = Lock()


class Precision(Enum):
    """float32 everywhere, or something faster in the places where most of the time goes."""

    FLOAT32 = "float32"
    TF32 = "tf32"  # GPU: matrix products with 10-bit mantissas
    BF16 = "bf16"  # GPU: matrix products with 7-bit mantissas
    CODES = "codes"  # CPU: sums of minima on 8-bit codes of the features

    @classmethod
    def of(cls, name: str, device: torch.device) -> Precision:
        """The precision by its name; float32, and a warning, where the device does not have it.

        What may be given up for speed is a wish of the machine that a model runs on, and a model may come from another.
        """
        if name == "float64":  # of the data's type, which is not the engine's to choose
            return cls.FLOAT32
        if name not in cls._value2member_map_:
            raise ValueError(f"precision={name!r}: give one of {', '.join(repr(p.value) for p in cls)}.")
        precision = cls(name)
        offered = (cls.FLOAT32, cls.CODES) if device.type == "cpu" else (cls.FLOAT32, cls.TF32, cls.BF16)
        if precision in offered:
            return precision
        warn_once(name, device.type, " and ".join(repr(p.value) for p in offered))
        return cls.FLOAT32


@contextmanager
def products_on_gpu(precision: Precision) -> Iterator[None]:
    """Matrix products of float32 on a GPU are exact in the body, or in tf32.

    PyTorch knows one setting for the whole process: one thread at a time changes it, for as long as it takes to start
    a product, and not where it is right already.
    """
    with _turn:
        before = getattr(_matmul, _SETTING)
        wanted = _SHORT if precision is Precision.TF32 else _EXACT
        if (before == _SHORT) == (wanted == _SHORT):
            yield
            return
        setattr(_matmul, _SETTING, wanted)
        try:
            yield
        finally:
            setattr(_matmul, _SETTING, before)


@cache
def warn_once(name: str, device: str, offered: str) -> None:
    warnings.warn(
        f"precision={name!r} does not exist on {device}, where there is {offered}: float32 is used.", stacklevel=5
    )


def choose_device(X: Views | None = None) -> torch.device:
    """Where to compute: as told, or where the caller's tensors are, or on the GPU if there is one."""
    device = get_config()["device"]
    if device == "auto":
        if X is not None and X.torch_device is not None:
            return X.torch_device
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found, n_gpus = torch.device(device), torch.cuda.device_count()
    if found.type == "cuda" and (found.index or 0) >= n_gpus:
        raise ValueError(
            f"device={device!r}, but PyTorch finds {n_gpus or 'no'} CUDA device{'s' if n_gpus > 1 else ''} here. Give "
            "'cpu', or 'auto' for a GPU where there is one."
        )
    return found


def choose_precision(device: torch.device) -> Precision:
    """As wished, where the device has it."""
    return Precision.of(get_config()["precision"], device)


def settle(device: torch.device) -> None:
    """What was made for many uses is there, whichever stream uses it next."""
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()
