"""The numbers of the paper's tables, from paper.json: Jiu and Sahbi, section 5."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

DataSet = Literal["corel5k", "imageclef"]

MEASURES: dict[DataSet, tuple[str, ...]] = {"corel5k": ("R", "P", "N+", "F1"), "imageclef": ("MF-S", "MF-C", "MAP")}
"""What the paper judges keywords by; F1 follows from R and P."""


@dataclass(frozen=True)
class PaperRow:
    """One row of a table: a model, and its measures (percent, but for N+)."""

    model: str
    n_landmarks: int | None
    n_tuning: int | None
    measures: Mapping[str, float]


@dataclass(frozen=True)
class ComparedRow:
    """One row of the comparison: a method, whether its features are learned, whether it uses context, its measures."""

    model: str
    learned_features: bool
    context: bool
    measures: Mapping[str, float]


def discrimination(data_set: DataSet) -> tuple[PaperRow, ...]:
    """The table of discrimination power, in the paper's order."""
    rows = _numbers()[data_set]["discrimination"]
    return tuple(PaperRow(row["model"], row.get("S"), row.get("S'"), _measures(row, data_set)) for row in rows)


def discrimination_row(
    data_set: DataSet, model: str, n_landmarks: int | None = None, n_tuning: int | None = None
) -> Mapping[str, float]:
    """The measures of one model; none where the paper has no such row."""
    for row in discrimination(data_set):
        if (row.model, row.n_landmarks, row.n_tuning) == (model, n_landmarks, n_tuning):
            return row.measures
    return {}


def relative_error(data_set: DataSet, n_landmarks: int, n_tuning: int | None, n_samples: int) -> float | None:
    """RE in percent over |T| samples, of the initial map (n_tuning None) or the tuned one; None where there is none."""
    table = _numbers()[data_set]["relative_error"]
    name = f"initial S={n_landmarks}" if n_tuning is None else f"tuned S={n_landmarks} S'={n_tuning}"
    if name not in table or n_samples not in table["T"]:
        return None
    return float(table[name][table["T"].index(n_samples)])


def compared() -> tuple[ComparedRow, ...]:
    """The comparison with other methods on COREL5k."""
    return tuple(
        ComparedRow(row["model"], row["learned_features"], row["context"], _measures(row, "corel5k"))
        for row in _numbers()["corel5k"]["comparison"]
    )


def field() -> tuple[PaperRow, ...]:
    """What others have reported on COREL5k."""
    rows = _numbers()["corel5k"]["field"]
    return tuple(PaperRow(row["model"], None, None, _measures(row, "corel5k")) for row in rows)


def seconds_per_picture(data_set: DataSet, n_landmarks: int | None) -> float | None:
    """Of a test picture, features not counted: by the kernel (None), or by the map of so many landmarks."""
    model = "DKN" if n_landmarks is None else f"DMN{n_landmarks}"
    return _numbers()[data_set]["seconds_per_test_image"].get(model)


def hours_at_scale(n_samples: int, n_landmarks: int | None) -> float | None:
    """Of all kernel values (None) or all vectors of so many pictures of ImageCLEF."""
    model = "DKN" if n_landmarks is None else f"DMN{n_landmarks}"
    return _at_scale(n_samples).get(f"{model}_hours")


def error_at_scale(n_samples: int, n_landmarks: int) -> float | None:
    """RE in percent over so many pictures of ImageCLEF, of the map tuned on 4,000."""
    return _at_scale(n_samples).get(f"RE{n_landmarks}")


def _at_scale(n_samples: int) -> dict[str, Any]:
    return next((row for row in _numbers()["imageclef"]["time"] if row["T"] == n_samples), {})


def _measures(row: dict[str, Any], data_set: DataSet) -> dict[str, float]:
    measures = {name: float(row[name]) for name in MEASURES[data_set] if name in row}
    if "R" in measures:
        measures["F1"] = 2.0 * measures["R"] * measures["P"] / (measures["R"] + measures["P"])
    return measures


@cache
def _numbers() -> dict[str, Any]:
    return json.loads(resources.files("reproduction").joinpath("paper.json").read_text(encoding="utf-8"))
