"""Measures as pure functions."""

from gramless.metrics.annotation import AnnotationScores, annotation_scores, top_k
from gramless.metrics.approximation import relative_error
from gramless.metrics.imageclef import mf_concepts, mf_samples
from gramless.metrics.ranking import average_precision, mean_average_precision

__all__ = [
    "AnnotationScores",
    "annotation_scores",
    "average_precision",
    "mean_average_precision",
    "mf_concepts",
    "mf_samples",
    "relative_error",
    "top_k",
]
