"""Tables of an annotator in a terminal: keywords of strangers are shown, and never obeyed."""

from types import SimpleNamespace

import numpy as np
from rich.console import Console

from gramless.pictures.tables import facts_table, keyword_columns


def shown(table):
    console = Console(width=100, force_terminal=False)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_what_a_terminal_would_obey_is_shown_escaped():
    keywords = ("\x1b]0;cat\x07", "dog\n\u202e")
    annotator = SimpleNamespace(keywords=keywords, album=SimpleNamespace(labels=np.array([[1, 0], [1, 1]], bool)))
    columns = shown(keyword_columns(annotator))
    assert "\\x1b]0;cat\\x07 2" in columns
    assert "dog\\n\\u202e 1" in columns
    facts = shown(facts_table({"the rarest": keywords[0], "the most frequent": keywords[1]}))
    assert "\\x1b]0;cat\\x07" in facts
    assert "dog\\n\\u202e" in facts
    assert "\x1b" not in columns + facts
