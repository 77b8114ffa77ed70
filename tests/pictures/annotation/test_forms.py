"""Tables, CSV and JSON of annotations: read back by the standard library and by the project's own reader."""

import csv
import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from gramless.errors import DataError
from gramless.pictures.annotation.annotator import Annotation, Suggestion
from gramless.pictures.annotation.forms import annotation_table, as_csv, check_csv_keywords, json_lines
from gramless.pictures.datasets.keyword_files import read_keyword_file

NASTY = (
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\uff1d1+1",
    'say "sea"',
    "a,b",
    "[red]x[/red]",
    "Übersee 🌊",
)


def all_of_json(annotations, unreadable):
    return b"".join(json_lines(annotations, unreadable))


def annotation(name, *keywords):
    suggestions = tuple(Suggestion(keyword, 0.9 - 0.1 * i) for i, keyword in enumerate(keywords))
    return Annotation(Path("somewhere") / name, name, suggestions)


def shown(table, width=100):
    console = Console(width=width, record=True, file=StringIO())
    console.print(table)
    return console.export_text()


ANNOTATIONS = [annotation("sea/1.jpg", "boat", "sky"), annotation("2.jpg"), annotation("ä;b.jpg", "cat")]


def test_csv_has_a_row_per_picture(tmp_path):
    (tmp_path / "k.csv").write_bytes(as_csv(ANNOTATIONS))
    with open(tmp_path / "k.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["file", "keywords", "scores"],
        ["sea/1.jpg", "boat; sky", "0.9000; 0.8000"],
        ["2.jpg", "", ""],
        ["ä;b.jpg", "cat", "0.9000"],
    ]


def test_csv_is_a_keyword_file(tmp_path):
    (tmp_path / "k.csv").write_bytes(as_csv(ANNOTATIONS))
    assert read_keyword_file(tmp_path / "k.csv") == {"sea/1.jpg": ("boat", "sky"), "2.jpg": (), "ä;b.jpg": ("cat",)}


@pytest.mark.parametrize("keyword", [word for word in NASTY if "|" not in word])
def test_no_cell_is_a_formula_and_all_come_back(tmp_path, keyword):
    (tmp_path / "k.csv").write_bytes(as_csv([annotation(f"{keyword}.jpg", keyword, "cat", keyword + "2")]))
    with open(tmp_path / "k.csv", encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    parts = [part for cell in cells for part in cell.split(";")]  # some spreadsheets cut there
    assert not [part for part in parts if part[:1] in tuple("=+-@\uff1d")]
    assert read_keyword_file(tmp_path / "k.csv") == {f"{keyword}.jpg": (keyword, "cat", keyword + "2")}


def test_negative_scores_are_no_formulas_either(tmp_path):
    (tmp_path / "k.csv").write_bytes(
        as_csv([Annotation(Path("a"), "a", (Suggestion("cat", -1.5), Suggestion("dog", -2.0)))])
    )
    assert '" -1.5000; -2.0000"' in (tmp_path / "k.csv").read_text(encoding="utf-8-sig")


@pytest.mark.parametrize("keyword", ["a;b", "; "])
def test_csv_refuses_keywords_with_separators(keyword):
    with pytest.raises(DataError, match="Write JSON instead"):
        as_csv([*ANNOTATIONS, annotation("c.jpg", keyword)])
    with pytest.raises(DataError, match="separate the keywords"):
        check_csv_keywords(["cat", keyword])
    check_csv_keywords(["cat", "a,b", "animal|cat"])


def test_json_lists_keywords_scores_and_errors(tmp_path):
    (tmp_path / "k.json").write_bytes(all_of_json(ANNOTATIONS[:2], {"broken.png": "is cut off"}))
    assert json.loads((tmp_path / "k.json").read_text(encoding="utf-8")) == [
        {
            "file": "sea/1.jpg",
            "keywords": [{"keyword": "boat", "score": 0.9}, {"keyword": "sky", "score": 0.8}],
        },
        {"file": "2.jpg", "keywords": []},
        {"file": "broken.png", "error": "is cut off"},
    ]


def test_json_is_a_keyword_file_even_of_nasty_keywords(tmp_path):
    (tmp_path / "k.json").write_bytes(all_of_json([annotation("a.jpg", *NASTY, "a;b")], {"x.jpg": "is empty"}))
    assert read_keyword_file(tmp_path / "k.json") == {"a.jpg": (*NASTY, "a;b"), "x.jpg": ()}


def test_names_in_another_encoding_can_be_written(tmp_path):
    name = b"caf\xe9.jpg".decode("utf-8", "surrogateescape")
    (tmp_path / "k.json").write_bytes(all_of_json([annotation(name, "cup")], {}))
    (tmp_path / "k.csv").write_bytes(as_csv([annotation(name, "cup")]))
    assert json.loads((tmp_path / "k.json").read_bytes())[0]["file"] == name
    assert "caf\\udce9.jpg" in (tmp_path / "k.csv").read_text(encoding="utf-8-sig")


def test_a_score_that_is_no_number_is_no_json():
    with pytest.raises(ValueError, match="JSON"):
        all_of_json([Annotation(Path("a"), "a", (Suggestion("cat", float("nan")),))], {})


def test_table_shows_keywords_and_scores():
    text = shown(annotation_table(ANNOTATIONS))
    lines = [line.split(maxsplit=1) for line in text.splitlines() if ".jpg" in line]
    assert [[cell.strip() for cell in line] for line in lines] == [
        ["sea/1.jpg", "boat 0.90, sky 0.80"],
        ["2.jpg", "none"],
        ["ä;b.jpg", "cat 0.90"],
    ]


def test_table_takes_no_keyword_or_name_for_markup():
    text = shown(annotation_table([annotation("[bold]a.jpg", "[red]x[/red]", "[/]")]))
    for part in ("[bold]a.jpg", "[red]x[/red] 0.90", "[/] 0.80"):
        assert part in text


def test_what_a_terminal_would_obey_is_shown_escaped():
    table = shown(annotation_table([annotation("\x1b[2Ja\n\x9b1m\u202e.jpg", "\x1b]0;cat\x07")]))
    assert "\\x1b[2Ja\\n\\x9b1m\\u202e.jpg" in table
    assert "\\x1b]0;cat\\x07 0.90" in table
    written = all_of_json([annotation("\x1b\x9b\u202e é.jpg", "cat")], {}).decode()
    assert "\\u001b\\u009b\\u202e é.jpg" in written
    assert json.loads(written)[0]["file"] == "\x1b\x9b\u202e é.jpg"
