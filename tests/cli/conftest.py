"""Scenes with keywords, one small model of them, and the command line as a call."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gramless.cli import app
from gramless.pictures.scenes import write_scenes

VIEWS = "Rgb,Gist"
N_SCENES = 40


def call(*arguments):
    """`gramless arguments`, in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="session")
def studio(tmp_path_factory) -> Path:
    """A folder with scenes/, scenes/keywords.csv, model.gramless and its cache, made by `gramless annotate fit`."""
    folder = tmp_path_factory.mktemp("studio")
    write_scenes(folder / "scenes", N_SCENES, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = call(
            *("annotate", "fit", folder / "scenes", "--keywords", folder / "scenes/keywords.csv"),
            *("-o", folder / "model.gramless", "--views", VIEWS),
        )
    assert done.exit_code == 0, done.output
    (folder / "fit.out").write_text(done.stdout)
    (folder / "fit.err").write_text(done.stderr)
    return folder


@pytest.fixture
def model(studio) -> Path:
    return studio / "model.gramless"


@pytest.fixture
def photos(studio, tmp_path) -> Path:
    """A folder of our own with five scenes, without keywords."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(5):
        shutil.copy(studio / f"scenes/scene-{i:04d}.jpg", folder)
    return folder
