"""Compiled code on disk: found by another process, and not once a source has changed."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

from gramless.engine import cpu, program
from gramless.kernels import operations
from gramless.support import progress

CALL = """
import numpy as np
from gramless.engine.cpu import sums
from gramless.engine.program import Term
x = np.ones((1, 3), np.float32)
out = np.empty((1, 1), np.float32)
sums.feature_sums(Term.MINIMUM, x, x, out)
assert out[0, 0] == 3
print(sum(sums._LOOPS[Term.MINIMUM].dispatcher.stats.cache_hits.values()))
"""


def hits(root: Path) -> int:
    """How often a new process finds compiled code."""
    environment = {**os.environ, "PYTHONPATH": str(root), "NUMBA_CACHE_DIR": str(root / "cache")}
    done = subprocess.run([sys.executable, "-c", CALL], env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_code_is_kept_until_any_source_of_it_changes(tmp_path):
    package = tmp_path / "gramless"
    folders = {package / "engine": program, package / "kernels": operations, package / "support": progress}
    for folder, module in folders.items():
        folder.mkdir(parents=True)
        shutil.copy(module.__file__, folder)
        (folder / "__init__.py").touch()
    (package / "__init__.py").touch()
    shutil.copytree(Path(cpu.__file__).parent, package / "engine/cpu", ignore=shutil.ignore_patterns("__pycache__"))
    assert hits(tmp_path) == 0
    assert hits(tmp_path) == 1
    for changed in ("engine/cpu/vectors.py", "engine/program.py", "kernels/operations.py"):
        with (package / changed).open("a") as source:
            source.write("# changed\n")
        assert hits(tmp_path) == 0


def test_what_is_compiled_takes_from_no_other_sources():
    """Its own folder, engine/program.py and kernels/operations.py are in the key; a bar of progress is not compiled."""
    taken = set()
    for file in Path(cpu.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("gramless"):
                names = {f"{node.module}.{name.name}" for name in node.names}
                taken |= names if node.module in ("gramless.engine", "gramless.kernels") else {node.module}
    outside = {module for module in taken if not module.startswith("gramless.engine.cpu")}
    assert outside == {"gramless.engine.program", "gramless.kernels.operations", "gramless.support.progress"}
