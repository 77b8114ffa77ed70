"""Files that are damaged, or made to do harm: refused with FileFormatError, within memory of their own size."""

import json
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import gramless as gl
from gramless.heads import Head
from tests.storage.crafting import craft, opened, refused

NETWORK = gl.DeepKernelNetwork(hidden=(3,), learning=None)


@pytest.fixture
def fitted(rng):
    X = {"a": rng.random((30, 5)), "b": rng.random((30, 3))}
    return X, gl.DeepMapClassifier(NETWORK, 8, random_state=0).fit(X, np.arange(30) % 3)


@pytest.fixture
def saved(fitted, tmp_path):
    gl.save(fitted[1], tmp_path / "m")
    return (tmp_path / "m", *opened(tmp_path / "m"))


def test_a_bit_that_changed_anywhere_is_noticed(saved, rng):
    path, content = saved[0], saved[0].read_bytes()
    for place in [*range(700), *rng.integers(len(content), size=300), len(content) - 1]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        refused(path)
    for length in rng.integers(len(content), size=30):
        path.write_bytes(content[:length])
        refused(path)
    path.write_bytes(content + b"\0")
    refused(path)


@pytest.mark.parametrize("tree", ["null", "5", "[]", '"text"', "true", '{"$tuple": []}', "{}", "", "{", "[" * 5000])
def test_what_is_no_model_is_refused(tree, tmp_path):
    refused(craft(tmp_path / "m", tree))


def test_what_is_no_model_is_not_saved(tmp_path):
    for value in (None, 5, []):
        with pytest.raises(gl.FileFormatError, match="no model"):
            gl.save(value, tmp_path / "m")
    assert not list(tmp_path.iterdir())


SPARSE = {
    "an index beyond the columns": ([1.0, 2.0], [0, 400_000_000], [0, 1, 2]),
    "a negative index": ([1.0, 2.0], [0, -9], [0, 1, 2]),
    "ends that go back": ([1.0, 2.0], [0, 1], [0, 2, 1]),
    "ends beyond the data": ([1.0, 2.0], [0, 1], [0, 1, 900]),
    "fewer rows": ([1.0, 2.0], [0, 1], [0, 2]),
    "no numbers": ([1.0, np.nan], [0, 1], [0, 1, 2]),
}


@pytest.mark.parametrize("damage", SPARSE)
def test_a_sparse_matrix_that_would_write_outside_memory_is_refused(damage, tmp_path):
    views = gl.Views({"a": sparse.csr_array(([1.0, 2.0], [0, 1], [0, 1, 2]), shape=(2, 3))})
    path = tmp_path / "m"
    gl.save(gl.DeepMapNetwork(landmarks=views), path)
    tree, arrays = opened(path)
    parts = tree["$estimator"][1]["landmarks"]["$views"][0][1]["$csr"][:3]
    for part, numbers in zip(parts, SPARSE[damage], strict=True):
        name = part["$array"]
        arrays[name] = np.array(numbers, dtype=arrays[name].dtype)
    refused(craft(path, tree, **arrays))


@pytest.mark.parametrize("dtype", ["<U250000000", "|V8", ">f8", "<f8,<i4", "<M8[s]", "<U0", "<U2", "float"])
def test_texts_of_other_types_or_gigabytes_are_refused(dtype, tmp_path):
    labels = {"classes": {"$array": {"dtype": dtype, "items": ["cat", "dog"]}}, "multilabel": False}
    tracemalloc.start()
    try:
        refused(craft(tmp_path / "m", {"$value": ["Labels", labels]}))
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    labels["classes"]["$array"]["dtype"] = "<U3"
    assert gl.load(craft(tmp_path / "m", {"$value": ["Labels", labels]})).classes.tolist() == ["cat", "dog"]


def test_classes_are_numbers_or_texts(tmp_path):
    labels = {"classes": {"$array": {"dtype": "|O", "items": [1, 2]}}, "multilabel": False}
    refused(craft(tmp_path / "m", {"$value": ["Labels", labels]}), "classes must be numbers or texts")


def test_bits_that_expand_to_many_times_the_file_are_refused(tmp_path):
    weights = {"$tensor": ["mask", "values", [1, 8_000_000]]}
    tree = {"$value": ["Layer", {"weights": weights, "activation": {"$value": ["Tanh", {}]}}]}
    path = craft(tmp_path / "m", tree, mask=np.zeros(1_000_000, np.uint8), values=np.empty(0))
    tracemalloc.start()
    try:
        refused(path, "times its size")
        assert tracemalloc.get_traced_memory()[1] < 10 * path.stat().st_size  # before they are made
    finally:
        tracemalloc.stop()


COPIED = {
    "a layer": ({"$value": ["Layer", {"weights": {"$tensor": "w"}, "activation": {"$value": ["Tanh", {}]}}]}, (1, -1)),
    "a sparse matrix": ({"$csr": [{"$array": "w"}, {"$array": "columns"}, {"$array": "ends"}, [1, 1_000_000]]}, -1),
}


@pytest.mark.parametrize("copied", COPIED)
def test_one_array_that_is_copied_often_is_refused(copied, tmp_path):
    part, shape = COPIED[copied]
    arrays = {"w": np.ones(1_000_000).reshape(shape), "columns": np.arange(1_000_000), "ends": np.array([0, 1_000_000])}
    tree = {"$value": ["OperatingPoint", {"f1": [part] * 100}]}
    refused(craft(tmp_path / "m", tree, **arrays), "times its size")


def test_arrays_of_nearly_all_zeros_are_saved_so_that_they_load(tmp_path):
    head = Head(np.zeros((10, 1_000_000)), np.zeros(10), 1)
    gl.save(head, tmp_path / "m")
    np.testing.assert_array_equal(gl.load(tmp_path / "m").coefficients, head.coefficients)


POINT = '{"$value": ["CurvePoint", {"step": %s, "objective": %s, "score": null}]}'
TREES = {
    "a key twice": POINT % ('1, "step": 2', "1.0"),
    "NaN": POINT % ("1", "NaN"),
    "a number beyond floats": POINT % ("1", "1e999"),
    "a number of 100 digits": POINT % ("9" * 100, "1.0"),
    "a number of 9999 digits": POINT % ("9" * 9999, "1.0"),
    "a text for a number": POINT % ('"1"', "1.0"),
    "a truth value for a number": POINT % ("true", "1.0"),
    "an argument missing": '{"$value": ["CurvePoint", {"step": 1, "objective": 1.0}]}',
    "an argument too many": POINT % ('1, "x": 2', "1.0"),
    "deep nesting": POINT % ('{"$tuple": [' * 200 + "1" + "]}" * 200, "1.0"),
}


SAID = {
    "an argument missing": "too many or missing",
    "an argument too many": "too many or missing",
    "deep nesting": "nested more than 100 levels deep",
}


@pytest.mark.parametrize("tree", TREES)
def test_trees_that_nobody_saved_are_refused(tree, tmp_path):
    assert gl.load(craft(tmp_path / "m", POINT % (1, 1.0))).step == 1
    refused(craft(tmp_path / "m", TREES[tree]), SAID.get(tree))


@pytest.mark.parametrize("claim", ["header", "shape", "place"])
def test_gigabytes_that_are_not_in_the_file_are_refused_before_there_is_memory_for_them(claim, tmp_path):
    path = craft(tmp_path / "m", POINT % (1, 1.0), x=np.zeros(4))
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    if claim != "header":
        header["x"]["shape"] = [10**9]
    if claim == "place":
        header["x"]["data_offsets"] = [0, 8 * 10**9]
    text = json.dumps(header).encode()
    length = 8 * 10**9 if claim == "header" else len(text)
    path.write_bytes(length.to_bytes(8, "little") + text + content[end:])
    tracemalloc.start()
    try:
        refused(path, "a header of|does not lie where it should")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_more_text_than_a_file_may_have_is_neither_written_nor_read(tmp_path, monkeypatch):
    """Once it is read it takes many times its size."""
    tree = {"$tuple": [0] * 2_000_000}
    with pytest.raises(ValueError, match="Give long lists as arrays"):
        craft(tmp_path / "m", tree)
    monkeypatch.setattr("gramless.support.array_file.SMALL_HEADER", 1 << 30)
    path = craft(tmp_path / "m", tree)
    monkeypatch.undo()
    refused(path, "a header of")


def test_truth_values_are_true_or_false(tmp_path):
    refused(craft(tmp_path / "m", POINT % (1, 1.0), x=np.array([0, 2], np.uint8).view(bool)), "truth value")


def test_a_frozen_estimator_holds_an_estimator(tmp_path):
    refused(craft(tmp_path / "m", {"$estimator": ["FrozenEstimator", {"estimator": 5}, {}]}), "frozen")


@pytest.mark.parametrize("attribute", ["__class__", "predict", "_features", "surprise_"])
def test_a_file_sets_no_attribute_that_fit_does_not(attribute, saved):
    path, tree, arrays = saved
    tree["$estimator"][2][attribute] = 5
    refused(craft(path, tree, **arrays), attribute)


@pytest.mark.parametrize("attribute", ["head_", "labels_", "classes_", "map_network_", "layout_", "decision_"])
def test_a_model_without_one_of_its_parts_is_refused(attribute, saved):
    path, tree, arrays = saved
    del tree["$estimator"][2][attribute]
    refused(craft(path, tree, **arrays), attribute)


PARTS = {
    gl.DeepMapClassifier: ["head_", "labels_", "classes_", "map_network_", "layout_", "n_features_in_"],
    gl.DeepKernelClassifier: ["head_", "labels_", "classes_", "kernel_", "support_", "layout_", "n_features_in_"],
    gl.DeepMapNetwork: [
        "kernel_",
        "landmarks_",
        "drawn_landmarks_",
        "map_",
        "n_landmarks_",
        "landmark_indices_",
        "_n_features_out",
    ],
    gl.DeepKernelNetwork: ["kernel_", "layout_", "n_features_in_"],
}


@pytest.mark.parametrize(("kind", "part"), [(kind, part) for kind, parts in PARTS.items() for part in parts])
def test_a_part_of_another_model_is_refused(kind, part, rng, tmp_path):
    """Whole in itself, but of other views, other classes, or another number of landmarks."""
    trees, arrays = [], {}
    for number, (width, n_landmarks, n_classes) in enumerate([(5, 8, 3), (4, 6, 4)]):
        X, y = {"a": rng.random((30, width)), "b": rng.random((30, 3))}, np.arange(30) % n_classes
        model = clone(NETWORK) if kind is gl.DeepKernelNetwork else kind(NETWORK)
        if "n_landmarks" in model.get_params():
            model.set_params(n_landmarks=n_landmarks)
        path = tmp_path / str(number)
        gl.save(model.fit(X, y), path)
        tree, found = opened(path)
        arrays |= {f"{name} of {number}": array for name, array in found.items()}
        trees.append(json.loads(re.sub(r'"(array\d+)"', rf'"\1 of {number}"', json.dumps(tree))))
    mine, other = (tree["$estimator"][2] for tree in trees)
    assert gl.load(craft(tmp_path / "m", trees[0], **arrays)).layout_ == {"a": 5, "b": 3}
    mine[part] = other[part]
    refused(craft(tmp_path / "m", trees[0], **arrays))


def test_every_array_of_a_model_is_checked(saved, fitted):
    """Other shapes, NaN and infinity: whichever array they are in, the file is refused or nothing changes."""
    path, tree, arrays = saved
    X, model = fitted
    expected = model.decision_function(X)
    for name, array in arrays.items():
        spoiled = [array[None], array[:-1], np.concatenate([array, array])]
        if array.dtype.kind == "f":
            for number in (np.nan, np.inf):
                spoiled.append(array.copy())
                spoiled[-1].reshape(-1)[-1] = number
        for other in spoiled:
            craft(path, tree, **(arrays | {name: other}))
            try:
                loaded = gl.load(path)
            except gl.FileFormatError:
                continue
            np.testing.assert_array_equal(loaded.decision_function(X), expected, err_msg=name)


def test_loading_takes_less_than_ten_times_the_file(tmp_path, rng):
    """In a process of its own, by what the system says: arrays of tensors are seen by no tool of Python's."""
    X = np.where(rng.random((1500, 2000)) < 0.02, rng.random((1500, 2000)), 0.0).astype(np.float32)
    dmn = gl.DeepMapNetwork(gl.DeepKernelNetwork(("linear",), (2,), learning=None), 700, random_state=0).fit(X)
    path = tmp_path / "m"
    gl.save(dmn, path)
    gl.save(gl.DeepKernelNetwork(), tmp_path / "warm")
    script = (
        "import sys, gramless as gl\n"
        "from pathlib import Path\n"
        "def peak(): return int(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0]) << 10\n"
        "gl.load(sys.argv[1]); before = peak(); gl.load(sys.argv[2]); print(peak() - before)"
    )
    found = subprocess.run([sys.executable, "-c", script, tmp_path / "warm", path], capture_output=True, check=True)
    assert int(found.stdout) < 10 * path.stat().st_size + (8 << 20)


def test_a_tensor_and_an_array_of_one_name_are_two(tmp_path):
    both = {"coefficients": {"$array": "x"}, "intercepts": {"$tensor": "x"}, "n_iter": 1}
    refused(craft(tmp_path / "m", {"$value": ["Head", both]}, x=np.ones((2, 2))), "intercepts")
