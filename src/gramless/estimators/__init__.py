"""The scikit-learn faces: thin, each one parameters plus calls into the packages above."""

from gramless.estimators.deep_kernel_classifier import DeepKernelClassifier
from gramless.estimators.deep_kernel_network import DeepKernelNetwork
from gramless.estimators.deep_kernel_regressor import DeepKernelRegressor
from gramless.estimators.deep_map_classifier import DeepMapClassifier
from gramless.estimators.deep_map_network import DeepMapNetwork
from gramless.estimators.deep_map_regressor import DeepMapRegressor
from gramless.estimators.permutation import permutation_importances

__all__ = [
    "DeepKernelClassifier",
    "DeepKernelNetwork",
    "DeepKernelRegressor",
    "DeepMapClassifier",
    "DeepMapNetwork",
    "DeepMapRegressor",
    "permutation_importances",
]
