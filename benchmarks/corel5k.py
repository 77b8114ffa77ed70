"""COREL5k for the benchmarks: cached features, labels, the official split, and kernels of all pictures at once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import gramless as gl
from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device
from gramless.learning import box, solve_svm_duals
from gramless.metrics import annotation_scores, mean_average_precision, top_k
from gramless.network import Layer, output_values

VIEWS = ("Rgb", "Hsv", "Lab", "Gist", "EfficientNet-Lite0")
N_TRAIN = 4_500
PENALTIES = (0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True, eq=False)
class Corel5k:
    """4,999 pictures, the first 4,500 for training; labels (4999, 260) of 0 and 1."""

    views: gl.Views
    labels: np.ndarray

    @property
    def train(self) -> np.ndarray:
        return np.arange(N_TRAIN)

    @property
    def test(self) -> np.ndarray:
        return np.arange(N_TRAIN, len(self.labels))

    def validation_split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Four fifths of the training pictures to learn from, a fifth to choose settings on."""
        order = np.random.default_rng(seed).permutation(N_TRAIN)
        return np.sort(order[N_TRAIN // 5 :]), np.sort(order[: N_TRAIN // 5])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--features",
        type=Path,
        required=True,
        help="folder that corel5k_features.py has filled: VIEW.npy and labels.npz",
    )
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))


def load(folder: Path, views: Sequence[str] = VIEWS) -> Corel5k:
    blocks = {view: np.load(folder / f"{view}.npy").astype(np.float32) for view in views}
    labels = np.load(folder / "labels.npz")
    return Corel5k(gl.Views(blocks), np.concatenate([labels["train"], labels["test"]]))


class ElementaryBank:
    """All elementary kernels of a network between all pictures, so that any network on them is a forward pass away."""

    def __init__(self, kernel: DeepKernel, views: gl.Views) -> None:
        self.inputs, self.layout = kernel.inputs, kernel.layout
        device = choose_device(views)
        n = len(views)
        self.values = torch.empty(len(kernel.inputs), n, n, device=device)
        for start in range(0, n, 500):
            rows = slice(start, min(start + 500, n))
            self.values[:, rows] = kernel.elementary(views[rows], views, torch.float32, device)

    def gram(self, layers: Sequence[Layer]) -> Tensor:
        return output_values(layers, self.values)


@dataclass(frozen=True)
class Scores:
    """The field's measures on one set of pictures, in percent; N+ a number of keywords."""

    recall: float
    precision: float
    f1: float
    n_plus: int
    map_pictures: float
    map_keywords: float

    @property
    def both_maps(self) -> float:
        return self.map_pictures + self.map_keywords


def judge(margins: np.ndarray, truth: np.ndarray) -> Scores:
    """Five keywords per picture, and rankings, by raw margins."""
    five = annotation_scores(top_k(margins, 5), truth)
    return Scores(
        five.recall,
        five.precision,
        five.f1,
        five.n_plus,
        mean_average_precision(margins, truth, over="samples"),
        mean_average_precision(margins, truth, over="concepts"),
    )


def svm_margins(gram: Tensor, labels: np.ndarray, fitted: np.ndarray, asked: np.ndarray, C: float) -> np.ndarray:
    """One SVM per keyword on a kernel scaled to a unit spread; margins (n_asked, n_labels)."""
    rows, columns = torch.from_numpy(fitted).to(gram.device), torch.from_numpy(asked).to(gram.device)
    known = gram[rows][:, rows]
    scale = known.diagonal().mean() - known.mean()
    signs = torch.from_numpy(2.0 * labels[fitted].T - 1.0).float().to(gram.device)
    solution = solve_svm_duals((known / scale).contiguous(), signs, box(signs, C), gap=5e-3)
    cross = gram[columns][:, rows] / scale
    return (cross.double() @ solution.coefficients.double().T + solution.bias).cpu().numpy()
