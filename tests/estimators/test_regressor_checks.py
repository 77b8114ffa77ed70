"""scikit-learn's own checks of both regressors, none of which may fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramless as gl

SIGNED = ("linear", "poly2", "gaussian")
UNLEARNED = {"hidden": (6,), "learning": None, "random_state": 0}


@pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")
@parametrize_with_checks(
    [
        gl.DeepKernelRegressor(random_state=0),
        gl.DeepKernelRegressor(gl.DeepKernelNetwork(SIGNED, **UNLEARNED), alpha=0.1, random_state=0),
        gl.DeepMapRegressor(n_landmarks=20, random_state=0),
        gl.DeepMapRegressor(gl.DeepKernelNetwork(SIGNED, **UNLEARNED), n_landmarks=50, random_state=0),
    ]
)
def test_passes_scikit_learns_checks(estimator, check):
    check(estimator)
