"""The cache: what goes in comes out, and nothing that happens to its file stops the work."""

import sqlite3
import subprocess
import sys
import warnings

import numpy as np
import pytest

from gramless.errors import DataError
from gramless.pictures.features.cache import AT_ONCE, FILE_NAME, FeatureCache


def full_cache(folder, n=3):
    cache = FeatureCache(folder)
    for i in range(n):
        cache.keep("gist", bytes([i]), np.arange(i, i + 4, dtype=np.float32))
    cache.close()


def found(cache, recipe="gist", contents=(b"\0", b"\1", b"\2")):
    return dict(cache.find(recipe, contents))


def test_rows_come_back_exactly_after_a_restart(tmp_path, rng):
    rows = {i.to_bytes(4): rng.standard_normal(50).astype(np.float32) for i in range(2 * AT_ONCE + 7)}
    cache = FeatureCache(tmp_path / "new" / "folder")
    for content, row in rows.items():
        cache.keep("gist", content, row)
    cache.close()
    again = found(FeatureCache(tmp_path / "new" / "folder"), contents=[*rows, b"unknown"])
    assert again.keys() == rows.keys()
    for content, row in rows.items():
        np.testing.assert_array_equal(again[content], row)


KILLED = """
import os, sqlite3, sys
from pathlib import Path
from gramless.pictures.features.cache import FeatureCache
connect = sqlite3.connect
def watched(*arguments, **settings):
    connection = connect(*arguments, **settings)
    connection.set_trace_callback(lambda statement: "user_version =" in statement and os.kill(os.getpid(), 9))
    return connection
sqlite3.connect = watched
FeatureCache(Path(sys.argv[1]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9 there")
def test_a_cache_that_was_killed_while_it_was_made_is_made_anew(tmp_path):
    assert subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False).returncode == -9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        full_cache(tmp_path)
        assert len(found(FeatureCache(tmp_path))) == 3
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_another_recipe_is_another_row(tmp_path):
    full_cache(tmp_path)
    assert found(FeatureCache(tmp_path), "gist 2") == {}


def test_a_recipe_can_be_forgotten(tmp_path):
    full_cache(tmp_path)
    cache = FeatureCache(tmp_path)
    cache.keep("rgb", b"\0", np.ones(2, np.float32))
    cache.save()
    cache.forget("gist")
    assert found(cache) == {}
    assert len(found(cache, "rgb")) == 1


@pytest.mark.parametrize("damage", ["not a database at all, but a text" * 99, ""])
def test_a_file_that_is_no_cache(tmp_path, damage):
    (tmp_path / FILE_NAME).write_text(damage)
    if damage:
        with pytest.warns(UserWarning, match=r"no cache to use.*a new one begins"):
            full_cache(tmp_path)
        assert (tmp_path / "features.old").read_text() == damage
    else:
        full_cache(tmp_path)
    assert len(found(FeatureCache(tmp_path))) == 3


def test_a_file_of_another_version(tmp_path):
    full_cache(tmp_path)
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.warns(UserWarning, match="version 99"):
        cache = FeatureCache(tmp_path)
    assert found(cache) == {}


def test_damage_in_the_middle_is_met_when_it_is_read(tmp_path):
    cache = FeatureCache(tmp_path)
    rng = np.random.default_rng(0)
    for i in range(200):
        cache.keep("gist", bytes([i]), rng.random(500, dtype=np.float32))
    cache.close()
    path = tmp_path / FILE_NAME
    content = bytearray(path.read_bytes())
    content[4096:-4096] = bytes(len(content) - 8192)
    path.write_bytes(content)
    cache = FeatureCache(tmp_path)
    with pytest.warns(UserWarning, match="a new one begins"):
        assert found(cache, contents=[bytes([i]) for i in range(200)]) == {}
    cache.keep("gist", b"\0", np.ones(2, np.float32))
    cache.save()
    assert len(found(cache)) == 1


@pytest.mark.parametrize(
    "damage",
    [
        "numbers = x'789c00ff'",
        "numbers = x'789c4b4c4a0600024d0127'",  # three bytes, which are no float32 numbers
        "numbers = 'text'",
        "numbers = 7",
        "numbers = NULL",
        "numbers = (SELECT numbers FROM rows WHERE content = x'02')",  # a row of another picture
    ],
)
def test_a_damaged_row_is_a_missing_one(tmp_path, damage):
    full_cache(tmp_path)
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    with connection:
        connection.execute(f"UPDATE rows SET {damage} WHERE content = x'01'")
    connection.close()
    assert found(FeatureCache(tmp_path)).keys() == {b"\0", b"\2"}


def test_a_file_with_another_table_is_put_aside(tmp_path):
    full_cache(tmp_path)
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("ALTER TABLE rows RENAME COLUMN numbers TO figures")
    connection.close()
    with pytest.warns(UserWarning, match="a new one begins"):
        assert found(FeatureCache(tmp_path)) == {}
    assert (tmp_path / "features.old").exists()


def test_damage_that_is_met_while_writing_loses_no_new_row(tmp_path):
    full_cache(tmp_path)
    cache = FeatureCache(tmp_path)
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("DROP TABLE rows")
    connection.close()
    cache.keep("gist", b"\7", np.ones(2, np.float32))
    with pytest.warns(UserWarning, match="a new one begins"):
        cache.close()
    assert len(found(FeatureCache(tmp_path), contents=[b"\7"])) == 1


def test_no_damage_stops_the_work_or_gives_a_wrong_row(tmp_path, rng):
    contents = [rng.bytes(32) for _ in range(60)]
    rows = {content: rng.standard_normal(200).astype(np.float32) for content in contents}
    cache = FeatureCache(tmp_path)
    for content, row in rows.items():
        cache.keep("gist", content, row)
    cache.close()
    path = tmp_path / FILE_NAME
    whole = path.read_bytes()
    for i in range(60):
        damaged = bytearray(whole)
        if i % 3 == 0:
            damaged = damaged[: rng.integers(1, len(whole))]
        elif i % 3 == 1:
            for place in rng.integers(0, len(whole), 20):
                damaged[place] = rng.integers(0, 256)
        else:  # two of its pages change places
            one, other = 4096 * rng.integers(0, len(whole) // 4096, 2)
            damaged[one : one + 4096], damaged[other : other + 4096] = (
                whole[other : other + 4096],
                whole[one : one + 4096],
            )
        path.write_bytes(damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cache = FeatureCache(tmp_path)
            for content, row in cache.find("gist", contents):
                np.testing.assert_array_equal(row, rows[content])
            cache.keep("gist", contents[0], rows[contents[0]])
            cache.close()


def test_a_full_disk_is_said_once_and_the_work_goes_on(tmp_path, monkeypatch, rng):
    connect = sqlite3.connect

    def on_a_small_disk(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.execute("PRAGMA max_page_count = 12")
        return connection

    monkeypatch.setattr(sqlite3, "connect", on_a_small_disk)
    cache = FeatureCache(tmp_path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for i in range(50):
            cache.keep("gist", bytes([i]), rng.random(1000, dtype=np.float32))
            cache.save()
    assert len(told) == 1
    assert "database or disk is full" in str(told[0].message)
    monkeypatch.undo()
    assert 0 < len(found(FeatureCache(tmp_path), contents=[bytes([i]) for i in range(50)])) < 50


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="Name another folder"):
        FeatureCache(tmp_path / "file")


def test_a_file_that_cannot_be_opened(tmp_path):
    (tmp_path / FILE_NAME).mkdir()
    with pytest.warns(UserWarning, match="not kept"):
        cache = FeatureCache(tmp_path)
    cache.keep("gist", b"\0", np.ones(2, np.float32))
    cache.save()
    assert found(cache) == {}


def test_two_processes_may_share_a_folder(tmp_path):
    first, second = FeatureCache(tmp_path), FeatureCache(tmp_path)
    first.keep("gist", b"\0", np.zeros(2, np.float32))
    second.keep("gist", b"\1", np.ones(2, np.float32))
    first.save()
    second.save()
    assert found(first).keys() == found(second).keys() == {b"\0", b"\1"}
