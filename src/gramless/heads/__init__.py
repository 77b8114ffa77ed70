"""Classifiers on kernels and maps: labels in, margins out."""

from gramless.heads.labels import Labels
from gramless.heads.svm import Head, Loss, fit_kernel_svms, fit_linear_svms

__all__ = ["Head", "Labels", "Loss", "fit_kernel_svms", "fit_linear_svms"]
