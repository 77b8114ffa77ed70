"""Runs every benchmark that needs no data set, in its quick form, and says which claims are met.

About ten minutes on two quiet cores. Each is also a script of its own, with larger sizes.
"""

from __future__ import annotations

import json
import subprocess
import sys

from harness import HERE, RESULTS, print_claims

QUICK = {
    "intersection": ["--quick"],
    "transform": ["--quick"],
    "growth": ["--quick"],
    "kernel_or_map": ["--quick"],
    "peers": ["--quick"],
}


def main() -> None:
    claims, failed = [], []
    for name, options in QUICK.items():
        (RESULTS / f"{name}.json").unlink(missing_ok=True)  # a benchmark that fails must not show what it once measured
        done = subprocess.run([sys.executable, HERE / f"{name}.py", *options], check=False)
        if done.returncode:
            failed.append(name)
            continue
        claims += json.loads((RESULTS / f"{name}.json").read_text())["claims"]
    print_claims(claims)
    if failed:
        raise SystemExit(f"these did not run to their end: {', '.join(failed)}")


if __name__ == "__main__":
    main()
