"""The progress bar: silent at first, silent where nobody looks, and never two at a time."""

import io
import time

import pytest
from rich.console import Console

from gramless.support import progress
from gramless.support.progress import ProgressBar, Waiting


@pytest.fixture
def screen(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(file=written, force_terminal=True, width=80))
    return written


def test_silent_within_two_seconds(screen):
    with ProgressBar("work", 2) as bar:
        bar.advance()
        bar.advance()
    assert screen.getvalue() == ""


def test_drawn_when_it_takes_longer_and_not_nested(screen, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", -1.0)
    with ProgressBar("outer work", 2) as outer:
        outer.advance()
        with ProgressBar("inner work", 2) as inner:
            inner.advance()
        outer.advance()
    assert "outer work" in screen.getvalue()
    assert "inner work" not in screen.getvalue()
    with ProgressBar("next work", 1) as bar:
        bar.advance()
    assert "next work" in screen.getvalue()


def test_silent_where_nobody_looks(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(file=written, force_terminal=False))
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", -1.0)
    with ProgressBar("work", 1) as bar:
        bar.advance()
    assert written.getvalue() == ""


def test_waiting_is_said_after_two_seconds_only(screen, monkeypatch):
    with Waiting("quick work"):
        pass
    assert screen.getvalue() == ""
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    with Waiting("slow work"):
        for _ in range(600):  # until it is there: the thread that says so waits for its turn
            if "slow work" in screen.getvalue():
                break
            time.sleep(0.1)
    assert "slow work" in screen.getvalue()


def test_waiting_is_silent_under_a_bar(screen, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    with ProgressBar("outer work", 1) as bar:
        time.sleep(0.01)
        bar.advance()
        with Waiting("inner work"):
            time.sleep(0.2)
    assert "inner work" not in screen.getvalue()
