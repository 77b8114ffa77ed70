"""Gramless: deep kernels without the Gram matrix."""

from gramless.blocks import in_blocks, write_partitions
from gramless.deep_kernel import DeepKernel
from gramless.errors import (
    ClippedSpectrumWarning,
    DataError,
    FileFormatError,
    GramlessError,
    MemoryBudgetError,
)
from gramless.estimators import (
    DeepKernelClassifier,
    DeepKernelNetwork,
    DeepKernelRegressor,
    DeepMapClassifier,
    DeepMapNetwork,
    DeepMapRegressor,
)
from gramless.learning import LeaveOneOut, SemiSupervised, Supervised
from gramless.metrics import relative_error, sampled_relative_error
from gramless.storage import load, save
from gramless.storage.onnx import export_onnx
from gramless.support.config import config_context, get_config, set_config
from gramless.support.forks import survive_forks
from gramless.version import __version__
from gramless.views import Views

survive_forks()

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
    "relative_error",
    "sampled_relative_error",
    "save",
    "set_config",
    "write_partitions",
]
