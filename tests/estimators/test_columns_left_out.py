"""views= that leaves columns of one array out, or takes them twice."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

import gramless as gl

ESTIMATORS = [gl.DeepMapClassifier, gl.DeepKernelClassifier, gl.DeepMapRegressor, gl.DeepMapNetwork]
CUTS = {"left out": {"a": [0, 2]}, "twice": {"a": slice(1, None), "b": [0, 1]}}
ARRAYS = {"array": np.asarray, "frame": pd.DataFrame, "sparse": sparse.csr_array, "tensor": torch.from_numpy}


def answers(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.predict(X)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 4))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("made", ARRAYS)
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_new_data_has_all_columns_and_is_cut_alike(kind, cut, made, data, tmp_path):
    X, y = data
    apart = {view: X[:, columns] for view, columns in CUTS[cut].items()}
    kernel = gl.DeepKernelNetwork(learning=None, random_state=0)
    expected = answers(kind(kernel, random_state=0).fit(apart, y), apart)
    given = ARRAYS[made](X)
    model = kind(kernel, views=CUTS[cut], random_state=0).fit(given, y)
    assert model.n_features_in_ == 4
    gl.save(model, tmp_path / "model.gramless")
    for same in (model, gl.load(tmp_path / "model.gramless")):
        np.testing.assert_allclose(answers(same, given), expected, rtol=1e-4, atol=1e-5)
        with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 4"):
            answers(same, X[:, :2])
