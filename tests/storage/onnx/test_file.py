"""The file itself: alone in another process, what it says of itself, whole or not at all, and what is refused."""

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
from sklearn.exceptions import NotFittedError

import gramless as gl
from gramless.pictures.annotation import Annotator
from gramless.pictures.annotation.album import Album
from gramless.pictures.features import PictureFeatures
from gramless.storage.onnx import export_onnx, graph
from gramless.support.packages import MissingPackageError
from tests.storage.onnx.exported import answers, run

NETWORK = gl.DeepKernelNetwork(hidden=(4,), learning=None)
SMALL = {"kernel": NETWORK, "random_state": 0}


@pytest.fixture
def data(rng):
    X = {"a": rng.random((60, 5)).astype(np.float32), "the b": rng.random((60, 3)).astype(np.float32)}
    return X, np.array(["x", "y", "z"])[np.arange(60) % 3]


@pytest.fixture
def network(data):
    return gl.DeepMapNetwork(NETWORK, 15, tuning="landmarks", random_state=0).fit(data[0])


ALONE = """
import resource
import sys


class Nobody:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("gramless", "torch", "onnx", "sklearn"):
            raise ImportError(name)


sys.meta_path.insert(0, Nobody())
import numpy as np
import onnxruntime

model, given, answers = sys.argv[1:]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
X = np.load(given)
outputs = [each.name for each in session.get_outputs()]
X = {each.name: X[each.name] for each in session.get_inputs()}
before = peak()
found = session.run(outputs, X)
print(peak() - before)
np.savez(answers, **dict(zip(outputs, found)))
for unwanted in ("gramless", "torch", "onnx"):
    assert unwanted not in sys.modules
"""


def run_alone(model, X, folder):
    """The answers of an exported model in a process that has onnxruntime only, and the memory that it took in MiB."""
    export_onnx(model, folder / "model.onnx")
    np.savez(folder / "X.npz", **X)
    script = folder / "alone.py"
    script.write_text(ALONE)
    arguments = [str(folder / name) for name in ("model.onnx", "X.npz", "answers.npz")]
    done = subprocess.run(
        [sys.executable, "-I", str(script), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return np.load(folder / "answers.npz", allow_pickle=True), int(done.stdout)


def test_runs_where_this_package_cannot_be_imported(data, tmp_path):
    X, y = data
    classifier = gl.DeepMapClassifier(n_landmarks=15, **SMALL).fit(X, y)
    found, _ = run_alone(classifier, X, tmp_path)
    expected = classifier.decision_function(X)
    np.testing.assert_allclose(found["scores"], expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    assert (found["classes"] == classifier.predict(X)).mean() > 0.95


def test_memory_is_that_of_a_few_rows_however_many_come(rng, tmp_path):
    """In one piece the hidden values alone would take 488 MiB, and the terms of the minima more."""
    X = {"a": rng.random((8_000, 40)).astype(np.float32)}
    kernel = gl.DeepKernelNetwork(("intersection", "gaussian"), hidden=(80,), learning=None, random_state=0)
    network = gl.DeepMapNetwork(kernel, landmarks=np.arange(200), n_components=3).fit(X)
    found, taken = run_alone(network, X, tmp_path)
    np.testing.assert_allclose(found["vectors"], network.transform(X), rtol=0, atol=1e-4)
    assert taken < 60


def test_the_file_says_what_it_is_and_has_standard_operators_only(data, network, tmp_path):
    X, y = data
    export_onnx(network, tmp_path / "map.onnx")
    model = onnx.load(tmp_path / "map.onnx")
    facts = {prop.key: prop.value for prop in model.metadata_props}
    assert facts.keys() == {"gramless", "kind", "views"}
    assert (facts["gramless"], facts["kind"]) == (gl.__version__, "DeepMapNetwork")
    assert json.loads(facts["views"]) == {"a": 5, "the b": 3}
    assert [each.domain for each in model.opset_import] == [""]
    assert {node.domain for node in model.graph.node} == {""}
    assert not any(tensor.external_data for tensor in model.graph.initializer)
    assert [each.name for each in model.graph.input] == ["a", "the b"]
    export_onnx(gl.DeepMapClassifier(n_landmarks=15, **SMALL).fit(X, y), tmp_path / "classifier.onnx")
    facts = {prop.key: prop.value for prop in onnx.load(tmp_path / "classifier.onnx").metadata_props}
    assert facts["kind"] == "DeepMapClassifier"
    assert json.loads(facts["classes"]) == ["x", "y", "z"]


def test_landmarks_are_stored_once_and_the_projection_of_a_classifier_not_at_all(rng, tmp_path):
    X = {"a": rng.random((200, 300)).astype(np.float32)}
    kernels = ("linear", "poly2", "gaussian", "laplacian", "intersection", "chi2", "arccos1")
    network = gl.DeepKernelNetwork(kernels, (4,), learning=None)
    classifier = gl.DeepMapClassifier(network, 100, tuning="landmarks", random_state=0).fit(X, np.arange(200) % 3)
    export_onnx(classifier, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").stat().st_size < 1.2 * 100 * 300 * 4


def test_the_same_model_gives_the_same_bytes(data, network, tmp_path):
    export_onnx(network, tmp_path / "once.onnx")
    gl.save(network, tmp_path / "model.gramless")
    export_onnx(gl.load(tmp_path / "model.gramless"), tmp_path / "twice.onnx")
    assert (tmp_path / "once.onnx").read_bytes() == (tmp_path / "twice.onnx").read_bytes()


def test_an_annotator_is_its_classifier_with_keywords(data, tmp_path):
    X = {"Gist": data[0]["a"], "Rgb": data[0]["the b"]}
    Y = (X["Gist"] > 0.5).astype(int)
    classifier = gl.DeepMapClassifier(n_landmarks=15, top_k=2, **SMALL).fit(X, Y)
    keywords = ("sea", "boat", "été", "sun", "sky")
    phi = classifier.map_network_.transform(X)
    album = Album.of([], Y[:0].astype(np.int8), phi[:0], [])
    annotator = Annotator(PictureFeatures(("Gist", "Rgb"), words={}), classifier, keywords, album)
    found = answers(annotator, X, tmp_path)
    expected = annotator.probabilities(annotator.margins(gl.Views(X)))
    np.testing.assert_allclose(found["probabilities"], expected, rtol=0, atol=1e-4)
    facts = {prop.key: prop.value for prop in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert facts["kind"] == "Annotator"
    assert json.loads(facts["keywords"]) == list(keywords)


def test_views_may_have_any_names_but_those_of_outputs(rng, tmp_path):
    block = rng.random((60, 4)).astype(np.float32)
    kernel = gl.DeepKernelNetwork(hidden=(4,), learning=None, random_state=0)
    names = ["MatMul_9", "constant_7", "a b/c", "größe", "item_12"]
    X = dict.fromkeys(names, block)
    network = gl.DeepMapNetwork(kernel, 9, random_state=0).fit(X)
    found = answers(network, X, tmp_path)["vectors"]
    np.testing.assert_allclose(found, network.transform(X), rtol=0, atol=1e-4 * np.abs(found).max())
    for name in ("scores", ""):
        bad = gl.DeepMapNetwork(kernel, 9, random_state=0).fit({name: block, "a": block})
        with pytest.raises(gl.GramlessError, match=r"views named .* cannot be exported.*other names"):
            export_onnx(bad, tmp_path / "bad.onnx")
    assert not (tmp_path / "bad.onnx").exists()


def test_what_has_no_map_is_refused(data, network, tmp_path):
    X, y = data
    for model in (network.kernel_, gl.DeepKernelClassifier(**SMALL).fit(X, y), "model"):
        with pytest.raises(gl.GramlessError, match=rf"a {type(model).__name__} cannot be exported.*DeepMapNetwork"):
            export_onnx(model, tmp_path / "model.onnx")
    for model in (gl.DeepMapNetwork(), gl.DeepMapClassifier()):
        with pytest.raises(NotFittedError):
            export_onnx(model, tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="rows_at_once=0"):
        export_onnx(network, tmp_path / "model.onnx", rows_at_once=0)
    with pytest.raises(gl.DataError, match=r"there is no folder .*absent\. Make it"):
        export_onnx(network, tmp_path / "absent" / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_more_than_a_file_can_hold_is_refused_and_the_old_file_stays(data, network, tmp_path, monkeypatch):
    export_onnx(network, tmp_path / "model.onnx")
    before = (tmp_path / "model.onnx").read_bytes()
    monkeypatch.setattr(graph, "MOST_BYTES", 500)
    with pytest.raises(gl.GramlessError, match=r"holds at most 500.*fewer landmarks"):
        export_onnx(network, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_without_onnx_the_error_says_what_to_install(network, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("gramless.storage.onnx.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'gramless\[onnx\]'"):
        export_onnx(network, tmp_path / "model.onnx")


def test_importing_the_package_imports_no_onnx():
    code = "import gramless.storage.onnx, sys; assert 'onnx' not in sys.modules and 'onnxruntime' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_views_of_different_lengths_are_an_error_not_an_answer(data, network, tmp_path):
    X, _ = data
    export_onnx(network, tmp_path / "model.onnx")
    with pytest.raises(Exception, match=r"(?i)reshape"):
        run(tmp_path / "model.onnx", {"a": X["a"][:7], "the b": X["the b"][:6]})


def test_columns_that_float32_blurs_are_told(tmp_path, rng, recwarn):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    gl.export_onnx(gl.DeepMapClassifier(**SMALL).fit({"times": X + 1_000.0}, y), tmp_path / "near.onnx")
    assert not recwarn.list
    model = gl.DeepMapClassifier(**SMALL).fit({"colours": X, "times": X + 1e8}, y)
    with pytest.warns(UserWarning, match=r"float32, which rounds away .* views \['times'\]"):
        gl.export_onnx(model, tmp_path / "far.onnx")
