"""Data that comes in blocks: on disk, from an iterator, or on a cluster."""

from gramless.blocks.base import Blocks
from gramless.blocks.block import Block
from gramless.blocks.local import Rows
from gramless.blocks.partitions import write_partitions
from gramless.blocks.sampling import Sample, draw
from gramless.blocks.sources import in_blocks, lies_elsewhere

__all__ = ["Block", "Blocks", "Rows", "Sample", "draw", "in_blocks", "lies_elsewhere", "write_partitions"]
