"""scikit-learn's own checks of an estimator, as it comes and with deeper networks; none may fail."""

import pytest
from sklearn.utils.estimator_checks import check_estimators_overwrite_params, parametrize_with_checks

import gramless as gl
from gramless.learning import Supervised

SIGNED = ("linear", "poly2", "gaussian")
FEW = {"hidden": (6,), "learning": Supervised(n_steps=2), "random_state": 0}
UNLEARNED = {"hidden": (6,), "learning": None, "random_state": 0}

ESTIMATORS = [
    gl.DeepKernelNetwork(random_state=0),
    gl.DeepKernelNetwork(SIGNED, **UNLEARNED),
    gl.DeepMapNetwork(n_landmarks=10, random_state=0),
    gl.DeepMapNetwork(gl.DeepKernelNetwork(SIGNED, **FEW), n_landmarks=10, random_state=0),
    gl.DeepKernelClassifier(random_state=0),
    gl.DeepKernelClassifier(gl.DeepKernelNetwork(SIGNED, **UNLEARNED), random_state=0),
    gl.DeepMapClassifier(n_landmarks=10, random_state=0),
    gl.DeepMapClassifier(gl.DeepKernelNetwork(SIGNED, **UNLEARNED), n_landmarks=50, random_state=0),
]


@pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")
@parametrize_with_checks(ESTIMATORS)
def test_passes_scikit_learns_checks(estimator, check):
    check(estimator)


class OverwritesAParameter(gl.DeepKernelNetwork):
    def fit(self, X, y=None):
        self.hidden = (3,)
        return super().fit(X, y)


def test_the_checks_fail_an_estimator_that_overwrites_a_parameter():
    with pytest.raises(AssertionError, match="hidden"):
        check_estimators_overwrite_params("OverwritesAParameter", OverwritesAParameter(SIGNED, **UNLEARNED))
