"""Finding the weights of a deep kernel network: SVM duals of all labels, their gradient, a descent on the simplex."""

from gramless.learning.checkpoint import CurvePoint
from gramless.learning.elementary import ElementaryValues
from gramless.learning.graph import kernel_distances, neighbour_laplacian
from gramless.learning.held_out import draw_stratified, hold_out_stratified
from gramless.learning.objectives import LaplacianObjective, SupervisedObjective, spread
from gramless.learning.settings import SemiSupervised, Supervised, make_learning
from gramless.learning.svm_dual import DualSolution, box, solve_svm_duals
from gramless.learning.trainer import LearningResult, learn

__all__ = [
    "CurvePoint",
    "DualSolution",
    "ElementaryValues",
    "LaplacianObjective",
    "LearningResult",
    "SemiSupervised",
    "Supervised",
    "SupervisedObjective",
    "box",
    "draw_stratified",
    "hold_out_stratified",
    "kernel_distances",
    "learn",
    "make_learning",
    "neighbour_laplacian",
    "solve_svm_duals",
    "spread",
]
