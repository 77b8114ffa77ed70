"""The pages of the docs know what there is."""

import re
from pathlib import Path

import gramless

REFERENCE = (Path(__file__).parents[1] / "docs/api.md").read_text()


def test_every_name_that_is_exported_has_its_place_in_the_reference():
    named = set(re.findall(r":: gramless\.(\w+)\n", REFERENCE))
    whole = tuple(re.findall(r":: (\S+)\n   :members:\n", REFERENCE))
    others = set(gramless.__all__) - named - {"__version__"}
    assert [name for name in sorted(others) if not getattr(gramless, name).__module__.startswith(whole)] == []
