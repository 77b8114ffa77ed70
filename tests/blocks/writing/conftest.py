"""Pieces so small that a few hundred rows fill several, and where they are written."""

import pytest

from gramless.blocks import formats


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(formats, "PIECE_BYTES", 800)


@pytest.fixture
def path(tmp_path, suffix):
    return tmp_path / f"rows{suffix}"


@pytest.fixture
def partial(path):
    return path.with_name(f"{path.name}.partial")
