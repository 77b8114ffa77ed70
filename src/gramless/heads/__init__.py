"""Classifiers on kernels and maps: labels in, margins out."""

from gramless.heads.batched import fit_all_labels
from gramless.heads.blockwise import NewtonTotals, fit_over_blocks, newton_totals
from gramless.heads.calibration import Calibration
from gramless.heads.choosing import Choice, Contest, SettingsPoint, choose
from gramless.heads.decisions import Threshold, TopK
from gramless.heads.f1_thresholds import f1_thresholds
from gramless.heads.labelling import learn_labelling
from gramless.heads.labels import LabelCounts, Labels
from gramless.heads.losses import LeastSquares, MarginLoss, SquaredHinge
from gramless.heads.online import FitSummary, OnlineHead
from gramless.heads.out_of_fold import out_of_fold_scores, stratified_folds
from gramless.heads.svm import Head, Weights, fit_kernel_svms
from gramless.heads.temperature import Temperature
from gramless.heads.top_gains import TopGains

__all__ = [
    "Calibration",
    "Choice",
    "Contest",
    "FitSummary",
    "Head",
    "LabelCounts",
    "Labels",
    "LeastSquares",
    "MarginLoss",
    "NewtonTotals",
    "OnlineHead",
    "SettingsPoint",
    "SquaredHinge",
    "Temperature",
    "Threshold",
    "TopGains",
    "TopK",
    "Weights",
    "choose",
    "f1_thresholds",
    "fit_all_labels",
    "fit_kernel_svms",
    "fit_over_blocks",
    "learn_labelling",
    "newton_totals",
    "out_of_fold_scores",
    "stratified_folds",
]
