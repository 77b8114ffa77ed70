"""What the demo measures: plain values that can be written down before all are there, and tables for the terminal."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

import numpy as np
import sklearn
import torch
from rich.table import Table

from gramless.support.pages import plain_table
from gramless.version import __version__


class Part(Enum):
    """The three parts of the demo, in their order."""

    ACCURACY = "accuracies on held-out digits"
    ERROR = "relative error of the map"
    TIME = "time against number of samples"


@dataclass(frozen=True)
class DemoSizes:
    """How much the demo does; smaller numbers make it faster."""

    n_digits: int = 1797  # all of them
    n_labelled: int = 300
    n_unlabelled: int = 300
    n_splits: int = 3
    n_landmarks: int = 500
    landmark_counts: tuple[int, ...] = (100, 300, 900)
    timed_samples: tuple[int, ...] = (400, 800, 1600, 3200)
    n_repeats: int = 3


@dataclass(frozen=True)
class Accuracy:
    """One method on the held-out digits of one split, with the setting that it chose without looking at them."""

    split: int
    method: str
    setting: str
    n_tested: int
    percent: float


@dataclass(frozen=True)
class Example:
    """A held-out digit: its row in the data set, what it is, and what the DMN takes it for."""

    row: int
    truth: int
    predicted: int


@dataclass(frozen=True)
class Approximation:
    """Relative error of the DMN against its DKN, in percent."""

    n_landmarks: int
    percent_all: float
    percent_outside: float  # over the digits that are not landmarks
    n_outside: int


@dataclass(frozen=True)
class Timing:
    """Median seconds for all kernel values of n samples (DKN), and for the vectors of the same samples (DMN)."""

    n_samples: int
    n_runs: int
    kernel_seconds: float
    map_seconds: float

    @property
    def ratio(self) -> float:
        return self.kernel_seconds / self.map_seconds


@dataclass(frozen=True)
class Growth:
    """Exponents b of seconds ~ n^b: 2 is quadratic, 1 is linear."""

    kernel: float
    map: float


@dataclass(frozen=True)
class Summary:
    """One method over all splits."""

    method: str
    mean_percent: float
    spread_percent: float  # standard deviation over the splits
    settings: tuple[str, ...]


@dataclass(frozen=True)
class DemoResult:
    """All numbers of one run, or those measured so far."""

    seed: int
    sizes: DemoSizes
    environment: dict[str, Any]
    accuracies: tuple[Accuracy, ...] = ()
    examples: tuple[Example, ...] = ()
    approximations: tuple[Approximation, ...] = ()
    timings: tuple[Timing, ...] = ()
    seconds: float = 0.0
    complete: bool = False

    def to_json(self) -> str:
        """Everything, with what is needed to judge and repeat it."""
        derived = {
            "accuracy_summary": [asdict(summary) for summary in summarise(self.accuracies)],
            "growth": asdict(growth(self.timings)) if len(self.timings) > 1 else None,
        }
        return json.dumps(asdict(self) | derived, indent=2) + "\n"


def summarise(accuracies: Sequence[Accuracy]) -> list[Summary]:
    """Mean and spread of every method, in the order in which they were measured."""
    summaries = []
    for method in dict.fromkeys(accuracy.method for accuracy in accuracies):
        of_method = [accuracy for accuracy in accuracies if accuracy.method == method]
        percents = [accuracy.percent for accuracy in of_method]
        spread = float(np.std(percents, ddof=1)) if len(percents) > 1 else 0.0
        settings = tuple(accuracy.setting for accuracy in of_method)
        summaries.append(Summary(method, float(np.mean(percents)), spread, settings))
    return summaries


def growth(timings: Sequence[Timing]) -> Growth:
    """Slopes of the least-squares lines through log seconds over log samples."""
    log_samples = np.log([timing.n_samples for timing in timings])
    log_kernel = np.log([timing.kernel_seconds for timing in timings])
    log_map = np.log([timing.map_seconds for timing in timings])
    return Growth(float(np.polyfit(log_samples, log_kernel, 1)[0]), float(np.polyfit(log_samples, log_map, 1)[0]))


def environment() -> dict[str, Any]:
    """The versions and the machine behind the numbers."""
    return {
        "gramless": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "device": "cuda" if torch.cuda.is_available() else "cpu",
    }


def accuracy_table(result: DemoResult) -> Table:
    sizes = result.sizes
    table = plain_table(
        f"Accuracy on {result.accuracies[0].n_tested:,} held-out digits",
        f"Mean and standard deviation over {sizes.n_splits} splits. {sizes.n_labelled} digits have labels; settings "
        f"are cross-validated on them. {sizes.n_unlabelled} digits without labels help with kernel widths and the "
        f"{sizes.n_landmarks} landmarks.",
    )
    table.add_column("method")
    table.add_column("accuracy, %", justify="right")
    table.add_column("chosen on labelled digits (splits)")
    for summary in summarise(result.accuracies):
        chosen = "; ".join(f"{setting} ({count})" for setting, count in Counter(summary.settings).items())
        table.add_row(summary.method, f"{summary.mean_percent:.1f} ± {summary.spread_percent:.1f}", chosen)
    return table


def error_table(result: DemoResult) -> Table:
    table = plain_table(
        "Relative error of the map (DMN) against its kernel (DKN)",
        "Mean over all pairs of |a - b| / (|a| + |b|), a the inner product of two vectors, b the kernel's value. "
        "Between a landmark and any digit the map is exact but for rounding.",
    )
    for heading in ("landmarks", "all digits, %", "digits outside landmarks, %"):
        table.add_column(heading, justify="right")
    for error in result.approximations:
        table.add_row(
            f"{error.n_landmarks:,}", f"{error.percent_all:.3f}", f"{error.percent_outside:.3f} ({error.n_outside:,})"
        )
    return table


def time_table(result: DemoResult) -> Table:
    slopes = growth(result.timings)
    table = plain_table(
        "Time against number of samples n",
        f"Time grows as n^{slopes.kernel:.2f} (DKN) and n^{slopes.map:.2f} (DMN, {result.sizes.n_landmarks} "
        "landmarks). Medians; samples are digits drawn with replacement. A linear classifier needs the vectors alone, "
        "never their n x n inner products.",
    )
    for heading in ("n", "runs", "DKN: n x n kernel values, s", "DMN: n vectors, s", "DKN / DMN"):
        table.add_column(heading, justify="right")
    for timing in result.timings:
        table.add_row(
            f"{timing.n_samples:,}",
            str(timing.n_runs),
            f"{timing.kernel_seconds:.3f}",
            f"{timing.map_seconds:.3f}",
            f"{timing.ratio:.1f}",
        )
    return table


TABLES = {Part.ACCURACY: accuracy_table, Part.ERROR: error_table, Part.TIME: time_table}
"""Of each part of the demo, once it is measured."""
