"""Data for several files: flowers by class, and samples with several labels."""

import pytest
from sklearn.datasets import load_iris, make_multilabel_classification

import gramless as gl


@pytest.fixture(scope="session")
def iris():
    X, y = load_iris(return_X_y=True)
    return gl.Views(X, {"sepal": slice(0, 2), "petal": slice(2, 4)}), y


@pytest.fixture(scope="session")
def tagged():
    X, Y = make_multilabel_classification(120, 12, n_classes=4, random_state=0)
    return gl.Views(X, {"first": slice(0, 6), "second": slice(6, 12)}), Y
