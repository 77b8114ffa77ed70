"""Measures as pure functions."""

from gramless.metrics.approximation import relative_error

__all__ = ["relative_error"]
