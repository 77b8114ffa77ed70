"""Pieces so small that a few hundred rows fill several."""

import pytest

from gramless.blocks import formats


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(formats, "PIECE_BYTES", 800)
