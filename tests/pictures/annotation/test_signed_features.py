"""Networks whose features have both signs, as those of CLIP, SigLIP and DINOv2: from fit to the page."""

import json
import sys

import numpy as np
import pytest
from fastapi.testclient import TestClient

import gramless
from gramless.pictures.annotation import Annotator
from gramless.pictures.features.learned import trained_network
from gramless.pictures.page.app import make_app
from tests.cli.conftest import call
from tests.pictures.features.samples import encoded, photo

STAND_IN = '''
import torch

class Tower(torch.nn.Module):
    """Features of a transformer's kind: of both signs, with a few that are large."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.weight = torch.nn.Parameter(torch.randn(3 * 16, 24, generator=generator))

    def forward(self, pixels):
        features = torch.nn.functional.adaptive_avg_pool2d(pixels, 4).flatten(1) @ self.weight
        return torch.cat([features, 30 * features[:, :1] - 5], dim=1)

def is_model(name):
    return name == "vit_tiny"

def create_model(name, pretrained, num_classes):
    assert pretrained and num_classes == 0
    return Tower()
'''
DATA = """
import numpy as np, torch

def resolve_model_data_config(network):
    return {"size": 32}

def create_transform(size, is_training):
    def transform(image):
        return torch.from_numpy(np.array(image.resize((size, size)))).permute(2, 0, 1) / 127.5 - 1
    return transform
"""
NAME = "timm:vit_tiny"


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A package in the place of timm, with one model."""
    site = tmp_path / "site"
    (site / "timm").mkdir(parents=True)
    (site / "timm" / "__init__.py").write_text(STAND_IN)
    (site / "timm" / "data.py").write_text(DATA)
    (site / "timm-9.dist-info").mkdir()
    (site / "timm-9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: timm\nVersion: 9\n")
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", str(site))
    for module in ("timm", "timm.data"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    trained_network.cache_clear()
    yield
    trained_network.cache_clear()


@pytest.fixture
def pictures(tmp_path, rng):
    """Fourteen, bright ones in one folder and dark ones in the other."""
    for i in range(14):
        word = "day" if i % 2 else "night"
        path = tmp_path / "pictures" / word / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(photo(rng) // 2 + (128 if i % 2 else 0)))
    return tmp_path / "pictures"


@pytest.mark.parametrize("views", [NAME, f"{NAME},Rgb"])
def test_from_fit_to_serve(views, stand_in, pictures, tmp_path):
    model = tmp_path / "model.gramless"
    done = call("annotate", "fit", pictures, "-o", model, "--views", views)
    assert done.exit_code == 0, done.output
    annotator = gramless.load(model)
    assert isinstance(annotator, Annotator)
    rows = annotator.features.describe(sorted(pictures.glob("*/*.png"))).views[NAME]
    assert rows.shape == (14, 25)
    assert (rows < 0).any()
    assert (rows > 0).any()
    done = call("annotate", "predict", model, pictures, "--to", "json", "--top", 1)
    assert done.exit_code == 0, done.output
    answers = json.loads(done.stdout)
    right = [answer["keywords"][0]["keyword"] == answer["file"].split("/")[0] for answer in answers]
    assert np.mean(right) >= 12 / 14
    assert call("annotate", "evaluate", model, pictures).exit_code == 0
    assert call("annotate", "show", model).exit_code == 0
    bright = (pictures / "day" / "1.png").read_bytes()
    reply = TestClient(make_app(annotator), base_url="http://localhost").post(
        "/annotate", files={"a": ("a.png", bright)}
    )
    (answer,) = reply.json()["pictures"]
    assert answer["keywords"]
    assert answer["neighbours"][0]["similarity"] > 0.99


def test_features_that_are_not_numbers_are_refused_in_words(stand_in, pictures, tmp_path, monkeypatch):
    import timm

    monkeypatch.setattr(timm.Tower, "forward", lambda self, pixels: pixels.flatten(1)[:, :9] * float("nan"))
    done = call("annotate", "fit", pictures, "-o", tmp_path / "m", "--views", NAME)
    assert done.exit_code == 1
    assert "Traceback" not in done.output
    assert "NaN" in done.stderr or "finite" in done.stderr
