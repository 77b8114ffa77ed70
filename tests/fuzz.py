"""The property-based tests on new random examples, again and again: `make fuzz`, or `make fuzz MINUTES=5`.

Every file with such tests runs in a process of its own, one process per core, with a seed of its own; a round is all
files in a random order. No file is started after the time is over. Ends with the numbers of examples and failures.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from threading import Lock

PYTEST = (sys.executable, "-m", "pytest", "-n", "0", "-m", "hypothesis", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Outcome:
    file: str
    seed: int
    n_examples: int
    failed: tuple[str, ...]  # names of tests
    output: str


def files_with_properties(paths: list[str]) -> list[str]:
    """Of the test files in `paths`, those with at least one property-based test."""
    listing = subprocess.run([*PYTEST, "--collect-only", *paths], capture_output=True, text=True)
    if listing.returncode != 0:
        raise SystemExit(f"the property-based tests of {paths} cannot be listed:\n{listing.stdout}{listing.stderr}")
    return sorted({line.split("::")[0] for line in listing.stdout.splitlines() if "::" in line})


def run_once(file: str, seed: int) -> Outcome:
    """All properties of one file on new examples."""
    options = ("--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", "--hypothesis-show-statistics", "-rfE")
    done = subprocess.run([*PYTEST, *options, file], capture_output=True, text=True)
    failed = tuple(re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE))
    if done.returncode != 0 and not failed:  # the process itself broke
        failed = (f"{file}: exit status {done.returncode}",)
    counts = re.findall(r"(\d+) passing(?: examples)?, (\d+) failing", done.stdout)
    return Outcome(file, seed, sum(int(n) for pair in counts for n in pair), failed, done.stdout + done.stderr)


def rounds(files: list[str], end: float) -> Iterator[tuple[str, int]]:
    """What to run next, with a new seed, until the time is over."""
    chance = random.SystemRandom()
    for _ in count():
        for file in chance.sample(files, len(files)):
            if time.monotonic() >= end:
                return
            yield file, chance.randrange(2**32)


def fuzz(files: list[str], minutes: float, n_processes: int) -> list[Outcome]:
    """The outcomes of `minutes` of rounds; failures are printed as they are found."""
    outcomes: list[Outcome] = []
    jobs, next_job = rounds(files, time.monotonic() + 60 * minutes), Lock()

    def work() -> None:
        while True:
            with next_job:
                job = next(jobs, None)
            if job is None:
                return
            outcome = run_once(*job)
            outcomes.append(outcome)
            if outcome.failed:
                print(outcome.output)
            print(
                f"{outcome.file}, seed {outcome.seed}: {outcome.n_examples:,} examples, {len(outcome.failed)} failures",
                flush=True,
            )

    with ThreadPoolExecutor(n_processes) as pool:
        for worker in [pool.submit(work) for _ in range(n_processes)]:
            worker.result()
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("paths", nargs="*", default=["tests"])
    chosen = parser.parse_args()
    files = files_with_properties(chosen.paths)
    outcomes = fuzz(files, chosen.minutes, chosen.processes)
    failed = [name for outcome in outcomes for name in outcome.failed]
    n_examples = sum(outcome.n_examples for outcome in outcomes)
    print(f"{n_examples:,} random examples in {len(outcomes)} runs of {len(files)} files: {len(failed)} failures")
    for name in sorted(set(failed)):
        print(f"  {name} ({failed.count(name)} times)")
    return 1 if failed or not n_examples else 0


if __name__ == "__main__":
    sys.exit(main())
