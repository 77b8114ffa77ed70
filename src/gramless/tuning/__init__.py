"""Fine-tuning a collapsed map on unlabelled samples, so that it stays true away from the landmarks."""

from collections.abc import Callable

from gramless.tuning.algorithm1 import tune_algorithm1
from gramless.tuning.deflation import tune_deflation
from gramless.tuning.landmark_exact import LandmarkExactMap, exact_landmarks
from gramless.tuning.projection import tune_projection
from gramless.tuning.representer_map import RepresenterMap
from gramless.tuning.result import TuningResult
from gramless.tuning.spectral import tune_filter

TUNERS: dict[str, Callable[..., TuningResult]] = {
    "default": tune_projection,
    "filter": tune_filter,
    "exact": tune_deflation,
    "algorithm1": tune_algorithm1,
}
"""Ways of tuning by name: functions of a CollapsedMap, Views and a torch.Generator."""

__all__ = [
    "TUNERS",
    "LandmarkExactMap",
    "RepresenterMap",
    "TuningResult",
    "exact_landmarks",
    "tune_algorithm1",
    "tune_deflation",
    "tune_filter",
    "tune_projection",
]
