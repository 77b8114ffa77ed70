"""The gallery: what the page says, that it needs nothing else, and how it behaves in a browser."""

import base64
import io
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gramless.errors import DataError, GramlessError
from gramless.pictures.annotation.annotator import Annotation, Suggestion
from gramless.pictures.gallery import save_gallery

CHROMIUM = shutil.which("chromium")
QUIET_CHROMIUM = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


class Page(HTMLParser):
    """Elements in order: tag, attributes, and all the text inside."""

    VOID = ("meta", "img", "input")

    def __init__(self, text):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), []))
        if tag not in self.VOID:
            self._open.append(self.elements[-1])

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        for _, _, texts in self._open:
            texts.append(data)

    def texts(self, tag, style=None):
        return [
            " ".join("".join(texts).split())
            for name, attributes, texts in self.elements
            if name == tag and (style is None or style in attributes.get("class", "").split())
        ]

    def attributes(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]


def picture(folder, name="a.png", size=(60, 40), colour="teal", **options):
    Image.new("RGB", size, colour).save(folder / name, **options)
    return folder / name


def annotate(path, keywords, truth=None, name=None):
    suggestions = tuple(Suggestion(keyword, score) for keyword, score in keywords.items())
    return Annotation(path, name or path.name, suggestions, truth)


def saved(folder, annotations, title="Pictures", summary=None, **options):
    save_gallery(folder / "g.html", annotations, title, summary or {}, **options)
    return Page((folder / "g.html").read_text(encoding="utf-8"))


def thumbnails(page):
    sources = [attributes["src"] for attributes in page.attributes("img")]
    assert all(source.startswith("data:image/jpeg;base64,") for source in sources)
    return [Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))) for source in sources]


def test_right_wrong_and_missed_keywords_are_told_apart_in_words_and_signs(tmp_path):
    keywords = {"sky": 0.9, "cat": 0.25, "sea": 1.7, "dog": -0.5}
    page = saved(tmp_path, [annotate(picture(tmp_path), keywords, truth=("sea", "sky", "boat"))])
    assert page.texts("span", "keyword")[:2] == ["right", "wrong"]  # the legend
    assert page.texts("span", "keyword")[2:] == ["sky, right,", "cat, wrong,", "sea, right,", "dog, wrong,"]
    assert page.texts("span", "mark")[2:] == ["✓", "✗", "✓", "✗"]
    assert page.texts("span", "score") == ["0.90", "0.25", "1.70", "-0.50"]
    assert [attributes["style"] for attributes in page.attributes("i")] == [
        "width:90.0%",
        "width:25.0%",
        "width:100.0%",
        "width:0.0%",
    ]
    assert page.texts("div", "missed") == ["missed boat"]


def test_nothing_is_judged_where_the_truth_is_unknown(tmp_path):
    page = saved(tmp_path, [annotate(picture(tmp_path), {"sky": 0.9}), annotate(picture(tmp_path), {})])
    assert page.texts("span", "keyword") == ["sky"]
    assert page.texts("span", "mark") == page.texts("div", "missed") == page.texts("p", "legend") == []
    assert page.texts("p", "quiet") == ["2 pictures", "no keyword"]


def test_thumbnails_are_small_upright_and_named(tmp_path):
    tall = np.zeros((600, 900, 3), np.uint8)
    tall[:, :450] = (255, 0, 0)  # lies on its side: what is left belongs on top
    rotated = Image.Exif()
    rotated[0x0112] = 6
    Image.fromarray(tall).save(tmp_path / "b.jpg", exif=rotated)
    page = saved(tmp_path, [annotate(picture(tmp_path), {}), annotate(tmp_path / "b.jpg", {}, name="sub/b.jpg")])
    small, upright = thumbnails(page)
    assert small.size == (60, 40)
    assert upright.size == (240, 360)
    assert upright.getpixel((120, 60))[0] > 200 > 50 > upright.getpixel((120, 300))[0]
    assert [attributes["alt"] for attributes in page.attributes("img")] == ["a.png", "sub/b.jpg"]
    assert page.texts("h2") == ["a.png", "sub/b.jpg"]


def test_a_picture_that_cannot_be_read_is_said_and_spoils_no_other(tmp_path):
    (tmp_path / "broken.jpg").write_bytes(b"no picture")
    page = saved(tmp_path, [annotate(tmp_path / "broken.jpg", {"sky": 0.5}), annotate(picture(tmp_path), {})])
    assert len(thumbnails(page)) == 1
    assert page.texts("div", "picture")[0].startswith("This picture is no picture")
    assert page.texts("span", "keyword") == ["sky"]


def test_hostile_names_keywords_and_titles_stay_text(tmp_path):
    evil = "<script>alert(1)</script>\"'&{{ 7*7 }}"
    page = saved(
        tmp_path, [annotate(picture(tmp_path), {evil: 0.5}, truth=(evil + "2",), name=evil)], evil, {evil: evil}
    )
    assert len(page.attributes("script")) == 1
    assert page.texts("h1") == page.texts("h2") == page.texts("title") == page.texts("dt") == page.texts("dd") == [evil]
    assert page.texts("div", "missed") == [f"missed {evil}2"]
    assert page.attributes("img")[0]["alt"] == evil
    assert [attributes["value"] for attributes in page.attributes("option")] == [evil, evil + "2"]


def test_of_many_pictures_some_are_shown_and_the_page_says_so(tmp_path):
    path = picture(tmp_path)
    annotations = [annotate(path, {}, name=f"{i}.png") for i in range(2000)]
    page = saved(tmp_path, annotations, limit=4)
    assert page.texts("h2") == ["0.png", "500.png", "1000.png", "1500.png"]
    assert page.texts("p", "quiet")[0] == "4 of 2,000 pictures, evenly spread over all of them"
    assert len(saved(tmp_path, annotations[:3], limit=3).texts("h2")) == 3
    with pytest.raises(DataError, match="limit=0"):
        saved(tmp_path, annotations, limit=0)


def test_no_pictures_at_all_is_a_page_too(tmp_path):
    page = saved(tmp_path, [], summary={"mean F": "41.3 %"})
    assert page.texts("p", "quiet") == ["0 pictures"]
    assert (page.texts("dt"), page.texts("dd")) == (["mean F"], ["41.3 %"])


def test_the_page_names_no_other_place(tmp_path):
    saved(tmp_path, [annotate(picture(tmp_path), {"sky": 0.5})])
    text = (tmp_path / "g.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//\w|url\(|@import|<link", re.sub(r"base64,[\w+/=]+", "", text))
    assert str(tmp_path) not in text


def test_an_interrupted_gallery_leaves_the_old_one(tmp_path):
    class Interrupted(type(Path())):
        def __fspath__(self):
            raise KeyboardInterrupt

    (tmp_path / "g.html").write_text("before")
    with pytest.raises(KeyboardInterrupt):
        saved(tmp_path, [annotate(Interrupted(tmp_path / "a.png"), {})])
    assert (tmp_path / "g.html").read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


def test_without_jinja_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(GramlessError, match=r"pip install 'gramless\[pictures\]'"):
        saved(tmp_path, [])


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=QUIET_CHROMIUM)
        yield chromium
        chromium.close()


@pytest.fixture
def gallery(tmp_path):
    path = picture(tmp_path)
    long_word = "Straßenbahnhaltestellenschild" * 3
    tall = picture(tmp_path, "tall.png", (40, 400))
    saved(
        tmp_path,
        [
            annotate(path, {"sea": 0.9, "Boat": 0.5}, truth=("sea", "sky")),
            annotate(tall, {long_word: 0.9}, truth=("seal", long_word + "2"), name=f"{'folder/' * 30}x.png"),
            annotate(path, {"tree": 0.4}, truth=()),
        ],
    )
    return (tmp_path / "g.html").as_uri()


def test_in_a_browser_the_keyboard_filters_pictures(browser, gallery):
    page = browser.new_page()
    requests, errors = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(gallery)
    cards = page.locator(".cards > li")
    page.keyboard.press("Tab")
    for typed, seen in (("SEA", [0, 1]), (", sky", [0])):
        page.keyboard.type(typed)
        assert [i for i in range(3) if cards.nth(i).is_visible()] == seen
    assert page.get_by_role("status").inner_text() == "1 of 3"
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert cards.first.is_visible()
    assert cards.nth(2).is_visible()
    assert errors == []
    assert [url for url in requests if not url.startswith("data:")] == [gallery]
    page.close()


def test_on_a_phone_nothing_is_wider_than_the_screen(browser, gallery):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(gallery)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for part in page.locator("article, h2, .keyword, .score, .missed li").all():
        box = part.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.close()


def test_without_scripts_every_picture_is_there_and_no_dead_box(browser, gallery):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(gallery)
    assert page.locator(".cards > li").count() == 3
    assert all(page.locator("article").nth(i).is_visible() for i in range(3))
    assert not page.locator("#wanted").is_visible()
    context.close()


def test_dark_screens_get_a_dark_page(browser, gallery):
    lightness = []
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto(gallery)
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        lightness.append(sum(map(int, re.findall(r"\d+", colour))))
        page.close()
    assert lightness[0] > 600 > 100 > lightness[1]
