"""Gramless: deep kernels without the Gram matrix."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gramless.errors import (
    ClippedSpectrumWarning,
    DataError,
    FileFormatError,
    GramlessError,
    MemoryBudgetError,
)
from gramless.support.threads import survive_forks
from gramless.version import __version__

if TYPE_CHECKING:
    from gramless.blocks import in_blocks, write_partitions
    from gramless.deep_kernel import DeepKernel
    from gramless.estimators import (
        DeepKernelClassifier,
        DeepKernelNetwork,
        DeepKernelRegressor,
        DeepMapClassifier,
        DeepMapNetwork,
        DeepMapRegressor,
        permutation_importances,
    )
    from gramless.learning import LeaveOneOut, SemiSupervised, Supervised
    from gramless.metrics import relative_error, sampled_relative_error
    from gramless.storage import load, save
    from gramless.storage.onnx import export_onnx
    from gramless.support.config import config_context, get_config, set_config
    from gramless.views import Views

survive_forks()  # here, and not where threads are first used: whoever imports any part of the package imports this

__all__ = [
    "ClippedSpectrumWarning",
    "DataError",
    "DeepKernel",
    "DeepKernelClassifier",
    "DeepKernelNetwork",
    "DeepKernelRegressor",
    "DeepMapClassifier",
    "DeepMapNetwork",
    "DeepMapRegressor",
    "FileFormatError",
    "GramlessError",
    "LeaveOneOut",
    "MemoryBudgetError",
    "SemiSupervised",
    "Supervised",
    "Views",
    "__version__",
    "config_context",
    "export_onnx",
    "get_config",
    "in_blocks",
    "load",
    "permutation_importances",
    "relative_error",
    "sampled_relative_error",
    "save",
    "set_config",
    "write_partitions",
]

_ROOMS = ("blocks", "engine", "estimators", "heads", "kernels", "learning", "maps", "metrics", "network", "storage")
"""Packages that are there as attributes, without being imported by name."""

_HOMES = {
    "blocks": ("in_blocks", "write_partitions"),
    "deep_kernel": ("DeepKernel",),
    "estimators": (
        *("DeepKernelClassifier", "DeepKernelNetwork", "DeepKernelRegressor"),
        *("DeepMapClassifier", "DeepMapNetwork", "DeepMapRegressor", "permutation_importances"),
    ),
    "learning": ("LeaveOneOut", "SemiSupervised", "Supervised"),
    "metrics": ("relative_error", "sampled_relative_error"),
    "storage": ("load", "save"),
    "storage.onnx": ("export_onnx",),
    "support.config": ("config_context", "get_config", "set_config"),
    "views": ("Views",),
}
"""Where names come from: each is imported when it is first used, since PyTorch, Numba and scikit-learn take seconds."""


if not TYPE_CHECKING:  # or type checkers would take every name for one that is there

    def __getattr__(name: str) -> Any:
        if name in _ROOMS:
            return importlib.import_module(f"gramless.{name}")
        for home, names in _HOMES.items():
            if name in names:
                globals()[name] = getattr(importlib.import_module(f"gramless.{home}"), name)
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
