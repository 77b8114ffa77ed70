"""Files and folders that rows are written into, block by block: a run that was stopped continues."""

from gramless.blocks.sinks.writing import write_rows

__all__ = ["write_rows"]
