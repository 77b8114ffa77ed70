"""The page in a real Chromium: every way to give pictures, every state of a card, keyboard, phone, dark, hostile."""

from __future__ import annotations

import base64
import re

import pytest

from gramless.pictures.page.uploads import Limits
from tests.pictures.page.conftest import intercept
from tests.pictures.page.stand_in import BLUE, GREEN, RED, ColourModel, picture_bytes

expect = pytest.importorskip("playwright.sync_api").expect

MAKE_TRANSFER = """files => {
    const transfer = new DataTransfer();
    for (const [name, type, base64] of files) {
        const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0));
        transfer.items.add(new File([bytes], name, { type }));
    }
    return transfer;
}"""


def payload(name: str, content: bytes, kind: str = "image/jpeg") -> dict:
    return {"name": name, "mimeType": kind, "buffer": content}


def transfer_of(page, *files: tuple[str, bytes]):
    return page.evaluate_handle(
        MAKE_TRANSFER, [[name, "image/jpeg", base64.b64encode(content).decode()] for name, content in files]
    )


def words(card) -> list[str]:
    return card.locator(".word").all_text_contents()


def test_a_dropped_picture_gets_its_keywords_scores_and_neighbours(served, open_page):
    page = open_page(served(ColourModel()))
    transfer = transfer_of(page, ("sea.jpg", BLUE))
    page.dispatch_event("body", "dragenter", {"dataTransfer": transfer})
    expect(page.locator("body")).to_have_class(re.compile("dragging"))
    page.dispatch_event("body", "drop", {"dataTransfer": transfer})
    card = page.locator(".card[data-state=done]")
    expect(card).to_have_count(1)
    expect(page.locator("body")).not_to_have_class(re.compile("dragging"))
    look = ColourModel().look(BLUE)
    assert words(card) == [keyword for keyword, _ in look.suggestions]
    assert card.locator(".score").all_text_contents() == [f"{score:.2f}" for _, score in look.suggestions]
    track, fill = (card.locator(part).first.bounding_box()["width"] for part in (".track", ".fill"))
    assert fill / track == pytest.approx(look.suggestions[0].score, abs=0.01)
    assert card.locator(".similarity").all_text_contents() == ["0.88 alike", "0.50 alike"]
    assert card.locator(".shared").all_text_contents() == ["red, green", ""]
    assert card.locator(".neighbours img").count() == 1
    for image in card.locator("img").all():
        expect(image).to_have_js_property("complete", True)
        expect(image).to_have_js_property("naturalWidth", 48)
    expect(page.get_by_role("status").filter(has_text="sea.jpg")).to_have_text("sea.jpg: blue, red, green")


def test_chosen_pictures_keep_their_order_and_later_ones_come_on_top(served, open_page):
    page = open_page(served(ColourModel()))
    for files in ([("r.jpg", RED), ("g.jpg", GREEN)], [("b.jpg", BLUE)]):
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Choose pictures").click()
        assert chooser.value.is_multiple()
        chooser.value.set_files([payload(*file) for file in files])
    done = page.locator(".card[data-state=done]")
    expect(done).to_have_count(3)
    assert [(card.locator(".name").text_content(), words(card)[0]) for card in done.all()] == [
        ("b.jpg", "blue"),
        ("r.jpg", "red"),
        ("g.jpg", "green"),
    ]
    expect(page.locator("#progress")).to_be_hidden()


def test_a_pasted_picture_is_taken(served, open_page):
    page = open_page(served(ColourModel()))
    page.evaluate(
        "clipboardData => document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }))",
        transfer_of(page, ("image.png", GREEN)),
    )
    expect(page.locator(".card[data-state=done] .word").first).to_have_text("green")


def test_what_is_no_picture_says_why_on_its_card_and_the_others_go_on(served, open_page):
    page = open_page(served(ColourModel()))
    page.set_input_files(
        "#files",
        [payload("a.jpg", RED), payload("diary.txt", b"Dear diary", "text/plain"), payload("empty.jpg", b"")],
    )
    expect(page.locator(".card[data-state=done]")).to_have_count(1)
    failed = page.locator(".card[data-state=failed]")
    expect(failed).to_have_count(2)
    expect(failed.nth(0).locator(".name")).to_have_text("diary.txt")
    expect(failed.nth(0).locator(".state")).to_contain_text("This file is no picture")
    expect(failed.nth(1).locator(".state")).to_have_text("This file is empty.")
    expect(failed.get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="empty.jpg")).to_have_text("empty.jpg: This file is empty.")


def test_a_picture_over_the_limit_is_not_even_sent(served, open_page):
    model = ColourModel()
    page = open_page(served(model, Limits(picture_bytes=len(RED))))
    page.set_input_files("#files", [payload("large.jpg", RED + b" "), payload("fits.jpg", RED)])
    expect(page.locator(".card[data-state=done] .name")).to_have_text("fits.jpg")
    expect(page.locator(".card[data-state=failed] .state")).to_contain_text("more than the")
    assert model.seen == [RED]


def test_progress_cancel_and_try_again(served, open_page):
    model = ColourModel()
    model.gate.clear()
    page = open_page(served(model))
    page.set_input_files("#files", [payload("1.jpg", RED), payload("2.jpg", GREEN), payload("3.jpg", BLUE)])
    assert model.began.wait(timeout=120)
    expect(page.get_by_label("0 of 3 pictures")).to_be_visible()
    states = page.locator(".card").evaluate_all("cards => cards.map(card => card.dataset.state)")
    assert states == ["looking", "waiting", "waiting"]
    expect(page.locator("#clear")).to_be_hidden()
    page.get_by_role("button", name="Cancel").press("Enter")
    expect(page.locator(".card[data-state=cancelled]")).to_have_count(3)
    expect(page.locator("#progress")).to_be_hidden()
    expect(page.locator("#choose")).to_be_focused()  # the button that had the focus is gone
    model.gate.set()
    page.get_by_role("button", name="Try again").nth(2).click()
    expect(page.locator(".card[data-state=done] .name")).to_have_text("3.jpg")
    assert model.seen == [RED, BLUE]
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".card")).to_have_count(0)
    expect(page.locator("#results")).to_be_hidden()


def test_pictures_added_while_others_are_looked_at_join_the_queue(served, open_page):
    model = ColourModel()
    model.gate.clear()
    page = open_page(served(model))
    page.set_input_files("#files", [payload("1.jpg", RED)])
    assert model.began.wait(timeout=120)
    page.set_input_files("#files", [payload("2.jpg", GREEN), payload("3.jpg", BLUE)])
    expect(page.locator("#progress-text")).to_have_text("0 of 3 pictures")
    model.gate.set()
    expect(page.locator(".card[data-state=done]")).to_have_count(3)
    assert model.seen == [RED, GREEN, BLUE]


def test_a_server_that_is_gone_is_said_and_can_be_tried_again(served, open_page):
    page = open_page(served(ColourModel()))
    lost = []

    def lose(route) -> None:
        lost.append(route.request.url)
        route.fulfill(status=200, content_type="application/json", body="{")  # broken off in the middle

    intercept(page, "**/annotate", lose)
    expect(page.locator("#vocabulary")).to_be_visible()
    page.set_input_files("#files", [payload("1.jpg", RED)])
    expect(page.locator(".card[data-state=failed] .state")).to_contain_text("does not answer")
    page.unroute("**/annotate")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".card[data-state=done] .word").first).to_have_text("red")
    assert len(lost) == 1


def test_keyboard_alone(served, open_page):
    page = open_page(served(ColourModel()), permissions=["clipboard-read", "clipboard-write"])
    page.on("filechooser", lambda chooser: None)  # from now on none opens for real; a key is too quick for `expect`
    expect(page.locator("#vocabulary")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Choose pictures")).to_be_focused()
    outline = page.locator("#choose").evaluate("button => getComputedStyle(button).outlineStyle")
    assert outline == "solid"
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files([payload("g.jpg", GREEN)])
    expect(page.locator(".card[data-state=done]")).to_have_count(1)
    reached = []
    for _ in range(3):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim()"))
    assert reached == ["Clear", "Copy keywords", "This model knows 3 keywords"]
    page.keyboard.press("Enter")
    expect(page.locator("#vocabulary li")).to_have_text(["red", "green", "blue"])
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "green, red, blue"


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_sticks_out_at_the_side(served, open_page, width):
    keywords = ("Donaudampfschifffahrtsgesellschaft" * 3, "a rather long keyword of several words", "sea")
    page = open_page(served(ColourModel(keywords)), viewport={"width": width, "height": 800})
    page.set_input_files(
        "#files",
        [
            payload("IMG_" + "0123456789" * 12 + ".jpg", picture_bytes((9, 9, 9), size=(2000, 100))),
            payload("tall.jpg", picture_bytes((9, 200, 9), size=(60, 900))),
            payload("diary" * 40 + ".txt", b"Dear diary"),
        ],
    )
    expect(page.locator(".card[data-state=done]")).to_have_count(2)
    expect(page.locator(".card[data-state=failed]")).to_have_count(1)
    page.locator("#vocabulary summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for button in page.get_by_role("button").all():
        box = button.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["height"] >= (44 if width <= 390 else 38)  # a finger's width on a phone


def test_names_and_keywords_are_never_taken_for_markup(served, open_page):
    hostile = '<img src=x onerror="document.title=1">'
    page = open_page(served(ColourModel((hostile, "<b>green</b>", "&amp;"))))
    page.set_input_files("#files", [payload(f"{hostile.replace('/', '')}.jpg", RED)])
    card = page.locator(".card[data-state=done]")
    expect(card).to_have_count(1)
    assert words(card)[0] == hostile
    assert set(words(card)) == {hostile, "<b>green</b>", "&amp;"}
    assert card.locator(".name").text_content() == f"{hostile}.jpg"
    assert page.title() != "1"


CONTRASTS = """selectors => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const channels = colour => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const ground = element => {
        const colour = getComputedStyle(element).backgroundColor;
        return channels(colour)[3] ? channels(colour) : ground(element.parentElement);
    };
    return selectors.map(selector => {
        const element = document.querySelector(selector);
        return [channels(getComputedStyle(element).color), ground(element)];
    });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_in_light_and_dark(served, open_page, scheme):
    page = open_page(served(ColourModel()), color_scheme=scheme, reduced_motion="reduce")
    page.set_input_files("#files", [payload("a.jpg", RED), payload("b.jpg", b"no picture")])
    expect(page.locator(".card[data-state=failed]")).to_have_count(1)
    texts = [
        ".brand",
        "h1",
        ".how",
        "#choose",
        "#clear",
        ".copy",
        ".name",
        ".word",
        ".score",
        ".near h4",
        ".similarity",
    ]
    texts += [".shared", "[data-state=failed] .state", ".picture.unshown", "#vocabulary summary"]
    pairs = page.evaluate(CONTRASTS, texts)
    for selector, (ink, ground) in zip(texts, pairs, strict=True):
        assert contrast(ink, ground) >= 4.5, selector
    brightness = sum(pairs[0][1][:3])
    assert brightness > 600 if scheme == "light" else brightness < 150


def contrast(ink: list[int], ground: list[int]) -> float:
    """The contrast ratio of WCAG 2.2; 4.5 is its least for text."""

    def luminance(colour: list[int]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in colour[:3])]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(ink), luminance(ground)))
    return (light + 0.05) / (dark + 0.05)


def drop_from_the_desktop(page, path) -> None:
    """A drop as the window system makes it, which, unlike one made by a script, can bring a folder."""
    session = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 200, "y": 200, "data": data})


def test_of_a_dropped_folder_the_pictures_are_taken(served, open_page, tmp_path):
    album = tmp_path / "album"
    (album / "deeper").mkdir(parents=True)
    (album / "r.jpg").write_bytes(RED)
    (album / "deeper" / "b.jpg").write_bytes(BLUE)
    (album / "notes.txt").write_text("no picture")
    page = open_page(served(ColourModel()))
    drop_from_the_desktop(page, album)
    expect(page.locator(".card[data-state=done]")).to_have_count(2)
    assert sorted(page.locator(".card .name").all_text_contents()) == ["b.jpg", "r.jpg"]


def test_a_folder_without_pictures_is_said(served, open_page, tmp_path):
    (tmp_path / "empty").mkdir()
    page = open_page(served(ColourModel()))
    drop_from_the_desktop(page, tmp_path / "empty")
    expect(page.locator("#notice")).to_have_text("There are no pictures in this folder.")
    expect(page.locator(".card")).to_have_count(0)
