"""`gramless serve MODEL FOLDER` as people run it: thirty corrections in a browser, kill -9 between, learning again."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from gramless.pictures.annotation import judge
from gramless.pictures.correcting import LABEL_FILE, LabelFile
from gramless.pictures.correcting.labels import REST
from gramless.storage import load, save
from tests.pictures.correcting.conftest import studio, wait_until
from tests.pictures.page.conftest import PATIENCE

expect = pytest.importorskip("playwright.sync_api").expect

__all__ = ["studio"]  # a fixture
N_CORRECTED, KILLED_AFTER = 30, 17


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[subprocess.Popen, str]]:
    command = [sys.executable, "-m", "gramless.cli", "serve", *map(str, arguments)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, process.stderr.read()
        yield process, found.group()
    finally:
        process.kill()
        process.communicate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def words(page, chips: str) -> list[str]:
    return page.locator(f"#chips {chips} .word").all_text_contents()


def strike_what_is_wrong(page, truth: set[str]) -> None:
    """By the keys 1 to 9; where a new model has just changed the keywords the page asks to look again, as this does."""
    for _ in range(10):
        struck = words(page, ".said-no")
        wrong = [i for i, word in enumerate(words(page, ""), 1) if word not in {*truth, *struck}]
        if not wrong:
            return
        for number in wrong:
            if number < 10:
                page.keyboard.press(f"Shift+Digit{number}")
            else:  # there are nine such keys
                page.locator("#chips .no").nth(number - 1).click()
        with suppress(AssertionError):
            expect(page.locator("#chips .said-no")).to_have_count(len(struck) + len(wrong), timeout=20_000)
    raise AssertionError(f"{len(wrong)} keywords could not be struck")


def put_right(page, studio) -> str:
    """What a person does who knows what is in a picture: strike what is wrong, add what is missing, go on."""
    name = page.locator("#detail .name").text_content()
    truth = {word for word, has in studio.truth(name).items() if has}
    strike_what_is_wrong(page, truth)
    missing = truth - {*words(page, "")}
    page.keyboard.press("a")
    page.keyboard.type("; ".join(sorted(missing)))
    page.keyboard.press("Enter")
    expect(page.locator("#chips .said-yes")).to_have_count(len(missing))
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect(page.locator("#detail .name")).not_to_have_text(name)
    return name


def test_thirty_corrections_survive_kill_9_and_teach(studio, tmp_path, browser):
    top = studio.copy(tmp_path / "pictures")
    model, learned, port = tmp_path / "model.gramless", tmp_path / "model-corrected.gramless", free_port()
    save(studio.annotator, model)
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    corrected = []
    with serving(model, top, "--port", port) as (process, address):
        page.goto(address)
        expect(page.locator("#work")).to_have_text("40 pictures")
        page.keyboard.press("n")
        expect(page.locator("#detail")).to_be_visible()
        for _ in range(KILLED_AFTER):
            corrected.append(put_right(page, studio))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    kept = LabelFile(top / LABEL_FILE).answers()
    assert list(kept) == corrected
    with serving(model, top, "--port", port) as (_, address):
        expect(page.locator("#work")).to_contain_text("learned again")  # by itself, as the page waits
        expect(page.locator("#learn")).to_be_enabled()
        page.keyboard.press("n")  # what would teach the new model most
        expect(page.locator("body")).to_have_attribute("aria-busy", "false")
        for _ in range(N_CORRECTED - KILLED_AFTER):
            corrected.append(put_right(page, studio))
        expect(page.locator("[data-show=answered]")).to_have_text(f"Answered {N_CORRECTED}")
        before = learned.stat().st_mtime_ns
        expect(page.locator("#learn")).to_be_enabled()
        page.locator("#learn").click()
        expect(page.locator("#quality summary")).to_contain_text("On held-out pictures")
        wait_until(lambda: learned.stat().st_mtime_ns > before)
        expect(page.locator("#work")).to_contain_text("saved as model-corrected.gramless")
        rise = re.findall(r"[\d.]+(?= %)", page.locator("#quality summary").text_content())
        assert float(rise[0]) > float(rise[1])
    context.close()
    said = LabelFile(top / LABEL_FILE).answers()
    assert len(said) == N_CORRECTED == len(set(corrected))
    for name, answers in said.items():
        truth = studio.truth(name)
        assert {word for word, has in answers.items() if has} == {word for word, has in truth.items() if has}
        assert answers[REST] is False
    first, last = (judge(load(file), studio.test) for file in (model, learned))
    print(
        f"MAP of pictures {first.quality.map_pictures:.1f} -> {last.quality.map_pictures:.1f}, of keywords "
        f"{first.quality.map_keywords:.1f} -> {last.quality.map_keywords:.1f}, "
        f"F1 {first.quality.macro.f1:.1f} -> {last.quality.macro.f1:.1f}"
    )
    assert last.quality.map_pictures > first.quality.map_pictures  # of keywords: see test_open_folder
