"""Optional packages: what is said where one is missing is what pyproject.toml installs."""

import ast
import json
import re
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

import gramless
from gramless.errors import GramlessError
from gramless.support.packages import EXTRAS, MissingPackageError, needed

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def normal(distribution: str) -> str:
    return re.sub("[-_.]+", "-", distribution).lower()


def distributions(requirements: list[str]) -> set[str]:
    return {normal(re.match(r"[\w.-]+", requirement)[0]) for requirement in requirements}


def test_a_package_that_is_there():
    assert needed("json") is json
    assert needed("os.path") is sys.modules["os.path"]


@pytest.mark.parametrize("package", sorted(EXTRAS))
def test_the_extra_that_is_named_brings_the_package(package):
    (brought_by,) = {normal(name) for name in packages_distributions()[package]}
    assert brought_by in distributions(PROJECT["optional-dependencies"][EXTRAS[package]])


@pytest.mark.parametrize(
    ("module", "install"),
    [
        ("cv2", "'gramless[pictures]'"),
        ("zarr.storage", "'gramless[scale]'"),
        ("no_such_package.part", "no_such_package"),
    ],
)
def test_a_missing_package_is_an_error_that_says_what_to_install(module, install, monkeypatch):
    package = module.partition(".")[0]
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError) as caught:
        needed(module)
    assert isinstance(caught.value, GramlessError)
    assert isinstance(caught.value, ImportError)
    assert str(caught.value).startswith(f"this needs the package {package}, which cannot be imported (")
    assert str(caught.value).endswith(f"): pip install {install}")


def test_a_package_that_is_broken_is_named_with_what_is_wrong(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import no_such_package_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingPackageError, match=r"half_there, .*no_such_package_at_all.*: pip install half_there$"):
        needed("half_there")


def test_every_package_of_an_extra_that_is_imported_has_its_place_in_the_table():
    extras = {name: listed for name, listed in PROJECT["optional-dependencies"].items() if name != "dev"}
    optional = set().union(*map(distributions, extras.values())) - always_there() - {"gramless"}
    distributed = packages_distributions()
    sources = Path(gramless.__file__).parent.rglob("*.py")
    packages = {module.partition(".")[0] for path in sources for module in imported(path)}
    found = {package for package in packages if optional & {normal(name) for name in distributed.get(package, [])}}
    assert {"PIL", "dask", "matplotlib", "uvicorn"} <= found <= EXTRAS.keys()


def always_there() -> set[str]:
    """What this package depends on, and what that depends on."""
    direct = distributions(PROJECT["dependencies"])
    theirs = [each for name in direct for each in requires(name) or () if "extra ==" not in each]
    return direct | distributions(theirs)


def imported(source: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found
