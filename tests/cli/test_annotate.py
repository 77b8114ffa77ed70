"""`gramless annotate` and `gramless serve` on good input: what is printed, what is written, and what is refused."""

import csv
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import gramless
from gramless.cli.annotate_fit import names_of_views
from gramless.cli.problems import INTERRUPTED, MOST_LISTED
from gramless.pictures.datasets import read_annotated
from gramless.pictures.features import FeatureCache
from gramless.pictures.scenes.scenes import KEYWORDS
from gramless.support.atomic import write_atomically
from tests.cli.conftest import N_SCENES, call
from tests.pictures.metadata import photos as photo_files
from tests.pictures.metadata.packets import entries_of


def test_fit_says_what_it_does_and_what_came_out(studio):
    stages = (studio / "fit.err").read_text()
    assert [line for line in stages.splitlines() if line.endswith("...")] == [
        "describing pictures ...",
        "making thumbnails ...",
        "learning keywords ...",
    ]
    told = (studio / "fit.out").read_text()
    assert re.search(rf"pictures +{N_SCENES}\b", told)
    assert re.search(r"keywords +2\d \(\d+ of them with fewer than 5 examples\)", told)
    assert re.search(r"most weight +(Rgb|Gist) \d+ %, (Rgb|Gist) \d+ %", told)
    assert re.search(rf"On your {N_SCENES} pictures, each asked of classifiers that had not seen it", told)
    assert re.search(r"wrong keywords +\d\.\d\d per picture, \d+ in all", told)
    assert "Keywords, the worst first" in told
    assert f"model: {studio / 'model.gramless'} (" in told
    assert f"cache: {studio / 'model.gramless.cache'} (" in told
    assert sorted(path.name for path in studio.iterdir() if "gramless" in path.name) == [
        "model.gramless",
        "model.gramless.cache",
    ]


def test_the_printed_figures_are_those_of_unseen_training_pictures(studio, model):
    annotator = gramless.load(model)
    told = (studio / "fit.out").read_text()
    p = annotator.probabilities(annotator.classifier.unseen_scores_)
    given, truth = annotator.choose(p), annotator.album.labels > 0
    assert re.search(rf"right keywords +\S+ per picture, {(given & truth).sum():,} in all", told)
    assert re.search(rf"wrong keywords +\S+ per picture, {(given & ~truth).sum():,} in all", told)
    assert re.search(rf"given keywords right +{100 * (given & truth).sum() / given.sum():.1f} %", told)


def test_a_folder_for_each_keyword_is_learned_from(studio, tmp_path):
    for i, word in enumerate(["meer", "berg"] * 6):
        (tmp_path / "in" / word).mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / word / f"{i}.jpg").write_bytes((studio / f"scenes/scene-{i:04d}.jpg").read_bytes())
    done = call("annotate", "fit", tmp_path / "in", "-o", tmp_path / "m", "--views", "Rgb", "--cache", tmp_path / "c")
    assert done.exit_code == 0, done.output
    annotator = gramless.load(tmp_path / "m")
    assert annotator.keywords == ("berg", "meer")
    assert annotator.exclusive
    assert "one keyword per picture, or none" in done.stdout
    assert "from the names of the folders that they are in" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "in", "m"]


def test_a_fit_that_is_interrupted_before_the_model_is_saved_describes_nothing_twice(studio, tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    model = tmp_path / "m"
    fit = ("annotate", "fit", studio / "scenes", "--keywords", studio / "scenes/keywords.csv", "-o", model)
    with monkeypatch.context() as patched:
        patched.setattr("gramless.storage.save", interrupt)
        assert call(*fit, "--views", "Rgb").exit_code == INTERRUPTED
    assert not model.exists()
    monkeypatch.setattr(FeatureCache, "keep", lambda *arguments: pytest.fail("this was described already"))
    done = call(*fit, "--views", "Rgb")
    assert done.exit_code == 0, done.output
    assert model.exists()


def test_names_of_views():
    assert names_of_views("standard") == ("EfficientNet-Lite0@320", "Lab")
    assert names_of_views("learned") == ("EfficientNet-Lite0@320",)
    assert len(names_of_views("both")) == 1 + len(names_of_views("handcrafted")) == 16
    assert names_of_views(" Rgb, Gist") == ("Rgb", "Gist")


def test_predict_prints_a_table_with_as_many_keywords_as_wanted(model, photos):
    done = call("annotate", "predict", model, photos, "--top", 2)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    rows = [line for line in done.stdout.splitlines() if ".jpg" in line]
    assert [len(re.findall(r"\d\.\d\d", row)) for row in rows] == [2] * 5


def test_a_threshold_gives_all_probable_keywords_and_no_other(model, photos):
    p = {}
    annotator = gramless.load(model)
    for path in photos.iterdir():
        views = annotator.features.describe([path]).views
        p[path.name] = annotator.probabilities(annotator.margins(views))[0]
    done = call("annotate", "predict", model, photos, "--threshold", 0.4, "--to", "json")
    for entry in json.loads(done.stdout):
        expected = {annotator.keywords[j] for j in np.flatnonzero(p[entry["file"]] >= 0.4)}
        assert {given["keyword"] for given in entry["keywords"]} == expected


def test_csv_goes_to_stdout_or_whole_into_a_file_and_can_be_learned_from(model, photos, tmp_path):
    out = tmp_path / "keywords.csv"
    printed = call("annotate", "predict", model, photos, "--to", "csv")
    done = call("annotate", "predict", model, photos, "--to", "csv", "-o", out)
    assert done.exit_code == 0
    assert str(out) in done.stdout
    assert printed.stdout_bytes == out.read_bytes()
    rows = list(csv.DictReader(io.StringIO(out.read_text("utf-8-sig"))))
    assert {row["file"] for row in rows} == {path.name for path in photos.iterdir()}
    assert set(rows[0]["keywords"].split("; ")) <= set(KEYWORDS)
    assert len(read_annotated(photos, out)) == 5


def test_xmp_lies_beside_the_pictures_and_joins_what_is_there(model, photos):
    before = {path.name: path.read_bytes() for path in photos.iterdir()}
    predict = ("annotate", "predict", model, photos, "--to", "xmp", "--top", 3)
    planned = call(*predict, "--dry-run")
    assert planned.exit_code == 0
    assert planned.stdout.count(".jpg.xmp: + ") == 5
    assert "5 files would be changed: 15 keywords would be written, 0 would be taken back" in planned.stdout
    assert {path.name for path in photos.iterdir()} == set(before)
    done = call(*predict)
    assert done.stdout == "5 files changed: 15 keywords written, 0 taken back\n"
    sidecar = photos / "scene-0000.jpg.xmp"
    items = entries_of(sidecar.read_bytes())
    assert len(items) == 3
    theirs = sidecar.read_bytes().replace(f"<rdf:li>{items[0]}</rdf:li>".encode(), b"<rdf:li>Grandmother</rdf:li>", 1)
    sidecar.write_bytes(theirs)
    (photos / "scene-0001.jpg.xmp").write_text("no xml")
    done = call(*predict)
    assert done.exit_code == 0
    assert done.stdout.startswith("1 file changed: 0 keywords written, 1 taken back; 3 were left")  # one was struck
    assert "scene-0001.jpg.xmp: is no XML" in done.stderr
    assert entries_of(sidecar.read_bytes()) == ["Grandmother", *items[1:]]
    done = call("annotate", "undo", photos)
    assert done.exit_code == 0
    assert done.stdout == "4 files changed: 0 keywords written, 11 taken back\n"
    assert entries_of(sidecar.read_bytes()) == ["Grandmother"]
    assert {path.name: path.read_bytes() for path in photos.glob("*.jpg")} == before
    one = ("annotate", "predict", model, photos / "scene-0002.jpg", "--to", "xmp", "--top", 1)
    assert call(*one).stdout == "1 file changed: 1 keyword written, 0 taken back\n"
    left = "0 files {0}changed: 0 keywords {0}written, 0 {0}taken back; 1 {1}\n"
    assert call(*one).stdout == left.format("", "was left as it was")
    assert call(*one, "--dry-run").stdout == left.format("would be ", "would be left as it is")
    assert call("annotate", "undo", photos / "scene-0002.jpg").exit_code == 0
    assert sorted(path.name for path in photos.glob("*.xmp")) == ["scene-0000.jpg.xmp", "scene-0001.jpg.xmp"]


def test_keywords_in_the_files_are_undone_without_a_trace(model, photos):
    before = {path: path.read_bytes() for path in photos.iterdir()}
    done = call("annotate", "predict", model, photos, "--embed", "--top", 2)
    assert done.stdout == "5 files changed: 10 keywords written, 0 taken back\n"
    assert all(path.read_bytes() != content for path, content in before.items())
    assert {path: photo_files.scan_of(path.read_bytes()) for path in before} == {
        path: photo_files.scan_of(content) for path, content in before.items()
    }
    planned = call("annotate", "undo", photos, "--dry-run")
    assert planned.stdout.count(".jpg: - ") == 5
    assert "5 files would be changed: 0 keywords would be written, 10 would be taken back" in planned.stdout
    assert call("annotate", "undo", photos).exit_code == 0
    assert {path: path.read_bytes() for path in photos.iterdir()} == before
    assert call("annotate", "undo", photos / "nowhere").exit_code == 1


def test_an_interrupt_tells_of_all_that_was_written(model, photos, monkeypatch):
    written = []

    def write(path, fill):
        if len(written) == 3:
            raise KeyboardInterrupt
        written.append(path)
        write_atomically(path, fill)

    monkeypatch.setattr("gramless.pictures.metadata.writing.write_atomically", write)
    done = call("annotate", "predict", model, photos, "--to", "xmp", "--top", 2)
    assert done.exit_code == INTERRUPTED
    assert done.stdout == "3 files changed: 6 keywords written, 0 taken back\n"
    assert len(list(photos.glob("*.xmp"))) == 3
    monkeypatch.undo()
    taken_back = []

    def sync(folder):
        taken_back.append(folder)
        if len(taken_back) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("gramless.pictures.metadata.writing.sync_folder", sync)
    done = call("annotate", "undo", photos)
    assert done.exit_code == INTERRUPTED
    assert done.stdout == "1 file changed: 0 keywords written, 2 taken back\n"


def test_keywords_that_could_be_written_nowhere_are_a_failure(model, photos):
    pictures = sorted(photos.iterdir())[:2]
    for picture in pictures:
        picture.with_name(f"{picture.name}.xmp").write_text("no xml")
    assert call("annotate", "predict", model, *pictures, "--to", "xmp").exit_code == 1
    Path(f"{pictures[0]}.xmp").unlink()
    assert call("annotate", "predict", model, *pictures, "--to", "xmp").exit_code == 0


def test_pictures_without_keywords_are_not_counted_as_failures(model, photos):
    done = call("annotate", "predict", model, photos, "--to", "xmp", "--threshold", 1)
    assert done.exit_code == 0
    assert done.stdout.startswith("0 files changed")
    assert done.stderr == ""
    assert len(list(photos.iterdir())) == 5


def test_evaluate_prints_the_measures_and_writes_them(studio, model, tmp_path):
    scenes, numbers, gallery = studio / "scenes", tmp_path / "numbers.json", tmp_path / "gallery.html"
    done = call(
        *("annotate", "evaluate", model, scenes, "--keywords", scenes / "keywords.csv"),
        *("-o", numbers, "--gallery", gallery, "--cache", f"{model}.cache", "--plot", tmp_path / "plot.png"),
    )
    assert done.exit_code == 0, done.output
    found = json.loads(numbers.read_text())
    annotator, pictures = gramless.load(model), read_annotated(scenes, scenes / "keywords.csv")
    views = annotator.features.describe(pictures.paths).views
    given = annotator.choose(annotator.probabilities(annotator.margins(views)))
    truth = pictures.labels > 0
    right = (given & truth).sum(0)
    assert found["macro"]["recall"] == pytest.approx(100 * np.mean(right / truth.sum(0)))
    assert found["macro"]["precision"] == pytest.approx(100 * np.mean(right / np.maximum(given.sum(0), 1)))
    assert found["macro"]["n_plus"] == (right > 0).sum()
    assert found["micro"]["wrong"] == (given & ~truth).sum()
    assert {row["keyword"]: row["right"] for row in found["keywords"]} == {
        keyword: n
        for keyword, n, has in zip(annotator.keywords, right.tolist(), (given | truth).any(0), strict=True)
        if has
    }
    assert found["n_pictures"] == N_SCENES
    assert re.search(rf"wrong keywords +\S+ per picture, {found['micro']['wrong']:,} in all", done.stdout)
    assert re.search(rf"found at all +{found['macro']['n_plus']} of {found['n_keywords']}", done.stdout)
    assert f"{found['micro']['precision']:.1f} %" in gallery.read_text()
    assert gallery.read_text().count("data:image/jpeg") == N_SCENES
    assert gallery.read_text().count("data:image/png") == 1
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_keywords_never_taught_are_not_lost_among_names_without_a_picture(studio, model, tmp_path):
    table = tmp_path / "keywords.csv"
    names = [f"gone-{i}.jpg,tree" for i in range(2 * MOST_LISTED)]
    table.write_text("\n".join(["scene-0000.jpg,tree;zeppelin", "scene-0001.jpg,snow", *names]))
    done = call("annotate", "evaluate", model, studio / "scenes", "--keywords", table, "--cache", f"{model}.cache")
    assert done.exit_code == 0, done.output
    assert "  zeppelin: is a keyword that the model was not taught\n" in done.stderr
    assert done.stderr.count("2 of these pictures are called as ones that the model was taught on") == 1
    assert f"and {MOST_LISTED + N_SCENES - 1} more" in done.stderr


def test_evaluate_takes_as_many_keywords_as_wanted(studio, model, tmp_path):
    scenes = studio / "scenes"
    recalls = []
    for top in (1, 10):
        out = tmp_path / f"{top}.json"
        call("annotate", "evaluate", model, scenes, "--keywords", scenes / "keywords.csv", "--top", top, "-o", out)
        recalls.append(json.loads(out.read_text())["macro"]["recall"])
    assert recalls[0] < recalls[1]


def test_show_lists_keywords_with_their_examples_and_draws_the_weights(studio, model, tmp_path):
    done = call("annotate", "show", model, "-o", tmp_path / "weights.png")
    assert done.exit_code == 0, done.output
    examples = (studio / "scenes/keywords.csv").read_text()
    for word in ("sky", "boat", "night"):
        n_examples = len(re.findall(rf"[,;]{word}\b", examples))
        assert re.search(rf"\b{word} {n_examples}\b", done.stdout)
    assert "Gist" in done.stdout
    assert (tmp_path / "weights.png").read_bytes().startswith(b"\x89PNG")


def test_serve_hands_the_model_over(model, monkeypatch):
    served = []
    monkeypatch.setattr("gramless.pictures.page.serve", lambda *arguments: served.append(arguments))
    assert call("serve", model, "--host", "localhost", "--port", 0).exit_code == 0
    ((annotator, host, port),) = served
    assert len(annotator.keywords) > 20
    assert (host, port) == ("localhost", 0)


def test_serve_says_why_it_cannot(model):
    done = call("serve", model, "--port", 70_000)
    assert done.exit_code == 1
    assert "no port 70000" in done.stderr


def test_a_narrow_terminal_still_shows_every_number(model, photos, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    for arguments in (["show", model], ["predict", model, photos]):
        done = call("annotate", *arguments)
        assert done.exit_code == 0
        assert max(map(len, done.stdout.splitlines())) <= 60
        assert "…" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--top", 3, "--threshold", 0.5], "--top and --threshold"),
        (["--top", 3, "--precision", 0.9], "--top and --precision"),
        (["--precision", 0], "--precision"),
        (["--embed", "--to", "csv"], "--embed writes into the pictures"),
        (["--dry-run"], "--dry-run shows what would change"),
        (["--embed", "-o", "x.csv"], "-o x.csv: --embed"),
        (["-o", "x.csv"], "--to csv"),
        (["--to", "xmp", "-o", "x.xmp"], "-o"),
        (["--top", 0], "--top"),
        (["--threshold", 1.5], "--threshold"),
        (["--to", "yaml"], "yaml"),
    ],
)
def test_options_that_cannot_be_are_wrong_use(model, photos, arguments, complaint):
    done = call("annotate", "predict", model, photos, *arguments)
    assert done.exit_code == 2
    assert complaint in done.stderr


def test_unknown_views_are_named_before_anything_is_read(tmp_path):
    done = call("annotate", "fit", tmp_path / "nowhere", "-o", tmp_path / "m", "--views", "Rgb,Colour")
    assert done.exit_code == 1
    assert "Colour" in done.stderr
    assert "HarrisSift" in done.stderr


@pytest.mark.parametrize("command", ["predict", "evaluate", "show", "serve"])
def test_a_file_that_is_no_model_of_keywords_is_explained(studio, tmp_path, monkeypatch, command):
    monkeypatch.setattr("gramless.pictures.page.serve", lambda *arguments: pytest.fail("this must not be served"))
    kernel = tmp_path / "kernel.gramless"
    gramless.save(gramless.load(studio / "model.gramless").classifier.map_network_.kernel_, kernel)
    (tmp_path / "other").write_text("hello")
    (tmp_path / "cut").write_bytes((studio / "model.gramless").read_bytes()[:5000])
    rest = [studio / "scenes"] if command in ("predict", "evaluate") else []
    for name, complaint in (
        ("kernel.gramless", "DeepKernel"),
        ("other", "no Gramless model"),
        ("cut", "truncated"),
        ("nowhere", "or make one: gramless annotate fit"),
        (".", "no model file"),
    ):
        done = call(*(["serve"] if command == "serve" else ["annotate", command]), tmp_path / name, *rest)
        assert done.exit_code == 1
        assert complaint in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("module", "extra", "arguments"),
    [
        ("cv2", "pictures", ["annotate", "predict", "MODEL", "PHOTOS"]),
        ("jinja2", "pictures", ["annotate", "predict", "MODEL", "PHOTOS", "--gallery", "OUT"]),
        ("matplotlib", "plots", ["annotate", "show", "MODEL", "-o", "OUT"]),
        ("uvicorn", "page", ["serve", "MODEL"]),
    ],
)
def test_a_missing_package_is_named_with_what_to_install(
    model, photos, tmp_path, monkeypatch, module, extra, arguments
):
    monkeypatch.setitem(sys.modules, module, None)
    places = {"MODEL": model, "PHOTOS": photos, "OUT": tmp_path / "out"}
    done = call(*(places.get(argument, argument) for argument in arguments))
    assert done.exit_code == 1
    assert f"pip install 'gramless[{extra}]'" in done.stderr
    assert not (tmp_path / "out").exists()
