"""Measures anew what README.md shows: runs the demo, and puts its picture and its tables into the page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

from harness import HERE

from gramless.demo.result import Accuracy, Approximation, Timing, summarise

ROOT = HERE.parent
README, PICTURE = ROOT / "README.md", ROOT / "docs" / "images" / "demo.png"


def table(result: dict) -> str:
    accuracies = [Accuracy(**row) for row in result["accuracies"]]
    lines = ["| method | digits recognised |", "|---|---|"]
    lines += [f"| {s.method} | {s.mean_percent:.1f} ± {s.spread_percent:.1f} % |" for s in summarise(accuracies)]
    errors = [Approximation(**row) for row in result["approximations"]]
    lines += ["", "| landmarks | relative error of the map, all digits | outside the landmarks |", "|---|---|---|"]
    lines += [f"| {e.n_landmarks} | {e.percent_all:.2g} % | {e.percent_outside:.2g} % |" for e in errors]
    timings = [Timing(**row) for row in result["timings"]]
    lines += ["", "| samples | kernel matrix | vectors | ratio |", "|---|---|---|---|"]
    lines += [
        f"| {t.n_samples:,} | {t.kernel_seconds:.2f} s | {t.map_seconds:.2f} s | {t.ratio:.1f} |" for t in timings
    ]
    return "\n".join(lines)


def main() -> None:
    out = ROOT / "out" / "readme"
    subprocess.run([sys.executable, "-m", "gramless.cli", "demo", "--out", str(out)], check=True)
    result = json.loads((out / "results.json").read_text())
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(out / "demo.png", PICTURE)
    between = re.compile(r"(<!-- measured -->\n).*?(<!-- /measured -->)", flags=re.DOTALL)
    page, n_places = between.subn(lambda found: f"{found[1]}{table(result)}\n{found[2]}", README.read_text())
    if n_places != 1:
        raise SystemExit(f"{README} must have one place between <!-- measured --> and <!-- /measured -->.")
    README.write_text(page)


if __name__ == "__main__":
    main()
