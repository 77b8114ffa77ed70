"""The folder page in a real Chromium: corrections by click and keyboard, two windows, many pictures, phone, dark."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

from gramless.pictures.correcting.cache import CACHE_FOLDER, PictureCache
from gramless.pictures.correcting.labels import REST
from gramless.pictures.datasets.picture_files import list_folder
from tests.pictures.correcting.conftest import opened, settled, studio, wait_until
from tests.pictures.page.conftest import intercept
from tests.pictures.page.test_page import CONTRASTS, contrast

expect = pytest.importorskip("playwright.sync_api").expect

__all__ = ["opened", "studio"]  # fixtures

PHONE = {"width": 390, "height": 844}


@pytest.fixture
def folder(opened):
    return settled(opened())


@pytest.fixture
def page(folder, served, open_page):
    return open_folder_page(folder, served, open_page)


def open_folder_page(folder, served, open_page, **context):
    context = {"viewport": {"width": 1200, "height": 800}, **context}
    page = open_page(served(folder, folder=folder), **context)
    page.goto(page.url + "folder.html")
    wait_for_pictures(page)
    return page


def wait_for_pictures(page) -> None:
    expect(page.locator(".cell .words").first).not_to_be_empty()


def chips(page) -> list[str]:
    return page.locator("#chips .word").all_text_contents()


def position(page) -> int:
    return int(page.locator(".cell[aria-current=true]").get_attribute("data-id"))


def test_accept_strike_add_and_undo_by_click(page, folder):
    page.locator(".cell").nth(2).click()
    expect(page.locator("#detail")).to_be_visible()
    here, words = position(page), chips(page)
    assert words == [word["keyword"] for word in folder.describe(here)["keywords"]]
    page.get_by_role("button", name=f"Accept {words[0]}", exact=True).click()
    expect(page.locator("#chips li").nth(0)).to_have_class("said-yes")
    page.get_by_role("button", name=f"Strike {words[1]}", exact=True).click()
    expect(page.locator("#chips li").nth(1)).to_have_class("said-no")
    page.get_by_label("Add a keyword").fill("harbour; lighthouse")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#chips li.said-yes")).to_have_count(3)
    assert folder.said(here) == {words[0]: True, words[1]: False, "harbour": True, "lighthouse": True}
    expect(page.locator(".cell[aria-current=true] b")).to_have_count(3)
    for left in (1, 1, 0):
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#chips li.said-yes")).to_have_count(left)
    assert folder.said(here) == {}
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()


def test_all_right_accepts_what_is_left_and_goes_on(page, folder):
    page.locator(".cell").first.click()
    here, words = position(page), chips(page)
    page.get_by_role("button", name=f"Strike {words[0]}", exact=True).click()
    expect(page.locator("#chips li").nth(0)).to_have_class("said-no")
    page.get_by_role("button", name="All right, next").click()
    expect(page.locator(".cell").nth(1)).to_have_attribute("aria-current", "true")
    assert folder.said(here) == {words[0]: False, REST: False} | dict.fromkeys(words[1:], True)
    expect(page.locator(".cell .badge").first).to_have_text("✓")
    expect(page.get_by_role("button", name="Answered 1")).to_be_visible()


def test_all_right_waits_for_what_was_struck_a_moment_ago_and_goes_on_once(page, folder):
    def slowly(route):
        page.wait_for_timeout(300)
        route.continue_()

    intercept(page, "**/folder/corrections", slowly)
    wait_for_pictures(page)
    page.locator(".cell").first.click()
    here, words = position(page), chips(page)
    for key in ("Shift+Digit1", "Enter", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".cell").nth(1)).to_have_attribute("aria-current", "true")
    assert folder.said(here) == {words[0]: False, REST: False} | dict.fromkeys(words[1:], True)
    assert folder.said(position(page)) == {}


def test_keyboard_alone_from_the_first_picture_to_learning(page, folder):
    page.keyboard.press("n")
    expect(page.locator(".cell").first).to_be_focused()
    first, words = position(page), chips(page)
    page.keyboard.press("1")
    expect(page.locator("#chips li").nth(0)).to_have_class("said-yes")
    page.keyboard.press("Shift+Digit2")
    expect(page.locator("#chips li").nth(1)).to_have_class("said-no")
    page.keyboard.press("a")
    expect(page.get_by_label("Add a keyword")).to_be_focused()
    page.keyboard.type("n1 u")  # letters that would do something elsewhere
    page.keyboard.press("Enter")
    expect(page.locator("#chips li.said-yes")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.locator(".cell").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".cell").nth(1)).to_be_focused()
    assert folder.said(first) == {words[0]: True, words[1]: False, "n1 u": True, REST: False} | dict.fromkeys(
        words[2:], True
    )
    columns = page.locator(".cell").evaluate_all(
        "cells => cells.filter(c => c.getBoundingClientRect().top === cells[0].getBoundingClientRect().top).length"
    )
    page.keyboard.press("ArrowDown")
    expect(page.locator(".cell[aria-current=true]")).to_be_focused()
    assert page.locator(".cell").evaluate_all("cells => cells.findIndex(c => c.ariaCurrent === 'true')") == 1 + columns
    for key in ("ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator(".cell").first).to_be_focused()
    page.keyboard.press("u")
    expect(page.locator("#chips li.said-yes")).to_have_count(2)
    page.keyboard.press("Control+z")
    expect(page.locator("#chips li.said-yes")).to_have_count(1)
    page.keyboard.press("l")
    expect(page.locator("#heading")).to_contain_text("Like this one")
    assert position(page) == first
    page.keyboard.press("Shift+Tab")  # into the tools: everything there is a button or a field
    reached = set()
    for _ in range(14):
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        page.keyboard.press("Shift+Tab")
    assert {"learn", "undo", "keyword", "Which next"} <= reached
    page.locator("#learn").focus()
    outline = page.locator("#learn").evaluate("button => getComputedStyle(button).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    wait_until(lambda: folder.model_version == 1)
    expect(page.locator("#work")).to_contain_text("learned again in")


def test_a_keyword_with_a_slider_and_its_likes(page, folder):
    page.get_by_label("Show pictures with this keyword").fill("sea")
    page.keyboard.press("Enter")
    expect(page.locator("#heading")).to_contain_text("“sea”")
    p = folder.suggestions.probabilities[:, folder.keywords.index("sea")]
    expect(page.locator("#heading")).to_contain_text(f"· {(p >= 0.5).sum()} picture")
    page.locator("#least").fill("0.2")
    expect(page.locator("#slide")).to_contain_text("at least 20 % probable")
    expect(page.locator("#heading")).to_contain_text(f"· {(p >= 0.2).sum()} picture")
    best = round(100 * float(p.max()))
    expect(page.locator(".cell .badge").first).to_have_text(f"{best} %")
    page.get_by_role("button", name="Near-duplicates").click()
    expect(page.locator("#heading")).to_contain_text("Nearly the same")


def test_two_windows_see_each_other(folder, served, open_page):
    address = served(folder, folder=folder)
    one, two = (open_page(address) for _ in range(2))
    for page in (one, two):
        page.goto(address + "/folder.html")
        page.get_by_role("button", name="All", exact=True).click()
        expect(page.locator("#heading")).to_contain_text("All pictures")
        page.locator(".cell").nth(3).click()
    words = chips(one)
    one.get_by_role("button", name=f"Strike {words[0]}", exact=True).click()
    expect(two.locator("#chips li").nth(0)).to_have_class("said-no")
    two.get_by_role("button", name=f"Accept {words[1]}", exact=True).click()
    expect(one.locator("#chips li").nth(1)).to_have_class("said-yes")
    one.get_by_role("button", name="Undo").click()
    expect(two.locator("#chips li").nth(0)).not_to_have_class("said-no")
    expect(one.locator("#chips li").nth(1)).to_have_class("said-yes")  # the other one's stays
    assert folder.said(3) == {words[1]: True}


def test_a_window_that_is_loaded_anew_can_still_undo(page, folder):
    page.locator(".cell").first.click()
    here = position(page)
    page.keyboard.press("1")
    expect(page.locator("#chips li").nth(0)).to_have_class("said-yes")
    page.reload()
    page.get_by_role("button", name="Undo").click()
    wait_until(lambda: folder.said(here) == {})


@pytest.mark.parametrize("n", [20_000])
def test_very_many_pictures_are_a_few_cells(studio, opened, served, open_page, tmp_path, n):
    top = tmp_path / "many"
    top.mkdir()
    for i in range(n):
        os.link(studio.inside.paths[i % 40], top / f"{i:06d}.jpg")
    listing = list_folder(top)
    album, rng = studio.annotator.album.vectors, np.random.default_rng(0)
    (top / CACHE_FOLDER).mkdir()
    cache = PictureCache(top / CACHE_FOLDER)
    vectors = album[rng.integers(0, len(album), n)] + rng.normal(size=(n, album.shape[1])) * 0.1
    cache.keep_vectors("map", zip(listing.names, listing.stamps, vectors, strict=True))
    cache.close()
    folder = opened(top)
    page = open_folder_page(folder, served, open_page)
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.locator("#heading")).to_contain_text(f"{n:,} pictures")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    last = page.locator(f".cell[data-id='{n - 1}']")
    expect(last).to_be_visible()
    expect(last.locator(".words")).not_to_be_empty()
    assert page.locator(".cell").count() < 150
    expect(last.locator("img")).to_have_js_property("naturalWidth", 192)
    page.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
    expect(page.locator(f".cell[data-id='{n // 2}'] .words")).not_to_be_empty()
    page.locator(f".cell[data-id='{n // 2}']").click()
    expect(page.locator("#detail .name")).to_have_text(f"{n // 2:06d}.jpg")


def test_an_answer_that_comes_late_is_not_taken_for_what_is_shown_now(studio, opened, served, open_page, tmp_path):
    top = studio.copy(tmp_path / "pictures")
    for i in range(160):
        os.link(studio.inside.paths[i % 40], top / f"z{i:03d}.jpg")
    folder = settled(opened(top))
    page = open_folder_page(folder, served, open_page)
    late = []
    intercept(page, "**/folder/pictures?show=next*", lambda route: late.append(route))
    expect(page.locator("#heading")).to_have_text("Looking …")
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.locator("#heading")).to_contain_text("All pictures · 200 pictures")
    with page.expect_response("**/folder/pictures?show=next*") as answer:
        late[0].continue_()
    answer.value.finished()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.locator(".cell[data-id='199'] .words")).not_to_be_empty()
    expect(page.locator("#heading")).to_contain_text("All pictures · 200 pictures")


def test_what_was_scrolled_past_is_not_loaded(studio, opened, served, open_page, tmp_path):
    top = studio.copy(tmp_path / "pictures")
    for i in range(960):
        os.link(studio.inside.paths[i % 40], top / f"z{i:03d}.jpg")
    page = open_folder_page(settled(opened(top)), served, open_page)
    intercept(page, "**/folder/thumbnails/*", lambda route: None)  # no answer comes
    wait_for_pictures(page)
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.locator("#heading")).to_contain_text("1,000 pictures")
    with page.expect_request("**/folder/thumbnails/500"):
        page.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/folder/thumbnails/500")):
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.locator(".cell[data-id='999'] .words")).not_to_be_empty()
    expect(page.locator(".cell[data-id='500']")).to_have_count(0)


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_sticks_out_at_the_side(folder, served, open_page, width):
    folder.change("me", 0, {"Donaudampfschifffahrtsgesellschaft" * 2: True, REST: False})
    page = open_folder_page(folder, served, open_page, viewport={"width": width, "height": 800})
    page.get_by_role("button", name="Near-duplicates").click()
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.locator("#heading")).to_contain_text("All pictures")
    page.locator("#more summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    menu = page.locator("#more > div").bounding_box()
    assert menu["x"] >= 0
    assert menu["x"] + menu["width"] <= width
    page.locator("#more summary").click()
    for step in range(2):
        if step:
            page.locator(".cell").first.click()
            expect(page.locator("#detail")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for button in page.locator("button:visible").all():
            box = button.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["height"] >= (44 if width <= 390 else 38)


def test_on_a_phone_the_picture_covers_the_others_and_can_be_closed(folder, served, open_page):
    page = open_folder_page(folder, served, open_page, viewport=PHONE, has_touch=True, color_scheme="dark")
    page.locator(".cell").nth(1).tap()
    expect(page.locator("#detail")).to_be_visible()  # a tap becomes a click a moment later
    box = page.locator("#detail").bounding_box()
    assert (box["x"], box["width"]) == (0, 390)
    here, words = position(page), chips(page)
    page.get_by_role("button", name=f"Strike {words[0]}", exact=True).tap()
    expect(page.locator("#chips li").nth(0)).to_have_class("said-no")
    page.get_by_role("button", name="All right, next").tap()
    expect(page.locator("#detail .name")).not_to_have_text(folder.listing.names[here])
    page.get_by_role("button", name="Close").tap()
    expect(page.locator("#detail")).to_be_hidden()
    assert folder.said(here)[REST] is False


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_in_light_and_dark(folder, served, open_page, scheme):
    words = [word["keyword"] for word in folder.describe(0)["keywords"]]
    folder.change("me", 0, {words[0]: True, words[1]: False})
    page = open_folder_page(folder, served, open_page, color_scheme=scheme, reduced_motion="reduce")
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.locator("#heading")).to_contain_text("All pictures")
    page.locator(".cell").first.click()
    texts = [
        "#folder",
        "#work",
        "#heading",
        ".show[aria-pressed=true]",
        "#learn",
        ".words",
        ".words b",
        "#detail .name",
    ]
    texts += [
        "#detail .state",
        ".said-yes .word",
        ".said-no .word",
        ".said-yes .score",
        "#right",
        ".keys summary",
        ".said-no .no",
    ]
    pairs = page.evaluate(CONTRASTS, texts)
    for selector, (ink, ground) in zip(texts, pairs, strict=True):
        assert contrast(ink, ground) >= 4.5, selector


def test_names_and_keywords_are_never_taken_for_markup(studio, opened, served, open_page, tmp_path):
    top = tmp_path / "odd"
    top.mkdir()
    hostile = '<img src=x onerror="document.title=1">'
    for i in range(3):
        (top / f"{hostile}{i}.jpg").write_bytes(studio.inside.paths[i].read_bytes())
    folder = settled(opened(top))
    page = open_folder_page(folder, served, open_page)
    page.locator(".cell").first.click()
    page.get_by_label("Add a keyword").fill(hostile)
    page.keyboard.press("Enter")
    expect(page.locator("#chips .said-yes .word")).to_have_text(hostile)
    expect(page.locator("#detail .name")).to_have_text(re.compile(re.escape(hostile)))
    page.get_by_label("Show pictures with this keyword").fill(hostile)
    page.keyboard.press("Enter")
    expect(page.locator("#heading")).to_have_text(f"“{hostile}” · 1 picture")
    assert page.title() != "1"


def test_pictures_that_cannot_be_read_are_shown_with_the_reason(studio, opened, served, open_page, tmp_path):
    top = studio.copy(tmp_path / "pictures")
    (top / "broken.jpg").write_bytes(b"no picture")
    page = open_folder_page(settled(opened(top)), served, open_page)
    page.get_by_role("button", name="Unreadable 1").click()
    expect(page.locator("#heading")).to_have_text("Cannot be read · 1 picture")
    expect(page.locator(".thumb")).to_contain_text("no picture")
    expect(page.locator(".words")).to_have_text("broken.jpg")


def test_escape_leads_from_a_field_to_the_pictures(page):
    page.get_by_label("Show pictures with this keyword").focus()
    page.keyboard.press("Escape")
    expect(page.locator(".cell").first).to_be_focused()


def test_a_server_that_is_gone_is_said(page, folder):
    broken_off = {"status": 200, "content_type": "application/json", "body": "{"}
    intercept(page, "**/folder/corrections", lambda route: route.fulfill(**broken_off))
    wait_for_pictures(page)
    page.locator(".cell").first.click()
    page.keyboard.press("1")
    expect(page.locator("#notice")).to_contain_text("does not answer")
    page.unroute("**/folder/corrections")
    page.keyboard.press("1")
    expect(page.locator("#chips li").first).to_have_class("said-yes")
    expect(page.locator("#notice")).to_be_empty()


def test_answers_are_saved_as_csv_and_written_as_xmp(page, folder):
    page.locator(".cell").first.click()
    page.get_by_role("button", name="All right, next").click()
    expect(page.get_by_role("button", name="Answered 1")).to_be_visible()
    page.locator("#more summary").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Save answers as CSV").click()
    assert download.value.suggested_filename == "keywords.csv"
    page.locator("#more summary").click()
    page.get_by_role("button", name="Write answers to XMP").click()
    expect(page.locator("#heading")).to_contain_text("1 picture has its keywords beside it")


def test_the_upload_page_leads_to_the_folder_and_back(folder, served, open_page):
    page = open_page(served(folder, folder=folder))
    page.get_by_role("link", name="Folder").click()
    expect(page.locator("#folder")).to_have_text("pictures")
    page.get_by_role("link", name="Drop pictures").click()
    expect(page.get_by_role("button", name="Choose pictures")).to_be_visible()


def test_the_documentation_is_readable_and_from_here(folder, served, open_page):
    page = open_page(served(folder, folder=folder))
    page.goto(page.url + "docs")
    expect(page.get_by_role("heading", name="POST/annotate")).to_be_visible()
    expect(page.locator("#routes")).to_contain_text("multipart/form-data")
    expect(page.get_by_role("heading", name="POST/folder/corrections")).to_be_visible()
