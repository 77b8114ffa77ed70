"""Finding the weights of a deep kernel network: SVM duals of all labels, their gradient, a descent on the simplex."""

from gramless.learning.checkpoint import CurvePoint
from gramless.learning.elementary import ElementaryValues
from gramless.learning.held_out import draw_stratified, hold_out_stratified
from gramless.learning.leave_one_out import leave_one_out_residuals
from gramless.learning.mixture import learn_mixture, mean_kernel, without_idle_parts
from gramless.learning.objectives import (
    LaplacianObjective,
    SupervisedObjective,
    kernel_distances,
    neighbour_laplacian,
    spread,
)
from gramless.learning.ridge_trainer import learn_by_leave_one_out
from gramless.learning.settings import Learning, LeaveOneOut, SemiSupervised, Supervised, make_learning
from gramless.learning.svm_dual import box, solve_svm_duals
from gramless.learning.trainer import LearningResult, learn

__all__ = [
    "CurvePoint",
    "ElementaryValues",
    "LaplacianObjective",
    "Learning",
    "LearningResult",
    "LeaveOneOut",
    "SemiSupervised",
    "Supervised",
    "SupervisedObjective",
    "box",
    "draw_stratified",
    "hold_out_stratified",
    "kernel_distances",
    "learn",
    "learn_by_leave_one_out",
    "learn_mixture",
    "leave_one_out_residuals",
    "make_learning",
    "mean_kernel",
    "neighbour_laplacian",
    "solve_svm_duals",
    "spread",
    "without_idle_parts",
]
