"""Measures as pure functions."""

from gramless.metrics.approximation import Estimate, pairwise_relative_error, relative_error, sampled_relative_error
from gramless.metrics.labels import (
    AnnotationScores,
    ReliabilityBin,
    annotation_scores,
    expected_calibration_error,
    mean_average_precision,
    mf_concepts,
    mf_samples,
    reliability,
    top_k,
)

__all__ = [
    "AnnotationScores",
    "Estimate",
    "ReliabilityBin",
    "annotation_scores",
    "expected_calibration_error",
    "mean_average_precision",
    "mf_concepts",
    "mf_samples",
    "pairwise_relative_error",
    "relative_error",
    "reliability",
    "sampled_relative_error",
    "top_k",
]
