"""The report: figures beside published ones, in HTML, Markdown and JSON, and how the page looks in a browser."""

import json
import re
import shutil
import sys
from html.parser import HTMLParser

import pytest

from gramless.errors import GramlessError
from reproduction.report import (
    Answer,
    Curve,
    Entry,
    Example,
    Figure,
    Reproduction,
    Row,
    Section,
    Table,
    count_verdicts,
    write_reproduction,
)

CHROMIUM = shutil.which("chromium")
QUIET_CHROMIUM = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.mark.parametrize(
    ("entry", "verdict", "ours", "paper"),
    [
        (Entry((40.0, 42.0), 40.5, "higher", 1), "ahead", "41.0 ± 1.4", "40.5"),
        (Entry((40.0,), 40.5, "higher", 1), "behind", "40.0", "40.5"),
        (Entry((40.0,), 40.5, "lower", 1), "ahead", "40.0", "40.5"),
        (Entry((40.51,), 40.5, "higher", 1), "", "40.5", "40.5"),
        (Entry((40.55,), 40.5, "higher", 1), "", "40.5", "40.5"),
        (Entry((40.5,), None, "higher", 1), "", "40.5", ""),
        (Entry((40.5,), 30.0, None, 1), "", "40.5", "30.0"),
        (Entry((), 30.0, "higher", 1), "", "...", "30.0"),
        (Entry(None, 30.0, None, 1), "", "-", "30.0"),
        (Entry((0.125,), 10_390.0, "lower", 3), "ahead", "0.125", "10,390"),
        (Entry((float("nan"),), 40.5, "lower", 1), "behind", "nan", "40.5"),
        (Entry((float("inf"),), 40.5, "higher", 1), "behind", "inf", "40.5"),
        (Entry((12345.0,), 158.0, "higher", 0), "ahead", "12,345", "158"),
    ],
)
def test_entries_compare_what_is_printed(entry, verdict, ours, paper):
    assert (entry.verdict, entry.ours_text, entry.paper_text) == (verdict, ours, paper)


@pytest.mark.parametrize(
    ("values", "within"), [((40.0, 42.0), True), ((40.0, 40.2), False), ((40.4,), False), ((), False)]
)
def test_differences_that_seeds_explain(values, within):
    assert Entry(values, 40.5, "higher", 1).within_spread is within  # the first two have 1.41 and 0.14


def test_long_curves_are_thinned_in_markdown_alone(tmp_path):
    steps = tuple(float(step) for step in range(101))
    figure = Figure("Loss", "Of one.", "iterations", "%", (Curve("long", steps, steps), Curve("short", (1.0,), (2.0,))))
    report = Reproduction("Title", (), (Section("Figures", figures=(figure,)),))
    _, markdown, data = write_reproduction(report, tmp_path)
    rows = [line for line in markdown.read_text().splitlines() if line.startswith("| long |")]
    assert len(rows) == 20
    assert (rows[0], rows[-1]) == ("| long | 0 | 0 |", "| long | 100 | 100 |")
    assert "all are in report.json" in markdown.read_text()
    assert len(json.loads(data.read_text())["sections"][0]["figures"][0]["curves"][0]["x"]) == 101


def a_report(hostile=""):
    entries = (Entry((40.0, 42.0), 37.65, "higher", 2), Entry((1.5,), 1.1, "lower", 2), Entry((), None, None, 0))
    table = Table(
        f"Discrimination{hostile}",
        "Test pictures; R in percent.",
        (("the paper's heads", 1), ("our heads", 2)),
        ("R", "RE", "N+"),
        tuple(Row(f"a model with a rather long name, S = {size:,}{hostile}", entries) for size in (500, 700)),
    )
    curves = (Curve("DKN", (10.0, 100.0), (0.1, 10.0)), Curve("DMN, the paper", (10.0, 100.0), (0.1, 1.0), True))
    figure = Figure("Time", "Time of both.", "pictures", "seconds", curves, logarithmic=True)
    plain = Figure("Loss", "Loss of one.", "iterations", "relative error, %", curves[:1])
    answers = (Answer("DKN", ("sky", "cat")), Answer("DMN", ("sea",)))
    example = Example(f"1/2.jpeg{hostile}", "", ("sky", "sea"), answers)
    sections = (
        Section("Results", ("A paragraph.",), tables=(table,), figures=(figure, plain)),
        Section("Examples", examples=(example,)),
        Section("Limits", points=(f"One thing differs{hostile}",)),
    )
    return Reproduction(f"The paper, again{hostile}", (("cells", "3 of 4"),), sections)


class Texts(HTMLParser):
    """All text of a page, and whether every element was closed."""

    VOID = ("meta", "img", "path", "use", "br")

    def __init__(self, page):
        super().__init__()
        self.texts, self.tags, self._open = [], [], []
        self.feed(page)
        assert not self._open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def test_three_files_with_the_same_figures(tmp_path):
    paths = write_reproduction(a_report(), tmp_path)
    assert [path.name for path in paths] == ["report.html", "report.md", "report.json"]
    page, markdown = Texts(paths[0].read_text()), paths[1].read_text()
    for text in (page.text, markdown):
        for part in ("41.00 ± 1.41", "37.65", "1.10", "S = 500", "our heads", "seconds", "A paragraph.", "sky"):
            assert part in text
    found = json.loads(paths[2].read_text())
    assert found["sections"][0]["tables"][0]["rows"][0]["entries"][0] == {
        "values": [40.0, 42.0],
        "paper": 37.65,
        "better": "higher",
        "digits": 2,
    }
    assert count_verdicts(a_report().sections[0].tables) == (2, 2)


def test_right_keywords_have_stars_in_page_and_markdown(tmp_path):
    html, markdown, _ = write_reproduction(a_report(), tmp_path)
    shown = Texts(html.read_text()).text
    assert "DKN sky* , cat DMN sea*" in shown
    assert "true keywords sky, sea" in shown
    assert "| 1/2.jpeg | sky, sea | sky\\*, cat | sea\\* |" in markdown.read_text()


def test_markdown_shows_texts_as_they_are(tmp_path):
    markdown_it = pytest.importorskip("markdown_it")
    odd = r"*a* _b_ `c` [d](e) ~~f~~ <g> &lt; h\* i\\ | j\|k"
    answers = (Answer("DKN", (odd, "cat\\")),)
    table = Table(odd, odd, (), (odd,), (Row(odd, (Entry((1.0,), None, None, 0),)),))
    examples = (Example("1.jpeg", "", (odd, "cat\\"), answers),)
    section = Section(odd, (odd,), (odd,), tables=(table,), examples=examples)
    markdown = write_reproduction(Reproduction(odd, ((odd, "1"),), (section,)), tmp_path)[1].read_text()
    page = Texts(markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))
    assert page.text.count(odd) == 11
    assert f"{odd}*, cat\\*" in page.text
    assert not {tag for tag, _ in page.tags} & {"em", "strong", "code", "a", "s", "g"}


def test_the_page_needs_nothing_else(tmp_path):
    page = write_reproduction(a_report(), tmp_path)[0].read_text()
    assert not re.search(r"(src|href)=\"(?!#|data:)", page)
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert page.count("<svg ") == 2
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))  # parts of one drawing are not taken for another's


def test_drawings_take_the_colours_of_the_page(tmp_path):
    page = write_reproduction(a_report(), tmp_path)[0].read_text()
    drawings = page[page.index("<svg ") :]
    assert "var(--ink)" in drawings
    assert "var(--curve1)" in drawings
    assert "stroke-dasharray" in drawings  # the paper's curve
    assert not re.search(r"#111\d{3}", drawings)


def test_names_are_text_whatever_they_hold(tmp_path):
    hostile = "<script>alert(1)</script> | * \udcff"
    html, markdown, _ = write_reproduction(a_report(hostile), tmp_path)
    page = html.read_text()
    assert "<script" not in page
    assert Texts(page).text.count("alert(1)") >= 5
    assert "<script" not in markdown.read_text()
    rows = [line for line in markdown.read_text().splitlines() if line.startswith("| a model")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(GramlessError, match=r"gramless\[pictures\]"):
        write_reproduction(a_report(), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_in_both_colour_schemes(tmp_path, scheme):
    from playwright.sync_api import sync_playwright

    path = write_reproduction(a_report(), tmp_path)[0]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET_CHROMIUM)
        page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=scheme)
        problems = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        ink = page.evaluate("getComputedStyle(document.body).color")
        drawn = page.evaluate("getComputedStyle(document.querySelector('svg text')).fill")
        assert drawn == ink  # light text on dark, dark text on light
        assert page.evaluate("document.querySelector('svg').getBoundingClientRect().width") <= 390
        browser.close()
    assert problems == []
    assert (ink == "rgb(28, 33, 38)") == (scheme == "light")
