"""Everything that people's folders hold and disks do: what can be used is used, the rest is listed, nothing breaks."""

import contextlib
import csv
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import gramless
from gramless.cli.problems import MOST_LISTED, list_problems
from gramless.support.pages import Problem
from tests.cli.conftest import VIEWS, call

NOBODY = 65_534


def fit(pictures, model, *more):
    return call("annotate", "fit", pictures, "-o", model, "--views", "Rgb", *more)


@pytest.fixture
def album(studio, tmp_path) -> Path:
    """Twelve scenes and a keyword file with their own keywords."""
    folder = tmp_path / "album"
    folder.mkdir()
    with open(studio / "scenes/keywords.csv") as file:
        rows = list(csv.reader(file))[:13]
    for name, _ in rows[1:]:
        shutil.copy(studio / "scenes" / name, folder)
    write_keywords(folder, rows[1:])
    return folder


def write_keywords(folder, rows):
    with open(folder / "keywords.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["file", "keywords"], *rows])


def add_keywords(folder, *rows):
    with open(folder / "keywords.csv", newline="", encoding="utf-8") as file:
        before = list(csv.reader(file))[1:]
    write_keywords(folder, [*before, *rows])


def put_odd_pictures(folder, scene):
    """One picture of every odd kind; the names of those that can be used, and of the others."""
    picture = Image.open(scene)
    picture.convert("CMYK").save(folder / "cmyk.jpg")
    picture.convert("RGBA").save(folder / "alpha.png")
    depth = (np.asarray(picture.convert("L")).astype(np.uint16)) * 257
    Image.fromarray(depth).save(folder / "sixteen.png")
    picture.save(folder / "moving.gif", save_all=True, append_images=[picture.rotate(90)] * 2)
    exif = Image.Exif()
    exif[0x0112] = 6
    picture.save(folder / "turned.jpg", exif=exif)
    Image.new("1", (20_000, 20_000)).save(folder / "huge.png")
    whole = scene.read_bytes()
    (folder / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "corrupt.png").write_bytes(b"\x89PNG\r\n\x1a\n" + whole[:400])
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "text.jpg").write_text("this is no picture")
    return (
        ["cmyk.jpg", "alpha.png", "sixteen.png", "moving.gif", "turned.jpg"],
        {"huge.png": "pixels", "cut.jpg": "cut off", "corrupt.png": "", "empty.jpg": "empty", "text.jpg": "no picture"},
    )


def test_fit_uses_what_can_be_read_and_lists_the_rest(album, tmp_path):
    good, bad = put_odd_pictures(album, album / "scene-0000.jpg")
    add_keywords(album, *([name, "odd;sky"] for name in (*good, *bad)))
    done = fit(album, tmp_path / "m", "--keywords", album / "keywords.csv")
    assert done.exit_code == 0, done.output
    known = gramless.load(tmp_path / "m").album.names
    assert set(good) <= set(known)
    assert not set(bad) & set(known)
    for name, reason in bad.items():
        (line,) = [line for line in done.stderr.splitlines() if line.startswith(f"  {name}: ")]
        assert reason in line


def test_predict_uses_what_can_be_read_and_lists_the_rest(model, photos):
    good, bad = put_odd_pictures(photos, photos / "scene-0000.jpg")
    done = call("annotate", "predict", model, photos, "--to", "json")
    assert done.exit_code == 0
    entries = {entry["file"]: entry for entry in json.loads(done.stdout)}
    assert {name for name, entry in entries.items() if "error" in entry} == set(bad)
    assert all(entries[name]["keywords"] for name in good)
    assert all(f"  {name}: " in done.stderr for name in bad)
    only_bad = [photos / name for name in bad]
    assert call("annotate", "predict", model, *only_bad).exit_code == 1


def test_pictures_without_keywords_and_keywords_without_pictures_are_listed(album, tmp_path):
    shutil.copy(album / "scene-0001.jpg", album / "nobody-knows.jpg")
    add_keywords(album, ["lost.jpg", "sky"])
    done = fit(album, tmp_path / "m", "--keywords", album / "keywords.csv")
    assert done.exit_code == 0, done.output
    assert "nobody-knows.jpg: has no keywords" in done.stderr
    assert "lost.jpg: is in the keyword file, but there is no such picture" in done.stderr
    assert len(gramless.load(tmp_path / "m").album) == 12


def test_the_same_name_in_two_folders_is_two_pictures(album, tmp_path):
    for folder in ("a", "b"):
        (album / folder).mkdir()
        shutil.copy(album / f"scene-000{len(folder)}.jpg", album / folder / "same.jpg")
    add_keywords(album, ["a/same.jpg", "first;sky"], ["b/same.jpg", "second;sky"], ["same.jpg", "which"])
    done = fit(album, tmp_path / "m", "--keywords", album / "keywords.csv")
    assert done.exit_code == 0, done.output
    learned = gramless.load(tmp_path / "m")
    assert {"a/same.jpg", "b/same.jpg"} <= set(learned.album.names)
    assert {"first", "second"} <= set(learned.keywords)
    assert "which" not in learned.keywords
    assert "same.jpg: could be a/same.jpg or b/same.jpg" in done.stderr


def test_names_and_keywords_in_any_script(album, tmp_path):
    (album / "scene-0000.jpg").rename(album / "été 海 [bold].jpg")
    add_keywords(album, ["été 海 [bold].jpg", "海;été;naïve :smile:;[red]x"])
    done = fit(album, tmp_path / "modèle", "--keywords", album / "keywords.csv")
    assert done.exit_code == 0, done.output
    shown = call("annotate", "show", tmp_path / "modèle").stdout
    for keyword in ("海", "été", "naïve :smile:", "[red]x"):
        assert f"{keyword} 1" in shown
    table = call("annotate", "predict", tmp_path / "modèle", album / "été 海 [bold].jpg", "--top", 30).stdout
    assert "été 海 [bold].jpg" in table
    assert "[red]x" in table


def test_bytes_that_are_no_text_in_a_file_name(model, photos):
    odd = os.fsencode(photos) + b"/caf\xe9.jpg"
    try:
        shutil.copy(os.fsencode(photos / "scene-0000.jpg"), odd)
    except OSError:
        pytest.skip("this file system wants UTF-8")
    done = call("annotate", "predict", model, photos)
    assert done.exit_code == 0
    assert "caf�.jpg" in done.stdout


def test_what_is_no_ordinary_file_is_told_and_skipped(model, photos):
    os.mkfifo(photos / "a.png")
    (photos / "b.png").symlink_to("/dev/zero")
    os.mkfifo(photos / "scene-0000.jpg.xmp")
    done = call("annotate", "predict", model, photos, "--to", "xmp")
    assert done.exit_code == 0, done.output
    assert "  a.png: is a fifo, not an ordinary file\n" in done.stderr
    assert "  b.png: is a device, not an ordinary file\n" in done.stderr
    assert "scene-0000.jpg.xmp: is a fifo, not an ordinary file, so it is left alone" in done.stderr
    assert done.stdout.startswith("4 files changed: ")


def test_escape_sequences_in_names_are_shown_and_not_obeyed(model, photos):
    shutil.copy(photos / "scene-0000.jpg", photos / "\x1b[31mred\n.jpg")
    (photos / "\x1b]0;title\x07.png").write_text("no picture")
    done = call("annotate", "predict", model, photos)
    assert done.exit_code == 0, done.output
    assert "\\x1b[31mred\\n.jpg" in done.stdout
    assert "  \\x1b]0;title\\x07.png: is no picture" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    done = call("annotate", "predict", model, photos / "\x1b[31mgone.jpg")
    assert done.exit_code == 1
    assert "\\x1b[31mgone.jpg" in done.stderr


def test_a_keyword_file_that_never_ends(photos, tmp_path, monkeypatch):
    monkeypatch.setattr("gramless.pictures.datasets.keyword_files.MOST_BYTES", 10**6)
    done = fit(photos, tmp_path / "m", "--keywords", "/dev/zero")
    assert done.exit_code == 1
    assert "/dev/zero has more than 1,000,000 bytes" in done.stderr


def test_a_keyword_with_one_example_is_learned_and_said_to_be_rare(album, tmp_path):
    add_keywords(album, ["scene-0003.jpg", "once"])
    done = fit(album, tmp_path / "m", "--keywords", album / "keywords.csv")
    assert done.exit_code == 0, done.output
    assert "fewer than 5 examples" in done.stdout
    assert "once 1" in call("annotate", "show", tmp_path / "m").stdout


def test_one_keyword_for_all_cannot_be_learned(studio, tmp_path):
    (tmp_path / "in/only").mkdir(parents=True)
    shutil.copy(studio / "scenes/scene-0000.jpg", tmp_path / "in/only")
    done = fit(tmp_path / "in", tmp_path / "m")
    assert done.exit_code == 1
    assert "at least two keywords" in done.stderr
    assert not (tmp_path / "m").exists()


def test_very_many_problems_are_cut_off(capsys):
    list_problems("Not used", [Problem(f"{i}.jpg", "is empty") for i in range(MOST_LISTED + 7)])
    told = capsys.readouterr().err
    assert told.startswith(f"Not used ({MOST_LISTED + 7}):\n")
    assert told.count("is empty") == MOST_LISTED
    assert told.endswith("  and 7 more\n")


@contextlib.contextmanager
def as_nobody(*places):
    """Root reads everything, so another user does it for a while; whoever runs this as somebody else stays that."""
    if os.geteuid() != 0:
        yield
        return
    for place in places:
        for folder in (place, *place.parents):
            if folder.stat().st_mode & 0o005 != 0o005:  # pytest's own folders are private
                folder.chmod(0o755)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_pictures_and_folders_that_may_not_be_read_are_listed(model, photos):
    (photos / "closed").mkdir(mode=0)
    (photos / "scene-0000.jpg").chmod(0)
    with as_nobody(photos, model.parent):
        done = call("annotate", "predict", model, photos, "--to", "json")
    assert done.exit_code == 0, done.output
    assert "  scene-0000.jpg: may not be read\n" in done.stderr
    assert "closed: this folder may not be read: Permission denied\n" in done.stderr
    assert len([entry for entry in json.loads(done.stdout) if "keywords" in entry]) == 4


def test_a_model_that_may_not_be_read_is_explained(model, photos, tmp_path):
    closed = tmp_path / "closed.gramless"
    shutil.copy(model, closed)
    closed.chmod(0)
    with as_nobody(photos):
        done = call("annotate", "predict", closed, photos)
    assert done.exit_code == 1
    assert "ermission denied" in done.stderr
    assert str(closed) in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_output_where_nothing_may_be_written_is_refused_before_computing(model, photos, tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("nothing may be computed")

    monkeypatch.setattr("gramless.cli.annotate_fit.read_pictures", refuse)
    monkeypatch.setattr("gramless.pictures.annotation.load_annotator", refuse)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    for output in (closed / "out", tmp_path / "nowhere" / "out", tmp_path, Path("/dev/null")):
        for arguments in (
            ["fit", photos, "-o", output],
            ["predict", model, photos, "--to", "csv", "-o", output],
            ["predict", model, photos, "--gallery", output],
        ):
            with as_nobody(photos):
                done = call("annotate", *arguments)
            assert done.exit_code == 2, done.output
            assert str(output) in done.stderr
            assert done.stderr.count("\n") == 1


def test_what_is_read_is_never_written_over(model, photos, album):
    before = (album / "keywords.csv").read_bytes()
    done = fit(album, album / "keywords.csv", "--keywords", album / "keywords.csv")
    assert done.exit_code == 2
    assert (album / "keywords.csv").read_bytes() == before
    done = call("annotate", "predict", model, photos, "--to", "csv", "-o", model)
    assert done.exit_code == 2
    assert gramless.load(model)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 200 kilobytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=200k", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mounting, capture_output=True).returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_leaves_nothing_half_written(small_disk, studio, tmp_path):
    scenes, model = studio / "scenes", small_disk / "model.gramless"
    done = call(
        *("annotate", "fit", scenes, "--keywords", scenes / "keywords.csv", "--views", VIEWS),
        *("-o", model, "--cache", studio / "model.gramless.cache"),
    )
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith(
        f"{model} was not written: No space left on device. The disk is full"
    )
    assert list(small_disk.iterdir()) == []


def test_a_full_cache_does_not_stop_predictions(small_disk, model, photos):
    (small_disk / "ballast").write_bytes(bytes(190_000))
    done = call("annotate", "predict", model, photos, "--cache", small_disk / "cache")
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("Warning: features are computed, but not kept")
    assert done.stderr.count("\n") == 1


def gramless_process(*arguments, home, **options):
    """The real thing, in a process group of its own, as a terminal starts it."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "HOME": str(home),
        "MPLCONFIGDIR": str(home.parent / "matplotlib"),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "gramless.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # ignored where tests run in the background
        **options,
    )


def test_ctrl_c_keeps_what_was_computed_and_the_next_run_uses_it(studio, tmp_path):
    scenes, model = studio / "scenes", tmp_path / "model.gramless"
    home = tmp_path / "home"
    home.mkdir()
    arguments = (
        *("annotate", "fit", scenes, "--keywords", scenes / "keywords.csv"),
        *("-o", model, "--views", "Rgb,Gist"),
    )
    process = gramless_process(*arguments, home=home)
    database = tmp_path / "model.gramless.cache/features.sqlite"
    while process.poll() is None and not cached_rows(database):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    last = f"Interrupted; features that were computed are in {model}.cache and will be used next time."
    assert err.splitlines()[-1] == last
    assert "Traceback" not in err
    assert not model.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "model.gramless.cache"]
    kept = cached_rows(database)
    assert kept
    done = call(*arguments)
    assert done.exit_code == 0, done.output
    assert kept < cached_rows(database)  # a row that was computed again would have a new number


def cached_rows(database) -> set[tuple]:
    """What the cache holds: the number of each row, what it is a row of, and of which picture."""
    if not database.exists():
        return set()
    with contextlib.closing(sqlite3.connect(database)) as connection:
        try:
            return set(connection.execute("SELECT rowid, recipe, content FROM rows"))
        except sqlite3.OperationalError:  # it is just being made
            return set()


def listing(folder):
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(folder.rglob("*"))}


def test_nothing_is_written_but_the_output(model, photos, tmp_path):
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    before = [listing(folder) for folder in (photos, home, here, model.parent)]
    process = gramless_process(
        *("annotate", "predict", model, photos, "--to", "csv", "--gallery", tmp_path / "page.html"), home=home, cwd=here
    )
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out.count("scene-") == 5
    assert [listing(folder) for folder in (photos, home, here, model.parent)] == before
    assert (tmp_path / "page.html").exists()
