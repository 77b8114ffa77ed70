"""Claim: whatever is killed with -9 at any moment ends, when it is called again, as if nothing had happened.

Six things that take long, on tiny data: a fit with a checkpoint, rows written in blocks, `annotate fit`, `annotate
predict`, saving over a model, `reproduce`. Each is called as a user would in a process of its own, which is killed at a
moment drawn over all that the undisturbed call takes; then it is called again, to its end. As wanted: the second call
succeeds, every file holds what it holds without the kill, and there is no file more. A kill that came too late, after
the end, is not counted and another is tried. The processes are forked from one in which everything is imported and has
run before: nothing that can be lost happens while Python starts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import statistics
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from harness import at_most, parser_of, report

import gramless as gl
from gramless.cli import app
from gramless.pictures.scenes import write_scenes
from reproduction.__main__ import app as reproduction_app

N_SAMPLES = 400
N_PICTURES = 12  # fewer than are described by several processes
TIMED = 3  # undisturbed calls, of which the median says how long one takes
REACH = 1.1  # of that time: calls are not all equally long
PATIENCE_SECONDS = 300  # after which a call counts as hanging

WHEN = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
TOO_LATE = "too late"
OUTCOMES = ("as wanted", "failed again", "different", "left behind")


@dataclass(frozen=True)
class Call:
    """What is killed: called in a folder of its own, which is a copy of a prepared one."""

    folder: Path
    run: Callable[[], None]


def samples(seed: int) -> tuple[gl.Views, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = gl.Views({name: rng.random((N_SAMPLES, 12), dtype=np.float32) for name in ("a", "b")})
    return X, (X["a"][:, :3].sum(1) + X["b"][:, 0] > 2).astype(int)


def fit_with_checkpoint(X: gl.Views, y: np.ndarray) -> None:
    learning = gl.Supervised(n_steps=12, max_samples=150, checkpoint="checkpoint")
    network = gl.DeepKernelNetwork(hidden=(4,), learning=learning)
    gl.save(gl.DeepMapClassifier(network, 20, random_state=0).fit(X, y), "model")


def write_blocks(model: gl.DeepMapNetwork, X: gl.Views, name: str) -> None:
    model.transform(gl.in_blocks({view: X[view] for view in X.names}, rows=10)).write(name)


def command(*arguments: str) -> None:
    """`gramless arguments`."""
    app(arguments, standalone_mode=False)


def reproduce(*arguments: str) -> None:
    """`python -m reproduction arguments`."""
    reproduction_app(arguments, standalone_mode=False)


def prepare(folder: Path, seed: int) -> dict[str, list[Call]]:
    """The calls of each kind, and the folders that they start from."""
    X, y = samples(seed)
    kernel = gl.DeepKernelNetwork(hidden=(4,), learning=None, random_state=0).fit(X).kernel_
    map_network = gl.DeepMapNetwork(kernel, 20, random_state=0).fit(X)
    other = gl.DeepMapNetwork(kernel, 300, random_state=0).fit(X)
    empty, saved, pictures, album, clef = (folder / name for name in ("empty", "saved", "pictures", "album", "clef"))
    for place in (empty, saved, pictures, album, clef):
        place.mkdir()
    gl.save(map_network, saved / "model")
    for place in (pictures, album):
        write_scenes(place / "scenes", N_PICTURES, seed)
    fit = ("annotate", "fit", "scenes", "--keywords", "scenes/keywords.csv", "--views", "Rgb", "-o", "model")
    run_here(album, partial(command, *fit))
    shutil.rmtree(album / "model.cache")
    write_imageclef(clef, seed)
    predict = ("annotate", "predict", "model", "scenes", "--to")
    return {
        "fit with a checkpoint": [Call(empty, partial(fit_with_checkpoint, X, y))],
        "blocks to npy, zarr, parquet": [
            Call(empty, partial(write_blocks, map_network, X, name)) for name in ("x.npy", "x.zarr", "x.parquet")
        ],
        "annotate fit": [Call(pictures, partial(command, *fit))],
        "annotate predict to csv, xmp": [
            Call(album, partial(command, *predict, *how)) for how in (("csv", "-o", "words.csv"), ("xmp",))
        ],
        "saving over a model": [Call(saved, partial(gl.save, other, "model"))],
        "reproduce imageclef": [
            Call(clef, partial(reproduce, "imageclef", "--data", "data", "--out", "out", "--quick"))
        ],
    }


def write_imageclef(folder: Path, seed: int, n: int = 24) -> None:
    """A development set in ImageCLEF's layout: two descriptors, three concepts."""
    rng = np.random.default_rng(seed)
    data = folder / "data"
    data.mkdir()
    names, concepts = [f"id{i}" for i in range(n)], ["sky", "sea", "sand"]
    labels = rng.random((n, 3)) < 0.4
    labels[np.arange(n), np.arange(n) % 3] = True
    (data / "devel_iids.txt").write_text("".join(f"{name}\n" for name in names))
    (data / "devel_concepts.txt").write_text("".join(f"{concept}\n" for concept in concepts))
    told = [[concept for concept, has in zip(concepts, row, strict=True) if has] for row in labels]
    (data / "devel_gnd.txt").write_text("".join(f"{' '.join([n, *t])}\n" for n, t in zip(names, told, strict=True)))
    for view in ("a", "b"):
        block = rng.random((n, 6)) + 2 * np.repeat(labels, 2, axis=1)
        vectors = [" ".join(["6", *(f"{i} {x:.6f}" for i, x in enumerate(row))]) for row in block]
        (data / f"webupv13_devel_visual_{view}.feat").write_text("\n".join([f"{n} 6", *vectors]) + "\n")


def run_here(folder: Path, run: Callable[[], None]) -> None:
    """In this process: what is compiled or loaded for it is there for those that are forked."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            run()
    finally:
        os.chdir(before)


def forked(folder: Path, run: Callable[[], None]) -> int:
    """The process that runs it in the folder; what it says is in the file `said` beside the folder."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.chdir(folder)
        said = os.open(folder.with_name(f"{folder.name}.said"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        run()
        status = 0
    except SystemExit as leaving:
        status = int(leaving.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def wait_for(child: int) -> int | None:
    """Its exit status, negative for a signal; None where it hangs, and is ended."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def contents(folder: Path) -> dict[str, Any]:
    """What every file holds, by its path: bytes, but of what tells the time the rest."""
    return {str(path.relative_to(folder)): held(path) if path.is_file() else None for path in sorted(folder.rglob("*"))}


def held(path: Path) -> Any:
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as database:
            return sorted(database.execute("SELECT recipe, content, numbers FROM rows"))
    if path.parent.name == "cells" and path.suffix == ".json":
        return without_times(json.loads(path.read_text()))
    if path.suffix in (".html", ".md") or path.parent.name == "figures":  # reports, which tell the time
        return None
    content = path.read_bytes()
    if path.suffix == ".xmp":  # keywords say when they were given
        content = WHEN.sub(b"", content)
    if path.name in ("model", "checkpoint") or path.suffix == ".gramless":  # a header in any order
        end = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:end])
        header["__metadata__"].pop("digest", None)  # of all bytes, which differ with the order
        return header, hashlib.sha256(content[end:]).hexdigest()
    return hashlib.sha256(content).hexdigest()


def without_times(told: Any) -> Any:
    if isinstance(told, dict):
        return {name: without_times(value) for name, value in told.items() if "seconds" not in name}
    return told


@dataclass(frozen=True)
class Rehearsed:
    """A call with what it leaves and how long it takes, undisturbed."""

    call: Call
    contents: dict[str, Any]
    seconds: float


def rehearse(call: Call, folder: Path) -> Rehearsed:
    run_here(fresh(call, folder), call.run)
    taken, left = [], []
    for _ in range(TIMED):
        place = fresh(call, folder)
        started = time.perf_counter()
        status = wait_for(forked(place, call.run))
        taken.append(time.perf_counter() - started)
        if status:
            raise SystemExit(f"{call} failed undisturbed: {(folder / 'try.said').read_text()}")
        left.append(contents(place))
    differing = [name for name in left[0] if any(other.get(name) != left[0][name] for other in left[1:])]
    if differing or any(other.keys() != left[0].keys() for other in left):
        raise SystemExit(f"{call} leaves something else each time: {differing}")
    return Rehearsed(call, left[0], statistics.median(taken))


def fresh(call: Call, folder: Path) -> Path:
    place = folder / "try"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(call.folder, place)
    return place


def one_try(rehearsed: Rehearsed, folder: Path, moment: float) -> tuple[str, str]:
    """The outcome, and what is wrong with it."""
    place = fresh(rehearsed.call, folder)
    child = forked(place, rehearsed.call.run)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGKILL:
        return TOO_LATE, ""
    status = wait_for(forked(place, rehearsed.call.run))
    if status != 0:
        return "failed again", f"status {status}: {(folder / 'try.said').read_text()[-400:]}"
    found = contents(place)
    differing = [name for name, content in rehearsed.contents.items() if found.get(name, found) != content]
    if differing:
        return "different", ", ".join(differing)
    left = found.keys() - rehearsed.contents.keys()
    return "left behind" if left else "as wanted", ", ".join(sorted(left))


def rows(count: int, seed: int) -> list[dict]:
    """For each kind of call: how many kills met it at work, and what came of them."""
    torch.set_num_threads(1)  # sums are the same in every run
    rng = np.random.default_rng(seed)
    found = []
    with tempfile.TemporaryDirectory(prefix="gramless-kills-") as name:
        folder = Path(name)
        for what, calls in prepare(folder, seed).items():
            rehearsed = [rehearse(call, folder) for call in calls]
            tries: list[tuple[str, str]] = []
            n_too_late = 0
            while len(tries) < count:
                chosen = rehearsed[len(tries) % len(rehearsed)]
                tried = one_try(chosen, folder, rng.random() * REACH * chosen.seconds)
                if tried[0] == TOO_LATE:
                    n_too_late += 1
                else:
                    tries.append(tried)
            n_right = sum(outcome == "as wanted" for outcome, _ in tries)
            found.append(
                {
                    "what": what,
                    "tried": count,
                    TOO_LATE: n_too_late,
                    **{kind: sum(outcome == kind for outcome, _ in tries) for kind in OUTCOMES},
                    "not as wanted": count - n_right,
                    "for instance": next((told for _, told in tries if told), None),
                }
            )
    return found


def main() -> None:
    parser = parser_of(__doc__, seed=0)
    parser.add_argument("--count", type=int, default=100, help="kills of each kind of call")
    chosen = parser.parse_args()
    found = rows(chosen.count, chosen.seed)
    columns = [name for name in found[0] if name != "for instance"]
    table = [[str(row[name]) for name in columns] for row in found]
    for row in found:
        if row["for instance"]:
            print(f"{row['what']}: {row['for instance']}")
    claim = at_most("calls that a kill -9 changed the end of", sum(row["not as wanted"] for row in found), 0)
    figures = {"seed": chosen.seed, "rows": found}
    report("hostile_kills", "Killed with -9, then called again", columns, table, figures, [claim])


if __name__ == "__main__":
    main()
