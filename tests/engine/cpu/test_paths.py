"""Other processors than this one: the engine's properties on narrower vectors, on one thread and on two.

Every run is a process of its own, because Numba settles its target when it is imported. A path that this processor
lacks cannot be run here.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gramless.engine.cpu import target

ROOT = Path(__file__).parents[3]
PROPERTIES = (
    "tests/engine/cpu/test_sums.py",
    "tests/engine/cpu/test_network.py",
    "tests/engine/test_evaluator.py",
)
RUNS = [("", 2), ("", 1), ("avx2", 2), ("portable", 1)]
SHOW = """
from gramless.engine.cpu import target
print(target.LANES, target.BYTE_SUMS, sorted(target.FEATURES & {"avx512f", "avx2", "fma", "sse3", "sse2"}))
"""


def python(*arguments, **variables):
    environment = {**os.environ, **variables}
    return subprocess.run([sys.executable, *arguments], env=environment, cwd=ROOT, capture_output=True, text=True)


def available(vectors):
    needed = target.VECTORS[vectors][0] if vectors else None
    return needed is None or needed in target.FEATURES


@pytest.mark.parametrize(("vectors", "n_threads"), RUNS)
def test_the_engines_properties_hold(vectors, n_threads):
    if not available(vectors):
        pytest.skip(f"this processor, or GRAMLESS_VECTORS, has no {vectors}")
    done = python(
        *("-m", "pytest", "-n", "0", "-m", "hypothesis", "-p", "no:cacheprovider", *PROPERTIES),
        GRAMLESS_VECTORS=vectors or os.environ.get(target.VARIABLE, ""),
        OMP_NUM_THREADS=str(n_threads),
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not available("avx2"), reason="needs AVX2")
def test_less_of_the_processor_is_used_where_that_is_asked_for():
    assert python("-c", SHOW, GRAMLESS_VECTORS="avx2").stdout.startswith("8 llvm.x86.avx2.psad.bw ['avx2', 'fma', ")
    assert python("-c", SHOW, GRAMLESS_VECTORS="portable").stdout == "8 None ['sse2']\n"


@pytest.mark.parametrize("choice", [None, ""])
def test_without_a_choice_everything_is_used(choice):
    assert target.chosen_features(choice, "+avx2,-avx512f") == "+avx2,-avx512f"


def test_a_choice_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"one of avx512, avx2, portable.* got 'neon'"):
        target.chosen_features("neon", "+avx2")
    for choice, available in (("avx512", "+avx,+avx2,-avx512f"), ("avx2", "+avx,-avx2"), ("avx2", "")):
        with pytest.raises(ValueError, match=f"{choice} needs a processor with avx.*which this one lacks"):
            target.chosen_features(choice, available)


def test_a_choice_that_comes_too_late_is_refused():
    late = "import numba; numba.njit(lambda x: x); import gramless.engine"
    done = python("-c", late, GRAMLESS_VECTORS="portable")
    assert done.returncode != 0
    assert "import gramless before such code" in done.stderr
