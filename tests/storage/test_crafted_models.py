"""Files under the right digest whose parts are fine one by one: refused where the parts do not belong together."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

import gramless as gl
from gramless.kernels import Custom, Distance, Gaussian, Precomputed
from tests.storage.crafting import craft, opened, refused

NETWORK = gl.DeepKernelNetwork(hidden=(3,), learning=None, random_state=0)


def inner(x, z):
    return x @ z.T


def squares(x):
    return (x**2).sum(1)


def softened(values):
    return torch.log1p(values)


FUNCTIONS = {"inner": inner, "squares": squares, "softened": softened}


@pytest.fixture
def X(rng):
    return {"a": rng.random((30, 4)), "b": rng.random((30, 3))}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m"


def changed(model, path, change):
    """The file of a model after change(tree, arrays)."""
    gl.save(model, path)
    tree, arrays = opened(path)
    gl.load(craft(path, tree, **arrays), FUNCTIONS)
    change(tree, arrays)
    return craft(path, tree, **arrays)


def walk(tree):
    """Every mapping in a tree."""
    if isinstance(tree, dict):
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from walk(part)


@pytest.mark.parametrize(
    ("function", "other"), [("inner", "softened"), ("inner", "squares"), ("squares", "inner"), ("softened", "inner")]
)
def test_a_function_that_takes_something_else_is_refused(function, other, X, path):
    kernels = {"a": [Custom(inner, diagonal_function=squares)], "b": ["linear"]}
    model = gl.DeepKernelNetwork(kernels, (2,), activation=softened, learning=None, random_state=0).fit(X).kernel_

    def change(tree, arrays):
        for place in (part for part in walk(tree) if part.get("$function") == function):
            place["$function"] = other

    refused(changed(model, path, change), "must be a function of", FUNCTIONS)


def test_what_a_function_takes_is_known_at_once():
    with pytest.raises(ValueError, match="must be a function of two arrays"):
        Custom(squares)
    with pytest.raises(ValueError, match="must be a function of one tensor"):
        gl.DeepKernelNetwork(activation=inner, hidden=(2,), learning=None).fit(np.eye(5))
    for function in (np.dot, lambda x, z, *more: x @ z.T, lambda *both: both[0] @ both[1].T):
        Custom(function)
    for activation in (torch.sigmoid, torch.nn.ReLU(), torch.nn.functional.relu):
        gl.DeepKernelNetwork(activation=activation, hidden=(2,), learning=None).fit(np.eye(5))


def test_known_values_on_a_view_of_several_columns_are_refused(X, path):
    number = np.arange(30.0)[:, None]
    kernels = {"a": ["linear"], "number": [Precomputed(X["a"] @ X["a"].T)]}
    model = gl.DeepKernelNetwork(kernels, (2,), learning=None, random_state=0).fit({"a": X["a"], "number": number})

    def change(tree, arrays):
        for place in (part for part in walk(tree) if part.get("view") == "number"):
            place["view"] = "a"

    refused(changed(model, path, change), "a precomputed kernel of 1 features is on view 'a' of 4")


@pytest.mark.parametrize("kernel", [Gaussian(), Distance()])
def test_a_kernel_that_is_still_to_be_fitted_is_refused(kernel, X, path):
    model = gl.DeepKernelNetwork((kernel,), (), learning=None, random_state=0).fit(X)

    def change(tree, arrays):
        for place in (part for part in walk(tree["$estimator"][2]) if part.keys() & {"scale", "centre"}):
            place.update({"scale": "mean"} if "n_neighbours" in place else {})
            place.update({"centre": None, "factors": None} if "centre" in place else {})

    refused(changed(model, path, change), r"call kernel\.fit")


def test_a_projection_has_a_component(X):
    projection = gl.DeepMapNetwork(NETWORK, 6, random_state=0).fit(X).map_.projection
    with pytest.raises(gl.DataError, match="at least one component"):
        replace(projection, matrix=projection.matrix[:, :0], eigenvalues=projection.eigenvalues[:0])


def test_landmarks_as_they_were_drawn_are_as_many_as_there_are(X, path):
    model = gl.DeepMapNetwork(NETWORK, 6, random_state=0).fit(X)
    model.drawn_landmarks_ = model.landmarks_[:3]
    with pytest.raises(gl.DataError, match=r"n_landmarks_ is 6, but there are \[3, 6\]"):
        gl.save(model, path)


def summary(X, *, several):
    y = np.arange(30)[:, None] % [2, 3] == 0 if several else np.arange(30) % 3
    return gl.DeepMapClassifier(NETWORK, 6, head="squared_hinge", C=1.0, random_state=0).fit(X, y.astype(int))


@pytest.mark.parametrize("part", ["counts", "losses", "curvature", "moment"])
@pytest.mark.parametrize("several", [False, True])
def test_what_is_remembered_of_a_fit_belongs_to_its_classifiers(part, several, X, path):
    model = summary(X, several=several)
    gl.save(model, path)
    tree, arrays = opened(path)
    name = tree["$estimator"][2]["online_"]["$value"][1][part]["$array"]
    array = arrays[name]
    others = [array[None], array[:0], array[..., :-1], np.concatenate([array, array])]
    others += [array.astype(float) if part == "counts" else np.full_like(array, np.nan)]
    others += [-1 - array] if part in ("counts", "curvature") else []
    for other in others:
        refused(craft(path, tree, **(arrays | {name: other})))
    more = {"$value": ["FitSummary", {key: {"$array": key} for key in ("counts", "losses", "curvature", "moment")}]}
    tree["$estimator"][2]["online_"] = more
    for n_labels, size in ((4, 7), (3 - several, 8)):  # of more labels, of more components
        of_others = {
            "counts": np.ones((n_labels, 2), int),
            "losses": np.ones(n_labels),
            "curvature": np.ones(n_labels),
            "moment": np.ones((1, size, size)),
        }
        refused(craft(path, tree, **(arrays | of_others)))


def test_how_a_classifier_was_chosen_is_known(X, path):
    model = gl.DeepMapClassifier(NETWORK, 6, random_state=0).fit(X, np.arange(30) % 3)
    for other in ({"head_kind_": "x"}, {"C_": -1.0}, {"C_": 0.0}):
        refused(changed(model, path, lambda tree, _, other=other: tree["$estimator"][2].update(other)), "no classifier")

    refused(
        changed(model, path, lambda tree, _: tree["$estimator"][2].update(head_kind_="discriminant")), "does not go"
    )

    def change(tree, arrays):
        for point in (part["$value"][1] for part in walk(tree) if part.get("$value", [""])[0] == "SettingsPoint"):
            point["by"] = "x"

    refused(changed(model, path, change), "no classifier")


@pytest.mark.parametrize("names", [["p", "q"], ["p", "q", "r", "s"], ["p", "q", 5], ["p", "q", None]])
def test_names_of_features_are_texts_and_one_of_each(names, rng, path):
    model = gl.DeepMapNetwork(NETWORK, 6, random_state=0).fit(pd.DataFrame(rng.random((30, 3)), columns=list("pqr")))

    def change(tree, arrays):
        tree["$estimator"][2]["feature_names_in_"]["$array"]["items"] = names

    refused(changed(model, path, change), "3 features must have texts as names")


def test_an_output_that_scikit_learn_does_not_know_is_refused(X, path):
    model = gl.DeepMapNetwork(NETWORK, 6, random_state=0).set_output(transform="pandas").fit(X)

    def change(tree, arrays):
        tree["$estimator"][2]["_sklearn_output_config"] = {"$mapping": [["transform", "x"]]}

    refused(changed(model, path, change), "output config")


@pytest.mark.parametrize("columns", [[4, 5, 7], [4, 5, -8], [4, 5, 2**40], [4, 5, 0.5], [4, 5, "x"], [True, False]])
def test_views_cut_columns_that_are_there(columns, rng, path):
    model = clone(NETWORK).set_params(views={"a": slice(0, 4), "b": [4, 5, 6]}).fit(rng.random((30, 7)))

    def change(tree, arrays):
        tree["$estimator"][1]["views"]["$mapping"][1][1] = columns

    refused(changed(model, path, change))


@pytest.mark.parametrize(
    "columns",
    [{"a": 0, "b": [1, 2]}, {"a": np.array([True, False, True]), "b": [-1]}, {"a": "red", "b": ["green", "blue"]}],
    ids=["a number", "a mask", "a name"],
)
def test_a_model_with_columns_given_in_any_way_is_saved(columns, rng, path):
    X = pd.DataFrame(rng.random((30, 3)), columns=["red", "green", "blue"])
    model = gl.DeepMapNetwork(NETWORK, 6, views=columns, random_state=0).fit(X)
    gl.save(model, path)
    np.testing.assert_array_equal(gl.load(path).transform(X), model.transform(X))


@pytest.mark.parametrize(("name", "value"), [("class_weight", 5), ("class_weight", [1.0]), ("head", "x"), ("C", -1.0)])
def test_parameters_of_a_fitted_model_are_those_that_fit_takes(name, value, X, path):
    model = gl.DeepMapClassifier(NETWORK, 6, random_state=0).fit(X, np.arange(30) % 3)
    path = changed(model, path, lambda tree, _: tree["$estimator"][1].update({name: value}))
    refused(path, f"The '{name}' parameter")


@pytest.mark.parametrize(("name", "value"), [("learning", "x"), ("hidden", "x"), ("output_gain", -1.0)])
def test_parameters_of_a_network_that_was_handed_over_are_too(name, value, X, path):
    for model in (gl.DeepMapClassifier(NETWORK, 6, random_state=0), gl.DeepKernelClassifier(NETWORK, random_state=0)):
        fitted = model.fit(X, np.arange(30) % 3)
        of_network = f"learning='{value}'" if name == "learning" else f"The '{name}' parameter of DeepKernelNetwork"
        refused(changed(fitted, path, lambda tree, _: _network(tree).update({name: value})), of_network)


def _network(tree):
    """The parameters of the first kernel network in a tree."""
    return next(part["$estimator"][1] for part in walk(tree) if part.get("$estimator", [""])[0] == "DeepKernelNetwork")
