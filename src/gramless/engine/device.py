"""Where the engine computes, and how exactly: as the configuration says, and as far as this machine can."""

from __future__ import annotations

import torch

from gramless.engine.precision import Precision
from gramless.support.config import get_config
from gramless.views import Views


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
