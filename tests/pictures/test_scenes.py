"""Drawn scenes: keywords that are true, pictures that vary, folders that are whole."""

import csv
import subprocess
import sys

import cv2
import numpy as np
import pytest

from gramless.errors import DataError
from gramless.pictures.datasets import read_annotated
from gramless.pictures.scenes import draw_scene, scenes, write_scenes
from gramless.support.packages import MissingPackageError

N = 150


@pytest.fixture(scope="module")
def drawn():
    return [draw_scene(np.random.default_rng([5, i])) for i in range(N)]


def share(picture, test):
    """The share of pixels that a test on hue (degrees), saturation and value (0 ... 1) accepts."""
    hue, saturation, value = np.moveaxis(cv2.cvtColor(picture, cv2.COLOR_RGB2HSV), 2, 0).astype(float)
    return np.mean(test(hue * 2, saturation / 255, value / 255))


def test_pictures_have_their_size_and_three_to_six_known_keywords(drawn):
    for picture, keywords in drawn:
        assert picture.shape == (128, 192, 3)
        assert picture.dtype == np.uint8
        assert 3 <= len(set(keywords)) == len(keywords) <= 6
        assert set(keywords) <= set(scenes.KEYWORDS)


def test_every_keyword_occurs_and_none_is_everywhere(drawn):
    counts = {word: sum(word in keywords for _, keywords in drawn) for word in scenes.KEYWORDS}
    assert min(counts.values()) >= 2
    assert max(counts.values()) < 0.75 * N


def test_what_goes_together_goes_together(drawn):
    for _, keywords in drawn:
        assert len({"sky", "sunset", "night"} & set(keywords)) == 1
        assert not {"moon", "sun"} <= set(keywords)
        assert "moon" not in keywords or "night" in keywords
        assert "boat" not in keywords or "sea" in keywords


def test_nights_are_dark_and_days_are_bright(drawn):
    brightness = {word: [p.mean() for p, keywords in drawn if word in keywords] for word in ("night", "sky")}
    assert max(brightness["night"]) < min(brightness["sky"])


def test_colours_are_seen_by_day(drawn):
    """A red thing by day puts red into the picture, and without one there is next to none."""

    def red(hue, saturation, value):
        return ((hue < 8) | (hue > 345)) & (saturation > 0.45) & (value > 0.4)

    day = [(share(picture, red), keywords) for picture, keywords in drawn if "sky" in keywords]
    with_red = [amount for amount, keywords in day if "red" in keywords]
    without = [amount for amount, keywords in day if not {"red", "brick", "purple"} & set(keywords)]
    assert min(with_red) > 2 * max(without)


def test_grass_is_green_by_day_and_snow_is_pale(drawn):
    def green(hue, saturation, value):
        return (hue > 70) & (hue < 160) & (saturation > 0.25)

    for picture, keywords in drawn:
        if "sky" in keywords:
            assert (share(picture[100:], green) > 0.5) == ("grass" in keywords)


def test_a_seed_gives_a_scene_and_another_seed_another(drawn):
    again, keywords = draw_scene(np.random.default_rng([5, 3]))
    np.testing.assert_array_equal(again, drawn[3][0])
    assert keywords == drawn[3][1]
    assert len({picture.tobytes() for picture, _ in drawn}) == N


@pytest.mark.parametrize("size", [(32, 32), (128, 192), (301, 97)])
def test_other_sizes_and_upright_pictures_can_be_drawn(size):
    for i in range(8):
        picture, _ = draw_scene(np.random.default_rng(i), size)
        assert picture.shape == (size[1], size[0], 3)


def test_a_size_that_shows_nothing_is_refused():
    with pytest.raises(DataError, match="16 x 40 pixels"):
        draw_scene(np.random.default_rng(0), (16, 40))


def test_a_written_folder_holds_what_was_drawn_and_can_be_read_back(tmp_path, drawn):
    path = write_scenes(tmp_path / "new" / "scenes", 4, seed=5)
    assert path == tmp_path / "new" / "scenes" / "keywords.csv"
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["scenes"]
    found = read_annotated(path.parent, path)
    assert found.problems == ()
    for i, picture_path in enumerate(found.paths):
        read = cv2.imread(str(picture_path))[..., ::-1].astype(float)
        assert np.abs(read - drawn[i][0]).mean() < 6  # JPEG, on noise
    with path.open(encoding="utf-8", newline="") as file:
        assert [row[1].split(";") for row in list(csv.reader(file))[1:]] == [list(drawn[i][1]) for i in range(4)]


def test_the_first_scenes_do_not_depend_on_how_many_follow(tmp_path):
    few, many = write_scenes(tmp_path / "few", 2, seed=1), write_scenes(tmp_path / "many", 3, seed=1)
    for name in ("scene-0000.jpg", "scene-0001.jpg"):
        assert (few.parent / name).read_bytes() == (many.parent / name).read_bytes()


def test_an_interrupted_folder_is_not_there_at_all(tmp_path, monkeypatch):
    draw, calls = scenes.draw_scene, []

    def interrupted(rng):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return draw(rng)

    monkeypatch.setattr(scenes, "draw_scene", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_scenes(tmp_path / "scenes", 5, seed=0)
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_the_callers_is_overwritten(tmp_path):
    (tmp_path / "mine").mkdir()
    write_scenes(tmp_path / "mine", 1, seed=0)
    before = sorted(path.name for path in (tmp_path / "mine").iterdir())
    (tmp_path / "file").write_text("mine")
    for name in ("mine", "file"):
        with pytest.raises(DataError, match="there already"):
            write_scenes(tmp_path / name, 2, seed=0)
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == before
    with pytest.raises(DataError, match="at least one"):
        write_scenes(tmp_path / "none", 0, seed=0)


def test_without_opencv_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'gramless\[pictures\]'"):
        draw_scene(np.random.default_rng(0))


def test_importing_data_sets_imports_no_optional_package():
    code = "import sys, gramless.pictures.datasets; print(sorted({'cv2', 'PIL', 'matplotlib'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
