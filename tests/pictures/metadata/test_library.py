"""A library of 300 tagged JPEG files: learned from its own keywords, predicted, written, undone; nothing is left."""

import io
import itertools
import json
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

from gramless.pictures.datasets import read_annotated
from gramless.pictures.scenes import write_scenes
from tests.cli.conftest import call
from tests.pictures.metadata import photos
from tests.pictures.metadata.packets import bag, packet

N_DRAWN, N_PICTURES = 60, 300


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Drawn scenes, each five times in other light and mirrored, tagged in six ways."""
    folder = tmp_path_factory.mktemp("library")
    drawn = read_annotated(folder / "drawn", write_scenes(folder / "drawn", N_DRAWN, seed=4))
    for i in range(N_PICTURES):
        row = i % N_DRAWN
        words = [word for word, has in zip(drawn.keywords, drawn.labels[row], strict=True) if has]
        with Image.open(drawn.paths[row]) as scene:
            light = ImageEnhance.Brightness(scene.resize((96, 64))).enhance(0.8 + 0.1 * (i // N_DRAWN))
            picture = ImageOps.mirror(light) if i % 2 else light
        path = folder / "photos" / f"{i // 100}" / f"photo-{i:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_tagged(picture, words, i % 6, path))
    return folder / "photos"


def _tagged(picture, words, way, path):
    """As six programs would do it: XMP, a tree, digiKam's tags, IPTC, Windows' EXIF, a sidecar."""
    exif = photos.windows_exif(*words) if way == 4 else None
    paths = [f"scene|{word}" if word in ("sea", "sky") else word for word in words]
    lists = {
        0: bag("dc:subject", *words),
        1: bag("lr:hierarchicalSubject", *paths) + bag("dc:subject", *words),
        2: bag("digiKam:TagsList", *(each.replace("|", "/") for each in paths), kind="Seq") + "<dc:title>t</dc:title>",
        5: bag("dc:subject", *words),
    }
    segments = []
    if way in (0, 1, 2):
        segments.append(photos.xmp_segment(packet(lists[way])))
    if way == 3:
        segments.append(photos.iptc_segment(*(word.encode() for word in words), utf8=True))
    if way == 5:
        path.with_name(f"{path.name}.xmp").write_bytes(packet(lists[5]))
    return photos.jpeg(*segments, exif=exif, picture=picture)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def dump(folder):
    """What exiftool says of every file, but for what the file system says of it."""
    if shutil.which("exiftool") is None:
        pytest.skip("there is no exiftool here")
    arguments = [
        "exiftool",
        "-j",
        "-G1",
        "-struct",
        "-a",
        "-u",
        "--System:all",
        "-q",
        "-r",
        "-ext",
        "jpg",
        "-ext",
        "xmp",
    ]
    found = subprocess.run([*arguments, str(folder)], capture_output=True, check=True).stdout
    return sorted(json.loads(found), key=lambda entry: entry["SourceFile"])


@pytest.fixture(scope="module")
def model(library):
    done = call("annotate", "fit", library, "-o", library.parent / "m", "--views", "Rgb", "--landmarks", N_PICTURES)
    assert done.exit_code == 0, done.output
    assert f"keywords of {N_PICTURES} pictures from the pictures themselves" in done.stderr
    return library.parent / "m"


def test_it_is_learned_from_the_keywords_that_it_carries(library):
    found = read_annotated(library, None)
    drawn = read_annotated(library.parent / "drawn", library.parent / "drawn/keywords.csv")
    assert len(found) == N_PICTURES
    assert set(found.keywords) == {
        "scene",
        *(f"scene|{word}" if word in ("sea", "sky") else word for word in drawn.keywords),
    }
    for name, labels in zip(found.names, found.labels, strict=True):
        row = int(name[-7:-4]) % N_DRAWN
        words = {word for word, has in zip(drawn.keywords, drawn.labels[row], strict=True) if has}
        its = set(itertools.compress(found.keywords, labels))
        assert {each.rpartition("|")[2] for each in its} - {"scene"} == words
        assert ("scene" in its) == bool(words & {"sea", "sky"})


def test_written_and_undone_not_a_byte_is_left(library, model):
    before, owners = contents(library), read_annotated(library, None)
    predict = ("annotate", "predict", model, library, "--top", 6, "--cache", f"{model}.cache")
    assert call(*predict, "--to", "xmp", "--dry-run").exit_code == 0
    assert contents(library) == before
    beside = call(*predict, "--to", "xmp")
    assert beside.exit_code == 0, beside.output
    written = contents(library)
    assert len(written) > len(before)
    assert {name: written[name] for name in before if name.endswith(".jpg")} == {
        name: content for name, content in before.items() if name.endswith(".jpg")
    }
    inside = call(*predict, "--embed")
    assert inside.exit_code == 0, inside.output
    changed = [name for name, content in contents(library).items() if before.get(name, content) != content]
    assert len([name for name in changed if name.endswith(".jpg")]) > N_PICTURES / 3
    for name in changed:
        if name.endswith(".jpg"):
            assert photos.scan_of((library / name).read_bytes()) == photos.scan_of(before[name])
            now, then = (
                np.asarray(Image.open(io.BytesIO(data))) for data in ((library / name).read_bytes(), before[name])
            )
            np.testing.assert_array_equal(now, then)
    again = read_annotated(library, None)
    assert again.keywords == owners.keywords
    np.testing.assert_array_equal(again.labels, owners.labels)
    assert call("annotate", "undo", library).exit_code == 0
    assert contents(library) == before


def test_exiftool_says_the_same_before_and_after(library, model):
    before = dump(library)
    predict = ("annotate", "predict", model, library, "--cache", f"{model}.cache", "--threshold", 0.1)
    for way in (["--to", "xmp"], ["--embed"]):
        assert call(*predict, *way).exit_code == 0
    assert dump(library) != before
    assert call("annotate", "undo", library).exit_code == 0
    assert dump(library) == before
