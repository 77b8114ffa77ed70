"""What is imported when: lists of commands and `import gramless` bring none of the large packages."""

import importlib
import os
import subprocess
import sys

import pytest

import gramless
from gramless.cli import annotate, annotate_fit
from gramless.pictures.annotation.fitting import N_LANDMARKS

HEAVY = ("cv2", "numba", "numpy", "pandas", "PIL", "scipy", "sklearn", "torch")


def imported_by(code):
    """Which of the large packages a process has that ran this."""
    ending = f"print('heavy:', sorted(set(sys.modules) & set({HEAVY})))"
    script = f"import sys\ntry:\n    exec({code!r})\nexcept SystemExit as end:\n    assert not end.code\n{ending}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.rpartition("heavy: ")[2].strip()


@pytest.mark.parametrize("arguments", [["--help"], ["annotate", "--help"], ["--version"], []])
def test_a_list_of_commands_needs_none_of_what_they_compute_with(arguments):
    code = f"from gramless.cli import app; app({arguments}, standalone_mode=False)"
    if not arguments:  # which is help as well, and exits as wrong use
        code = f"import typer\ntry:\n    {code}\nexcept BaseException:\n    pass"
    assert imported_by(code) == "[]"


def test_no_help_of_any_command_needs_what_it_computes_with():
    lines = [
        ["demo"],
        ["serve"],
        *(["annotate", command.callback.__name__] for command in annotate.registered_commands),
    ]
    code = f"from gramless.cli import app\nfor line in {lines}: app([*line, '--help'], standalone_mode=False)"
    assert imported_by(code) == "[]"


def test_the_number_of_landmarks_that_help_shows_is_the_one_that_is_used():
    assert annotate_fit.LANDMARKS == N_LANDMARKS


def test_importing_the_package_imports_little_and_a_name_brings_what_it_needs():
    assert imported_by("import gramless; gramless.DataError; dir(gramless); gramless.__version__") == "[]"
    assert "torch" in imported_by("import gramless; gramless.Views")
    assert "torch" in imported_by("import gramless; gramless.kernels.Linear")


def test_every_name_is_there_and_no_other():
    everything = {}
    exec("from gramless import *", everything)
    assert set(gramless.__all__) <= everything.keys()
    homes = [(name, home) for home, names in gramless._HOMES.items() for name in names]
    for name, home in homes:
        assert getattr(gramless, name) is getattr(importlib.import_module(f"gramless.{home}"), name)
    assert set(gramless.__all__) | set(gramless._ROOMS) <= set(dir(gramless))
    for room in gramless._ROOMS:
        assert getattr(gramless, room).__name__ == f"gramless.{room}"
    for absent in ("view", "torch", "__wrapped__", ""):
        assert not hasattr(gramless, absent)
    with pytest.raises(AttributeError, match="module 'gramless' has no attribute 'Deepkernel'"):
        _ = gramless.Deepkernel


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks there")
def test_a_fork_computes_like_its_parent_whichever_part_was_imported_first():
    code = (
        "import os; from gramless.views import Views; import torch; torch.set_num_threads(2)\n"
        "torch.randn(300, 300) @ torch.randn(300, 300); (torch.randn(10**6) + 1).sum()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    (torch.randn(10**6) + 1).sum(); os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=300, check=False, env=os.environ | {"OMP_NUM_THREADS": "2"}
    )
    assert done.returncode == 0
