"""Measures as pure functions."""

from gramless.metrics.annotation import AnnotationScores, annotation_scores, mf_concepts, mf_samples, top_k
from gramless.metrics.approximation import relative_error
from gramless.metrics.ranking import average_precision, mean_average_precision
from gramless.metrics.reliability import ReliabilityBin, expected_calibration_error, reliability
from gramless.metrics.sampled_error import Estimate, sampled_relative_error

__all__ = [
    "AnnotationScores",
    "Estimate",
    "ReliabilityBin",
    "annotation_scores",
    "average_precision",
    "expected_calibration_error",
    "mean_average_precision",
    "mf_concepts",
    "mf_samples",
    "relative_error",
    "reliability",
    "sampled_relative_error",
    "top_k",
]
