"""What the machine should do: where to compute, within what memory, how exactly. Settings of a process, not of a model.

As scikit-learn's: `set_config` is for the whole process, `config_context` for a block of code in the thread that runs
it. Models do not remember them, and their files do not hold them. Work that the package sends to a Dask cluster takes
the settings along; processes that others start (joblib's, with n_jobs) begin with the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypedDict, TypeVar, Unpack

import torch

from gramless.support.budget import resolve_budget
from gramless.support.checks import DEVICE, Constraints, StrOptions, check_arguments, whole

PRECISIONS = ("float32", "float64", "codes", "tf32", "bf16")
CONSTRAINTS: Constraints = {
    "device": [DEVICE],
    "memory_budget": [whole(1), str, None],
    "precision": [StrOptions(set(PRECISIONS))],
}

Result = TypeVar("Result")


class Settings(TypedDict, total=False):
    """Some of the settings."""

    device: str
    memory_budget: int | str | None
    precision: str


_of_process = Settings(device="auto", memory_budget=None, precision="float32")
_of_context: ContextVar[Settings | None] = ContextVar("gramless_config", default=None)


def get_config() -> Settings:
    """All settings that hold here: device, memory_budget, precision."""
    return _of_process | (_of_context.get() or {})


def set_config(**settings: Unpack[Settings]) -> None:
    """Set some of the settings for the whole process, all of its threads included.

    device : "auto", "cpu", "cuda" or "cuda:N"; "auto" is where the caller's tensors are, or a GPU if there is one
    memory_budget : bytes, or a text such as "256MiB", that may be used at once; None is a quarter of what is free
    precision : "float32", "codes" (CPU), "tf32", "bf16" (GPU): what the engine may give up for speed; "float64", with
        which classifiers do not round training data of float64 or whole numbers. Otherwise they do where no column
        loses more than 2e-5 of its range: most of the engine is for float32. "codes" compares
        histograms by 8-bit codes, "tf32" and "bf16" multiply matrices with shorter mantissas; docs/engine.md has the
        measured errors. A device that lacks it uses float32, and says so once.

    Where a `config_context` says otherwise, that holds.
    """
    global _of_process
    _of_process = _of_process | checked("set_config", settings)


@contextmanager
def config_context(**settings: Unpack[Settings]) -> Iterator[None]:
    """Some of the settings, for the body and this thread alone; see `set_config` for what there is."""
    token = _of_context.set((_of_context.get() or {}) | checked("config_context", settings))
    try:
        yield
    finally:
        _of_context.reset(token)


def checked(function: str, settings: Settings) -> Settings:
    """Refuse settings that do not exist or cannot be."""
    unknown = sorted(settings.keys() - CONSTRAINTS.keys())
    if unknown:
        raise TypeError(f"{function}: there is no setting {unknown[0]!r}; there are {', '.join(CONSTRAINTS)}.")
    check_arguments(function, {name: CONSTRAINTS[name] for name in settings}, **settings)
    if "memory_budget" in settings:
        resolve_budget(settings["memory_budget"])  # refuses a text that is no size
    return settings


def computes_on_gpu() -> bool:
    """Whether samples in host memory go to a GPU."""
    device = get_config()["device"]
    return torch.cuda.is_available() if device == "auto" else device.startswith("cuda")


def current_budget() -> int:
    """Bytes that may be used at once."""
    return resolve_budget(get_config()["memory_budget"])


def with_config(function: Callable[..., Result]) -> Callable[..., Result]:
    """The function with the settings of here, wherever it is called; picklable if the function is."""
    return partial(_called, get_config(), function)


def _called(settings: Settings, function: Callable[..., Result], *arguments: Any) -> Result:
    with config_context(**settings):
        return function(*arguments)
