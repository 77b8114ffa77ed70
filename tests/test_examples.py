"""The examples run as they are, in a process of their own, and are typed as far as `mypy --strict` looks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SAID = {
    "classify_views": "digits recognised",
    "custom_kernel": "300 vectors of ",
    "keywords_for_pictures": " - ",
    "out_of_core": "2000 vectors of ",
    "regression": "two targets: R2",
    "serve_with_onnx": "the same scores: True",
    "step_by_step": "the same vectors after loading: True",
    "what_matters": "noise costs",
}


def run(*command: object) -> str:
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    where = {**os.environ, "PYTHONPATH": paths, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, cwd=ROOT, env=where)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_example_is_expected_to_say_something():
    assert [example.stem for example in EXAMPLES] == sorted(SAID)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example):
    assert SAID[example.stem] in run(example)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short(example):
    assert len(example.read_text().splitlines()) <= 40


def test_the_examples_are_typed_through_and_through(tmp_path):
    """As for somebody who has installed the package: what is inside it is not looked at, only what it says outside."""
    options = ("--strict", "--follow-imports=silent", "--ignore-missing-imports", "--config-file=")
    run("-m", "mypy", *options, f"--cache-dir={tmp_path}", *EXAMPLES)
