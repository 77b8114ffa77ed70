"""How large the house is: files, lines, folders, the longest file, parameters of estimators, names exported.

`python benchmarks/house.py [COMMIT ...]` prints a table of what git has at those commits, HEAD unless some are given;
`--into FILE` also puts it between the marks <!-- house --> and <!-- /house --> of a file.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
from pathlib import Path, PurePosixPath

ESTIMATORS = ("DeepMapClassifier", "DeepKernelClassifier", "DeepMapNetwork", "DeepKernelNetwork")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def sources(commit: str, *folders: str) -> dict[PurePosixPath, str]:
    """Python files under the folders, by path; those that hold nothing do not count."""
    names = git("ls-tree", "-r", "--name-only", commit, "--", *folders).split("\n")
    found = {PurePosixPath(name): git("show", f"{commit}:{name}") for name in names if name.endswith(".py")}
    return {path: text for path, text in found.items() if text.strip()}


def n_lines(files: dict[PurePosixPath, str]) -> int:
    return sum(len(text.splitlines()) for text in files.values())


def parameters(files: dict[PurePosixPath, str], name: str) -> int:
    """Of the constructor of an estimator."""
    for text in files.values():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                made = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
                return sum(len(part.args.args) + len(part.args.kwonlyargs) - 1 for part in made)
    return 0


def exported(files: dict[PurePosixPath, str]) -> int:
    """Names in the package's __all__."""
    for node in ast.parse(files[PurePosixPath("src/gramless/__init__.py")]).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return len(ast.literal_eval(node.value))
    return 0


def counts(commit: str) -> dict[str, str]:
    package, paper = sources(commit, "src"), sources(commit, "reproduction")
    core = {path: text for path, text in package.items() if path.parts[2] != "pictures"}
    longest = max(package, key=lambda path: len(package[path].splitlines()))
    top = {path.parts[2] for path in package if len(path.parts) > 3}
    lines = f"{n_lines({longest: package[longest]})} ({longest.relative_to('src/gramless')})"
    return {
        "files in the package": f"{len(package):,}",
        "lines in the package": f"{n_lines(package):,}",
        "files outside pictures/": f"{len(core):,}",
        "lines outside pictures/": f"{n_lines(core):,}",
        "files, lines of reproduction/": f"{len(paper):,}, {n_lines(paper):,}",
        "folders in src/gramless": f"{len(top)}",
        "folders in all": f"{len({path.parent for path in package})}",
        "longest file": lines,
        **{f"parameters of {name}": f"{parameters(package, name)}" for name in ESTIMATORS},
        "names exported": f"{exported(package)}",
    }


def table(commits: list[str]) -> str:
    columns = [counts(commit) for commit in commits]
    rows = [
        ["", *(git("rev-parse", "--short", commit).strip() for commit in commits)],
        ["---", *["---:"] * len(commits)],
    ]
    rows += [[name, *(column[name] for column in columns)] for name in columns[0]]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*", default=["HEAD"])
    parser.add_argument("--into", type=Path)
    chosen = parser.parse_args()
    found = table(chosen.commits)
    print(found, end="")
    if chosen.into is not None:
        marks = re.compile(r"(?<=<!-- house -->\n).*?(?=<!-- /house -->)", re.DOTALL)
        chosen.into.write_text(marks.sub(lambda _: found, chosen.into.read_text()))


if __name__ == "__main__":
    main()
