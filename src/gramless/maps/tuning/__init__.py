"""Fine-tuning a collapsed map so that it stays true away from its landmarks: they move. And the paper's Algorithm 1."""

from collections.abc import Callable

from gramless.maps.tuning.algorithm1 import tune_algorithm1
from gramless.maps.tuning.held_out import TuningResult, error_gradient, held_out_error
from gramless.maps.tuning.landmark_descent import move_landmarks
from gramless.maps.tuning.representer import RepresenterMap
from gramless.maps.tuning.supervised_finish import finish_with_labels, ranking

TUNERS: dict[str, Callable[..., TuningResult]] = {"landmarks": move_landmarks, "algorithm1": tune_algorithm1}
"""Ways of tuning by name: functions of a CollapsedMap, Views and a torch.Generator."""

__all__ = [
    "TUNERS",
    "RepresenterMap",
    "error_gradient",
    "finish_with_labels",
    "held_out_error",
    "move_landmarks",
    "ranking",
    "tune_algorithm1",
]
