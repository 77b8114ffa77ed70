"""Texts of strangers, file names and keywords, for a terminal: shown, and never obeyed."""

from __future__ import annotations

import re

COMMANDS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters, among them those that begin escape sequences, and those that turn the direction of writing."""


def printable(text: str) -> str:
    r"""The text with what a terminal would obey written as Python writes it: \x1b, \n, \u202e."""
    return COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
