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
    "DeepKernel": "deep_kernel",
    "DeepKernelClassifier": "estimators",
    "DeepKernelNetwork": "estimators",
    "DeepKernelRegressor": "estimators",
    "DeepMapClassifier": "estimators",
    "DeepMapNetwork": "estimators",
    "DeepMapRegressor": "estimators",
    "LeaveOneOut": "learning",
    "SemiSupervised": "learning",
    "Supervised": "learning",
    "Views": "views",
    "config_context": "support.config",
    "export_onnx": "storage.onnx",
    "get_config": "support.config",
    "in_blocks": "blocks",
    "load": "storage",
    "permutation_importances": "estimators",
    "relative_error": "metrics",
    "sampled_relative_error": "metrics",
    "save": "storage",
    "set_config": "support.config",
    "write_partitions": "blocks",
}
"""Where each name comes from: imported when it is first used, since PyTorch, Numba and scikit-learn take seconds."""


if not TYPE_CHECKING:  # or type checkers would take every name for one that is there

    def __getattr__(name: str) -> Any:
        if name in _ROOMS:
            return importlib.import_module(f"gramless.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(importlib.import_module(f"gramless.{_HOMES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
