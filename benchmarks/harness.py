"""What every benchmark shares: fair timing of rivals in one run, a table, and a JSON file that says where it was."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from rich.console import Console
from rich.table import Table

import gramless
from gramless.support.atomic import write_atomically

HERE = Path(__file__).parent
RESULTS = HERE.parent / "out" / "benchmarks"
THREADS = 2
sys.path.append(str(HERE.parent))  # for the reproduction, which is no part of what is installed

Claim = dict[str, Any]
"""What is claimed, the figure measured, the figure wanted, and whether it is met."""


def parser_of(doc: str | None, **numbers: int) -> argparse.ArgumentParser:
    """A script's options: its docstring is their help, and these are whole numbers with their defaults."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, number in numbers.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=number)
    return parser


def time_rivals(
    rivals: Mapping[str, Callable[[], Any]],
    repeats: int,
    summary: Callable[[list[float]], float] = statistics.median,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median (or other) seconds of each rival; they take turns, so that a noisy machine is noisy to all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for rival in rivals.values():
        rival()  # warm up
    for _ in range(repeats):
        for name, rival in rivals.items():
            started = clock()
            rival()
            seconds[name].append(clock() - started)
    return {name: summary(taken) for name, taken in seconds.items()}


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


def run_fresh(command: Sequence[str]) -> dict[str, Any]:
    """Run a command in a process of its own; its last line of output is a JSON object."""
    done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_this_script(*arguments: str) -> dict[str, Any]:
    """Run the benchmark that was started, in a fresh process with other arguments."""
    return run_fresh([sys.executable, str(Path(sys.argv[0]).resolve()), *arguments])


def at_least(claim: str, measured: float, wanted: float) -> Claim:
    return {"claim": claim, "measured": measured, "wanted": f"at least {wanted:g}", "met": measured >= wanted}


def at_most(claim: str, measured: float, wanted: float) -> Claim:
    return {"claim": claim, "measured": measured, "wanted": f"at most {wanted:g}", "met": measured <= wanted}


def print_claims(claims: Sequence[Claim]) -> None:
    table = Table("claim", "measured", "wanted", "met")
    for c in claims:
        table.add_row(c["claim"], f"{c['measured']:.3g}", c["wanted"], "yes" if c["met"] else "NO")
    Console().print(table)


def report(
    name: str,
    title: str,
    columns: list[str],
    rows: list[list[str]],
    figures: Mapping[str, Any],
    claims: Sequence[Claim] = (),
) -> None:
    """Print the table and what it claims, and write out/benchmarks/NAME.json."""
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    if claims:
        print_claims(claims)
    RESULTS.mkdir(parents=True, exist_ok=True)
    content = {"benchmark": name, "machine": machine(), **figures, "claims": list(claims)}
    text = json.dumps(content, indent=1)
    write_atomically(RESULTS / f"{name}.json", lambda file: file.write(text.encode()))
