"""Counted: damaged model files, hostile arrays and parameters, and kills with -9; 0 may end as they should not.

    python benchmarks/hostile.py [--files 24000] [--inputs 20000] [--kills 100] [--seed 0]

Each part is a script of its own as well (hostile_files.py, hostile_inputs.py, hostile_kills.py), which shows what went
wrong in full.
"""

from __future__ import annotations

import hostile_files
import hostile_inputs
import hostile_kills
from harness import at_most, parser_of, report

PARTS = {"files": (hostile_files, 24_000), "inputs": (hostile_inputs, 20_000), "kills": (hostile_kills, 100)}
COLUMNS = ["what", "tried", "as wanted", "not as wanted"]


def main() -> None:
    parser = parser_of(__doc__, seed=0)
    for name, (_, count) in PARTS.items():
        parser.add_argument(f"--{name}", type=int, default=count)
    chosen = parser.parse_args()
    found = [row for name, (part, _) in PARTS.items() for row in part.rows(getattr(chosen, name), chosen.seed)]
    table = [[str(row[column]) for column in COLUMNS] for row in found]
    claim = at_most("ended as they should not", sum(row["not as wanted"] for row in found), 0)
    report(
        "hostile", "Hostile files, inputs and moments", COLUMNS, table, {"seed": chosen.seed, "rows": found}, [claim]
    )


if __name__ == "__main__":
    main()
