"""The label file against a dictionary, killed processes, other windows and processes, and damaged files."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramless.errors import DataError
from gramless.pictures.correcting import LABEL_FILE, LabelFile
from gramless.pictures.correcting.labels import REST

WORDS = st.sampled_from(["sea", "été", "a'b\"; DROP TABLE answers", "日本", REST])
STEP = st.tuples(
    st.sampled_from(["one", "two"]),
    st.sampled_from(["a.jpg", "deep/b.jpg"]),
    st.dictionaries(WORDS, st.sampled_from([True, False, None]), max_size=3),
)


@given(steps=st.lists(STEP | st.sampled_from(["one", "two"]), max_size=12))
def test_steps_and_undos_are_those_of_a_dictionary(steps, tmp_path_factory):
    """A step is kept as the values before and after it; undo puts back those that nobody changed since."""
    labels = LabelFile(tmp_path_factory.mktemp("labels") / LABEL_FILE)
    expected: dict[tuple[str, str], bool] = {}
    done: list[tuple[str, str, dict]] = []
    for step in steps:
        if isinstance(step, str):
            last = next((i for i in reversed(range(len(done))) if done[i][0] == step), None)
            assert labels.can_undo(step) == (last is not None)
            undone = labels.undo(step)
            assert undone == (None if last is None else done[last][1])
            if last is not None:
                _, picture, changes = done.pop(last)
                for word, (before, after) in changes.items():
                    if expected.get((picture, word)) == after:
                        put(expected, (picture, word), before)
        else:
            person, picture, changes = step
            news = {
                w: (expected.get((picture, w)), has) for w, has in changes.items() if expected.get((picture, w)) != has
            }
            assert labels.change(person, picture, changes) == bool(news)
            for word, (_, after) in news.items():
                put(expected, (picture, word), after)
            if news:
                done.append((person, picture, news))
    found = {(picture, word): has for picture, said in labels.answers().items() for word, has in said.items()}
    assert found == expected
    for picture in ("a.jpg", "deep/b.jpg", "no.jpg"):
        assert labels.answers_of(picture) == {w: has for (p, w), has in expected.items() if p == picture}
    labels.close()


def put(answers, key, has):
    answers.pop(key, None)
    if has is not None:
        answers[key] = has


def test_pictures_come_in_the_order_in_which_people_began(tmp_path):
    labels = LabelFile(tmp_path / LABEL_FILE)
    for picture in ("c", "a", "b", "a", "c"):
        labels.change("one", picture, {f"{picture}{labels.version()}": True})
    assert list(labels.answers()) == ["c", "a", "b"] == labels.changed_since(0)


def test_two_processes_see_each_other(tmp_path):
    one, two = LabelFile(tmp_path / LABEL_FILE), LabelFile(tmp_path / LABEL_FILE)
    before = two.version()
    one.change("one", "a", {"sea": True})
    assert two.answers() == {"a": {"sea": True}}
    assert two.changed_since(before) == ["a"]
    two.change("two", "a", {"sea": False})
    assert one.undo("one") == "a"  # of which nothing changes: the other one spoke last
    assert one.answers() == {"a": {"sea": False}}


def test_many_threads_lose_nothing(tmp_path):
    labels, others = LabelFile(tmp_path / LABEL_FILE), LabelFile(tmp_path / LABEL_FILE)
    with ThreadPoolExecutor(8) as people:
        for i in range(60):
            people.submit((labels, others)[i % 2].change, f"person {i % 3}", f"{i}.jpg", {"sea": True, "sky": False})
    assert labels.answers() == {f"{i}.jpg": {"sea": True, "sky": False} for i in range(60)}
    assert labels.version() == 120


KILLED = """
import sys
from pathlib import Path
from gramless.pictures.correcting.labels import LabelFile
labels = LabelFile(Path(sys.argv[1]))
for i in range(10**6):
    labels.change("one", f"{i}.jpg", {"sea": True, "sky": False, "": False})
    print(i, flush=True)
"""


def test_kill_9_loses_no_step_that_was_answered_for_and_leaves_no_half_one(tmp_path):
    path = tmp_path / LABEL_FILE
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    for _ in range(25):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    last = 24
    for line in process.stdout:  # what it still said before it died
        last = int(line) if line.endswith("\n") else last
    process.wait()
    found = LabelFile(path).answers()
    assert last + 1 <= len(found) <= last + 2
    assert all(said == {"sea": True, "sky": False, "": False} for said in found.values())
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_it_is_one_file(tmp_path):
    labels = LabelFile(tmp_path / LABEL_FILE)
    labels.change("one", "a", {"sea": True})
    labels.close()
    assert [file.name for file in tmp_path.iterdir()] == [LABEL_FILE]


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to look at" * 9, b"SQLite format 3\0" + b"x" * 999]
)
def test_a_damaged_file_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / LABEL_FILE
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be used"):
        LabelFile(path)
    assert path.read_bytes() == content


def test_a_file_of_another_version_or_folder_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / LABEL_FILE) as other:
        other.execute("CREATE TABLE something (x)")
    with pytest.raises(DataError, match="version 0"):
        LabelFile(tmp_path / LABEL_FILE)
    with pytest.raises(DataError, match="cannot be used"):
        LabelFile(tmp_path / "no folder" / LABEL_FILE)


def test_notes(tmp_path):
    labels = LabelFile(tmp_path / LABEL_FILE)
    assert labels.noted("curve") is None
    labels.note("curve", "[]")
    labels.note("curve", "[1]")
    assert LabelFile(tmp_path / LABEL_FILE).noted("curve") == "[1]"


CLOSED_WHILE_READ = """
import sys, threading
from contextlib import suppress
from pathlib import Path
from gramless.pictures.correcting.labels import LabelFile

def read(labels, stop):
    with suppress(Exception):  # sqlite3.ProgrammingError, in the end
        while not stop.is_set():
            labels.answers()

for number in range(200):
    labels, stop = LabelFile(Path(sys.argv[1])), threading.Event()
    labels.change("me", "a.jpg", {str(number): True})
    readers = [threading.Thread(target=read, args=(labels, stop)) for _ in range(3)]
    for reader in readers:
        reader.start()
    labels.close()
    stop.set()
    for reader in readers:
        reader.join()
"""


def test_closing_while_other_threads_read_ends_no_process(tmp_path):
    """In a process of its own: SQLite ends it where a connection is closed in the middle of a query."""
    done = subprocess.run([sys.executable, "-c", CLOSED_WHILE_READ, tmp_path / "labels.sqlite"], check=False)
    assert done.returncode == 0
