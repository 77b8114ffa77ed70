"""Claim: whatever is handed over, nothing but an error in words or finite numbers comes back, and nothing is changed.

Tens of thousands of hostile arrays, labels, parameters and files go to everything public, one at a time, in a process
of their own that may hang or die. Wanted are answers without NaN and infinity, and errors that scikit-learn's
conventions allow: ValueError, TypeError, NotFittedError, this package's own (MemoryBudgetError), and OSError of files.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import subprocess
import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import torch
from harness import HERE, at_least, at_most, parser_of, report
from hostile_calls import Try, hostile_try
from scipy import sparse
from sklearn.exceptions import NotFittedError

import gramless as gl

LIMIT_S = 120.0  # of one try
START_S = 600.0  # of a worker, which imports and compiles, beside whatever else the machine does
ALLOWED = (ValueError, TypeError, NotFittedError, gl.GramlessError)
UNWANTED = ("other exception", "refused wrongly", "not finite", "changed", "hang", "crash")
SHOWN = 30  # of what was not as wanted


def fingerprint(value: Any) -> Any:
    """All bytes of what was handed over, in the order in which they lie."""
    if isinstance(value, np.ma.MaskedArray):
        return fingerprint(np.asarray(value.data)), fingerprint(np.ma.getmaskarray(value))
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()) if value.dtype.hasobject else value.tobytes()
        return str(value.dtype), value.shape, value.strides, value.flags.writeable, content
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_meta or value.is_nested or value.is_quantized:
            return str(value.dtype), str(value.layout)
        return str(value.dtype), value.stride(), bytes(value.detach().untyped_storage())
    if sparse.issparse(value):
        parts = [getattr(value, part, None) for part in ("data", "indices", "indptr", "offsets", "rows")]
        parts += list(getattr(value, "coords", ())) if value.format == "coo" else []
        return value.format, value.shape, [fingerprint(part) for part in parts]
    if isinstance(value, (pd.DataFrame, pd.Series)):
        return value.to_json(default_handler=repr) if value.ndim == 1 or value.columns.is_unique else repr(value)
    if isinstance(value, dict) and not sparse.issparse(value):
        return [(repr(key), fingerprint(part)) for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return [fingerprint(part) for part in value]
    return None


def is_finite(answer: Any) -> bool:
    if isinstance(answer, torch.Tensor):
        return bool(answer.isfinite().all())
    if isinstance(answer, (float, np.floating)):
        return bool(np.isfinite(answer))
    if isinstance(answer, np.ndarray):
        return answer.dtype.kind not in "fc" or bool(np.isfinite(answer).all())
    values = getattr(answer, "__dict__", None)
    return values is None or all(map(is_finite, values.values()))


def outcome(tried: Try) -> tuple[str, str]:
    """How one call ended, and what there is to say of it."""
    before = fingerprint(tried.given)
    found, said = "answered", ""
    try:
        for answer in tried.call():
            if not is_finite(answer):
                found, said = "not finite", repr(answer)[:300]
    except ALLOWED as error:
        found, said = "refused", "" if str(error) else "without a word"
        if tried.must_answer:
            found, said = "refused wrongly", f"{type(error).__name__}: {error}"
    except OSError as error:
        found, said = ("refused", "") if tried.what == "files" else ("other exception", repr(error))
    except Exception as error:
        found, said = "other exception", f"{type(error).__name__}: {error}"
    return ("changed", said) if fingerprint(tried.given) != before else (found, said)


def work(first: int, count: int, seed: int) -> None:
    """Tries one after the other; a line before each and a line after."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    np.seterr(all="ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print does not mix with it
    for i in range(first, count):
        tried = hostile_try(i, seed)
        print(json.dumps([i, tried.what, tried.name[:500]]), file=out, flush=True)
        print(json.dumps(outcome(tried)), file=out, flush=True)


def tries(count: int, seed: int) -> list[dict[str, Any]]:
    """All tries and how they ended; after a hang or a crash, a new process goes on with the next."""
    done: list[dict[str, Any]] = []
    while (first := len(done)) < count:
        command = [sys.executable, __file__, "--work", str(first), str(count), "--seed", str(seed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=HERE) as process:
            assert process.stdout is not None
            how = _follow(process.stdout.fileno(), done)
            process.kill()
        if len(done) == first:
            raise RuntimeError(f"nothing could be tried: run hostile_inputs.py --work {first} {first + 1} to see why.")
        if how is not None:
            done[-1]["how"] = how
    return done


def _follow(pipe: int, done: list[dict[str, Any]]) -> str | None:
    """Read what a worker tells until it ends; how the last try ended, if the worker did not tell."""
    rest, limit = b"", START_S
    while True:
        if not select.select([pipe], [], [], limit)[0]:
            return _unless_over(done, "hang")
        read = os.read(pipe, 1 << 16)
        if not read:
            return _unless_over(done, "crash")
        limit = LIMIT_S
        *lines, rest = (rest + read).split(b"\n")
        for line in map(json.loads, lines):
            if len(line) == 3:
                done.append({"i": line[0], "what": line[1], "name": line[2], "how": None})
            else:
                done[-1] |= {"how": line[0], "said": line[1]}


def _unless_over(done: list[dict[str, Any]], how: str) -> str | None:
    return how if done and done[-1]["how"] is None else None


def table(done: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for what in sorted({each["what"] for each in done}):
        ends = Counter(each["how"] for each in done if each["what"] == what)
        bad = {how: ends[how] for how in UNWANTED}
        tried = sum(ends.values())
        row = {"what": what, "tried": tried, "as wanted": tried - sum(bad.values()), "not as wanted": sum(bad.values())}
        found.append(row | {"answered": ends["answered"], "refused": ends["refused"]} | bad)
    return found


def rows(count: int, seed: int) -> list[dict[str, Any]]:
    """What was tried, how often, and how often it ended as it should not."""
    return table(tries(count, seed))


def main() -> None:
    options = parser_of(__doc__, count=20_000, seed=0)
    options.add_argument("--work", type=int, nargs=2, metavar=("FIRST", "COUNT"), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.work:
        with contextlib.suppress(BrokenPipeError):
            work(*given.work, given.seed)
        return
    done = tries(given.count, given.seed)
    found = table(done)
    columns = ["what", "tried", "as wanted", "not as wanted"]
    bad = [each for each in done if each["how"] in UNWANTED]
    for each in bad[:SHOWN]:
        print(f"try {each['i']} ({each['how']}): {each['what']}: {each['name']}: {each.get('said', '')}"[:600])
    silent = sum(each.get("said") == "without a word" for each in done)
    claims = [at_least("hostile inputs tried", len(done), given.count)]
    claims += [at_most(how, sum(row[how] for row in found), 0) for how in UNWANTED]
    claims.append(at_most("errors without a word", silent, 0))
    figures = {"seed": given.seed, "rows": found, "not as wanted": bad}
    cells = [[str(row[column]) for column in columns] for row in found]
    report("hostile_inputs", f"{given.count} hostile inputs", columns, cells, figures, claims)


if __name__ == "__main__":
    main()
