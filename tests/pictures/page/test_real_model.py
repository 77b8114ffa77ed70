"""The page in a real Chromium on a real model: a scene that it has not seen, and a text file."""

from __future__ import annotations

import pytest

from tests.pictures.annotation.conftest import fitted, scenes
from tests.pictures.page.test_page import payload, transfer_of, words

expect = pytest.importorskip("playwright.sync_api").expect

__all__ = ["fitted", "scenes"]  # fixtures


def test_a_dropped_scene_gets_the_keywords_that_the_model_gives_it(fitted, scenes, served, open_page):
    annotator = fitted.annotator
    scene = scenes.test.paths[0].read_bytes()
    page = open_page(served(annotator))
    page.dispatch_event("body", "drop", {"dataTransfer": transfer_of(page, ("scene.jpg", scene))})
    card = page.locator(".card[data-state=done]")
    expect(card).to_have_count(1)
    look = annotator.look(scene)
    assert words(card) == [suggestion.keyword for suggestion in look.suggestions]
    assert len(look.neighbours) == card.locator(".neighbours img").count() == 6
    for image in card.locator(".neighbours img").all():
        assert image.evaluate("image => image.complete && image.naturalWidth") == 160


def test_a_text_file_says_why_it_has_none(fitted, served, open_page):
    page = open_page(served(fitted.annotator))
    page.set_input_files("#files", [payload("diary.txt", b"Dear diary", "text/plain")])
    expect(page.locator(".card[data-state=failed] .state")).to_contain_text("This file is no picture")
