"""`make wheel`: the wheel, what is in it, and that a bare installation of it works, outside of the repository."""

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_BYTES = 1 << 20
FIT = """
import numpy as np
import gramless as gl
rng = np.random.default_rng(0)
y = rng.integers(0, 2, 200)
X = {name: y[:, None] + rng.standard_normal((200, 5)) for name in ("a", "b")}
assert "site-packages" in gl.__file__, gl.__file__
assert (gl.DeepMapClassifier(n_landmarks=30, random_state=0).fit(X, y).predict(X) == y).mean() > 0.9
"""


def build(folder: Path) -> Path:
    """The wheel of the working tree."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("gramless-*.whl")
    return wheel


def check_contents(wheel: Path) -> None:
    """Every tracked file of the package is in it, what describes it, and nothing else."""
    with zipfile.ZipFile(wheel) as file:
        inside = {name for name in file.namelist() if ".dist-info/" not in name}
    listed = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = {name.removeprefix("src/") for name in listed.split("\n") if name and (ROOT / name).exists()}
    if tracked != inside:
        raise SystemExit(f"missing: {sorted(tracked - inside)}; not ours: {sorted(inside - tracked)}")
    if wheel.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{wheel.name} has {wheel.stat().st_size:,} bytes, over {MOST_BYTES:,}.")
    print(f"{wheel.name}: {len(inside)} files, {wheel.stat().st_size / 1024:.0f} KiB")


def check_installation(wheel: Path, folder: Path) -> None:
    """A fresh environment with the wheel and what it needs, without extras, shows its help and fits a model."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-compile", "--constraint", ROOT / "constraints.txt", wheel)
    for arguments in (("-m", "gramless.cli", "--help"), ("-c", FIT)):
        run(python, *arguments, cwd=folder)
    print("a bare installation shows its help and fits a model")


def run(*command: object, cwd: Path | None = None) -> None:
    """Without the caller's PYTHONPATH, on which pip would find the package installed already."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command[:4]))} ...\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        wheel = build(Path(name))
        check_contents(wheel)
        check_installation(wheel, Path(name))
