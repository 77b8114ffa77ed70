"""Chunks and parts so small that a few hundred rows fill several."""

import pytest

from gramless.blocks.sinks import parquet, zarr


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(zarr, "CHUNK_BYTES", 800)
    monkeypatch.setattr(zarr, "HELD_BYTES", 2000)
    monkeypatch.setattr(parquet, "PART_BYTES", 2000)
