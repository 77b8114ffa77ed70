"""Counted: what damaged model files do. None may crash, take much memory, or load as another model unnoticed.

A small model of every kind is saved, its file is damaged in many ways, loaded, and asked where it loads. A file that
was damaged by accident must be refused with FileFormatError. A file that was changed on purpose has the right digest,
and may be a valid model with other numbers; it must be refused or be of use: no crash, no other exception, and at no
time more memory than TIMES its size and ROOM. Batches run in processes of their own, so that a crash is counted.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from harness import parser_of, report
from hostile_damage import ACCIDENTS, OF_ARRAYS, OF_TREES, change_header, crafted
from hostile_models import FUNCTIONS, answers, models

import gramless as gl
from gramless.storage import FORM, FORM_VERSION
from gramless.support.array_file import read_array_file

TIMES = 10  # the size of the file in memory, while it is loaded,
ROOM = 8 << 20  # and so many bytes: what Python's and PyTorch's allocators take at once
MOST_MEMORY = 1 << 30  # address space of a process beyond what it has; more is a crash
IN_MEMORY = Path("/dev/shm")  # where writing a file to disk, as `save` does, costs nothing
SECONDS = 60  # that one file may take
HEADER = "the file's own header"
REFUSED, SAME, OTHER = "refused", "same answers", "other answers"
WANTED = {False: (REFUSED, SAME), True: (REFUSED, SAME, OTHER)}


class Trial(NamedTuple):
    number: int
    kind: int
    damage: str
    on_purpose: bool


def damaged_model_files(count: int, seed: int) -> list[tuple[Trial, str]]:
    """Damage so many files, and what became of each: one of WANTED, or what went wrong."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="gramless-hostile-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as name:
        folder = Path(name)
        saved = list(models(seed).values())
        for number, model in enumerate(saved):
            gl.save(model, folder / f"model{number}")
        outcomes: list[str] = []
        while len(outcomes) < count:
            outcomes += _batch(len(outcomes), count, seed, folder)
        return list(zip(_trials(count, seed, len(saved)), outcomes, strict=True))


def rows(count: int, seed: int) -> list[dict[str, Any]]:
    """One row per kind of damage."""
    counted: dict[tuple[bool, str], Counter[str]] = {}
    for trial, outcome in damaged_model_files(count, seed):
        counted.setdefault((trial.on_purpose, trial.damage), Counter())[outcome] += 1
    return [_row(on_purpose, damage, found) for (on_purpose, damage), found in sorted(counted.items())]


def _row(on_purpose: bool, damage: str, found: Counter[str]) -> dict[str, Any]:
    wanted = sum(found[outcome] for outcome in WANTED[on_purpose])
    return {
        "what": f"model files, {'on purpose' if on_purpose else 'by accident'}: {damage}",
        "tried": found.total(),
        "as wanted": wanted,
        "not as wanted": found.total() - wanted,
        "outcomes": dict(found),
    }


def _trials(count: int, seed: int, n_kinds: int) -> Iterator[Trial]:
    rng = np.random.default_rng(seed)
    purposes = [*OF_TREES, *OF_ARRAYS, HEADER]
    for number in range(count):
        on_purpose = number % 2 == 1
        damages = purposes if on_purpose else list(ACCIDENTS)
        yield Trial(number, number // 2 % n_kinds, damages[rng.integers(len(damages))], on_purpose)


def _batch(first: int, count: int, seed: int, folder: Path) -> list[str]:
    """Outcomes of trials from the first on, up to one that ends the process."""
    arguments = [str(argument) for argument in ("--count", count, "--seed", seed, "--work", folder, "--first", first)]
    with subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        outcomes = [json.loads(line) for line in child.stdout]
    if first + len(outcomes) < count:
        outcomes.append(f"crash ({child.returncode})")
    return outcomes


def _work(first: int, count: int, seed: int, folder: Path) -> None:
    """Do trials from the first on, and say on a line of output what became of each."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    paths = [folder / f"model{number}" for number in range(len(list(folder.glob("model*"))))]
    contents = [path.read_bytes() for path in paths]
    files = [read_array_file(path, FORM, FORM_VERSION) for path in paths]
    expected = [answers(gl.load(path, FUNCTIONS)) for path in paths]
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY, used + MOST_MEMORY))
    path = folder / "damaged"
    for trial in islice(_trials(count, seed, len(paths)), first, None):
        signal.alarm(SECONDS)
        rng = np.random.default_rng([seed, trial.number])
        content, file = contents[trial.kind], files[trial.kind]
        for _ in range(20):  # damage that changes nothing is none
            if trial.damage in ACCIDENTS:
                path.write_bytes(ACCIDENTS[trial.damage](content, rng))
            elif trial.damage == HEADER:
                path.write_bytes(change_header(content, rng))
            else:
                how = OF_TREES.get(trial.damage) or (OF_ARRAYS[trial.damage] if file.arrays else OF_TREES["numbers"])
                crafted(file, how, path, rng)
            if path.read_bytes() != content:
                break
        print(json.dumps(_outcome(path, expected[trial.kind])), flush=True)


def _outcome(path: Path, expected: list[np.ndarray] | None) -> str:
    before = _resident("VmRSS", fresh=True)
    try:
        model = gl.load(path, FUNCTIONS)
    except gl.FileFormatError:
        model = None
    except Exception as error:
        return f"at load: {_described(error)}"
    if _resident("VmHWM") - before > TIMES * path.stat().st_size + ROOM:
        return f"memory: {(_resident('VmHWM') - before) >> 20} MiB"
    if model is None:
        return REFUSED
    try:
        found = answers(model)
    except (gl.MemoryBudgetError, gl.DataError) as error:
        if isinstance(error, gl.DataError) and "overflows" not in str(error):
            return f"in use: {_described(error)}"
        return OTHER  # the budget is the file's own; numbers that are too large together are said to be
    except Exception as error:
        return f"in use: {_described(error)}"
    if found is None or expected is None:
        return SAME if found is expected else OTHER
    same = len(found) == len(expected) and all(map(_equal, found, expected))
    return SAME if same else OTHER


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _resident(field: str, *, fresh: bool = False) -> int:
    """Bytes in memory, now (VmRSS) or at most since `fresh` (VmHWM)."""
    if fresh:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{field}:")[2].split()[0]) << 10


def _described(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(place.filename).name}:{place.name}: {str(error)[:120]}"


def main() -> None:
    parser = parser_of(__doc__, count=24_000, seed=0)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work is not None:
        _work(chosen.first, chosen.count, chosen.seed, chosen.work)
        return
    found = rows(chosen.count, chosen.seed)
    columns = ["what", "tried", "as wanted", "not as wanted"]
    lines = [[str(row[column]) for column in columns] for row in found]
    total = {column: sum(row[column] for row in found) for column in columns[1:]}
    lines.append(["all", *map(str, total.values())])
    report("hostile_files", "Damaged model files", columns, lines, {"seed": chosen.seed, "rows": found, "all": total})
    bad = Counter[str]()
    for row in found:
        on_purpose = "on purpose" in row["what"]
        bad.update({k: n for k, n in row["outcomes"].items() if k not in WANTED[on_purpose]})
    for outcome, n in bad.most_common():
        print(n, outcome)


if __name__ == "__main__":
    main()
