"""constraints.txt: all that `pip install '.[dev]'` brings, and nothing else, as it is installed."""

import importlib.metadata
import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"
OF_CUDA = ("cuda-", "nvidia-")
"""Come with one build of a torch and not with another of the same version."""


def normal(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def brought_by(name: str, extras: frozenset[str]) -> dict[str, str]:
    """The distributions that one requires, directly or not, with the versions that are installed (or "missing")."""
    found: dict[str, str] = {}
    todo, seen = [(name, extras)], set()
    while todo:
        name, extras = todo.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for requirement in map(Requirement, importlib.metadata.requires(name) or ()):
            wanted = requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in extras | {""}
            )
            required = normal(requirement.name)
            if not wanted or required.startswith(OF_CUDA):
                continue
            try:
                found[required] = Version(importlib.metadata.version(required)).public  # without +cpu
            except importlib.metadata.PackageNotFoundError:
                found[required] = "missing"
                continue
            todo.append((required, frozenset(requirement.extras)))
    return {name: version for name, version in found.items() if name != "gramless"}


@pytest.mark.skipif(sys.platform != "linux", reason="the versions are those of Linux")
def test_what_is_listed_is_what_is_installed():
    lines = [line.strip() for line in CONSTRAINTS.read_text().splitlines() if not line.startswith("#")]
    listed = {normal(name): version for name, version in (line.split("==") for line in lines)}
    assert len(listed) == len(lines)
    installed = brought_by("gramless", frozenset({"dev"}))
    assert listed == installed, "`make constraints` makes the list anew"


def test_the_list_is_sorted_and_holds_no_build_of_its_own():
    names = [line.partition("==")[0].upper() for line in CONSTRAINTS.read_text().splitlines() if line[0] != "#"]
    assert names == sorted(names)
    assert not [name for name in names if name.lower().startswith(OF_CUDA)]
    assert "+" not in CONSTRAINTS.read_text().partition("\n")[2]
