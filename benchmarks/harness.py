"""What every benchmark shares: fair timing of rivals in one run, a table, and a JSON file that says where it was."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from rich.console import Console
from rich.table import Table

import gramless
from gramless.atomic import write_atomically

HERE = Path(__file__).parent
RESULTS = HERE.parent / "out" / "benchmarks"


def time_rivals(rivals: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median seconds of each rival; they take turns, so that a noisy machine is noisy to all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for rival in rivals.values():
        rival()  # warm up
    for _ in range(repeats):
        for name, rival in rivals.items():
            started = time.perf_counter()
            rival()
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def machine() -> dict[str, Any]:
    """Where and with what the figures were measured."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "commit": commit or None,
        "gramless": gramless.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "torch": torch.__version__,
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
    }


def report(name: str, title: str, columns: list[str], rows: list[list[str]], figures: Mapping[str, Any]) -> None:
    """Print the table and write out/benchmarks/NAME.json."""
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"benchmark": name, "machine": machine(), **figures}, indent=1)
    write_atomically(RESULTS / f"{name}.json", lambda file: file.write(text.encode()))
