"""The few exceptions that a caller can catch, and the one warning."""


class GramlessError(Exception):
    """Every error that this package raises on purpose."""


class DataError(GramlessError, ValueError):
    """The data cannot be used as it is; the message says what was given, why not, and what to do."""


class MemoryBudgetError(GramlessError, MemoryError):
    """The work would need more memory than the budget allows; raised before anything is computed."""


class FileFormatError(GramlessError, ValueError):
    """A file is truncated, foreign, or written by a newer version."""


class ClippedSpectrumWarning(UserWarning):
    """A landmark Gram matrix is visibly indefinite, and its negative part was clipped."""
