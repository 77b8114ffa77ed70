"""Views of trained networks: the numbers just before the last layer, for pictures in batches."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gramless.errors import GramlessError
from gramless.pictures.features.efficientnet import WEIGHTS, as_graph, efficientnet_lite0, prepared
from gramless.pictures.features.histograms import Floats
from gramless.pictures.features.names import EFFICIENTNETS, LIBRARIES
from gramless.pictures.features.pictures import Picture
from gramless.support.packages import missing, needed

Extractor = Callable[[Sequence[Picture]], Floats]
"""Called on a batch of pictures, gives (n, width) float32."""


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A network of PyTorch."""

    prepare: Callable[[Picture], Tensor]  # (3, height, width), the same size for every picture
    features: Callable[[Tensor], Tensor]  # (n, 3, height, width) to (n, width)

    def __call__(self, pictures: Sequence[Picture]) -> Floats:
        with torch.inference_mode():
            pixels = torch.stack([self.prepare(picture) for picture in pictures])
            features = self.features(pixels.to(_device(), memory_format=torch.channels_last))
        return np.asarray(features.float().cpu().numpy())


class GraphNetwork:
    """A network in ONNX Runtime, on one core: picture by picture, since batches are no faster there."""

    def __init__(self, prepare: Callable[[Picture], Floats], graph: bytes) -> None:
        runtime = needed("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._prepare = prepare
        self._session = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def __call__(self, pictures: Sequence[Picture]) -> Floats:
        rows = [self._session.run(None, {"pixels": self._prepare(picture)[None]})[0].ravel() for picture in pictures]
        return np.stack(rows)


def has_gpu() -> bool:
    return torch.cuda.is_available()


@cache
def trained_network(name: str) -> Extractor:
    """The network of a view, loaded once in a process, on the GPU if there is one.

    name : one of EFFICIENTNETS, whose weights come with a package; torchvision:MODEL or timm:MODEL, for which those
    libraries look for the weights on this machine first and fetch them where they may.
    """
    library, _, model = name.partition(":")
    if library not in LIBRARIES:
        return _efficientnet_lite0(EFFICIENTNETS[name])
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
    package = library if library in LIBRARIES else WEIGHTS
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


def _efficientnet_lite0(side: int) -> Extractor:
    """Means of the last feature map of EfficientNet-Lite0 on ImageNet: 1,280 non-negative numbers."""
    network: Any = efficientnet_lite0(side)
    if not has_gpu():
        return GraphNetwork(lambda picture: prepared(picture, side), as_graph(network, side))
    _ready(network)
    return TrainedNetwork(
        lambda picture: torch.from_numpy(prepared(picture, side)),
        lambda pixels: network.extract_features(pixels).mean((2, 3)),
    )


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
