"""What the cells of one set of features share: learned networks, their values between all pictures, and maps.

A network is learned once and kept as a file; learning that was interrupted continues. The kernel matrix of all pictures
(100 MB for COREL5k) stays in memory for the network that is being worked on. Initial maps read their kernel values from
it; maps that are tuned are made from the pictures' features, and kept as files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from gramless import (
    DeepKernel,
    DeepKernelNetwork,
    DeepMapNetwork,
    FileFormatError,
    LeaveOneOut,
    SemiSupervised,
    Supervised,
    Views,
    load,
    save,
)
from gramless.engine import choose_device
from gramless.kernels import Precomputed
from gramless.maps.tuning import TUNERS, finish_with_labels, ranking
from gramless.network import Layer, ViewKernel, make_activation
from gramless.support.atomic import write_atomically
from reproduction.cells import Cell, Figures
from reproduction.collection import Collection

VERSION = 4  # of how networks and maps are made; raised where the same settings give others
KERNELS = ("linear", "poly2", "gaussian", "intersection")  # the paper's four
POWER = 0.5  # of a smooth kernel's values: the one of those tried with the best F1 on held-out training pictures
N_SPREAD = 500  # training pictures that the spread of a kernel's values is taken of
NUMBER = "number"  # the view of pictures whose kernel values are looked up

Learning = Literal["supervised", "smooth", "semi-supervised", "leave-one-out", "average"]
Tuning = Literal["landmarks", "keywords", "algorithm1"]
"""Landmarks moved without keywords; the same, and then finished with those of the training pictures; the paper's."""


@dataclass(frozen=True)
class NetworkSpec:
    """A deep kernel network: how it is learned, its layers, and on how many pictures; "average" learns nothing.

    The paper's kernels, or by leave-one-out those that this package takes by default. "smooth" is the supervised one
    whose values are closer to each other, for the tables of relative errors.
    """

    learning: Learning
    n_layers: int
    max_samples: int
    seed: int


@dataclass(frozen=True)
class MapSpec:
    """The map of a network with so many landmarks, as compiled or tuned on so many pictures without their keywords."""

    network: NetworkSpec
    n_landmarks: int
    seed: int
    tuning: Tuning | None = None
    n_tuning: int | None = None


@dataclass(frozen=True, eq=False)
class DeepMapOfAll:
    """The vectors (n, d) of all pictures, and the held-out relative error in percent by iteration of tuning.

    unshaped : the vectors before keywords had a part in them, of which out-of-fold scores are taken
    """

    phi: np.ndarray
    curve: list[tuple[int, float]]
    unshaped: np.ndarray


@dataclass(frozen=True, eq=False)
class Draw:
    """The random sets of one seed: landmarks, S', and all pictures in the order that T grows."""

    landmarks: np.ndarray
    tuning: np.ndarray
    order: np.ndarray

    @property
    def outside(self) -> np.ndarray:
        """Pictures that are neither landmarks nor in S'."""
        return np.setdiff1d(np.setdiff1d(self.order, self.tuning), self.landmarks)


class Laboratory:
    """Networks and maps of a collection, in a folder.

    n_hidden : units of the hidden layer of a network of three layers
    n_candidates : landmarks are drawn from so many first pictures
    """

    def __init__(self, collection: Collection, folder: Path, n_hidden: int, n_candidates: int) -> None:
        self.collection = collection
        self.folder = folder
        self.n_hidden = n_hidden
        self.n_candidates = n_candidates
        self._gram: tuple[NetworkSpec, Tensor] | None = None
        self._map: tuple[MapSpec, DeepMapOfAll] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what networks and maps depend on beside their specification."""
        told = json.dumps([VERSION, self.collection.sha256, self.n_hidden, self.n_candidates, KERNELS])
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def cell(
        self,
        table: tuple[str, int],
        model: str,
        features: str,
        made: NetworkSpec | MapSpec,
        compute: Callable[[], Figures],
        **others: Any,
    ) -> Cell:
        """A cell about a network or a map of it. Algorithm 1 comes last: without a GPU it takes hours.

        table : its name, and the version of the code that computes its cells
        others : whatever else the figures depend on
        """
        network = made.network if isinstance(made, MapSpec) else made
        settings = {"model": model, "features": features} | others
        made_from: tuple[Hashable, ...] = (self.fingerprint, network)
        late = False
        if isinstance(made, MapSpec):
            settings |= {"S": made.n_landmarks, "S'": made.n_tuning}
            made_from, late = (*made_from, made), made.tuning == "algorithm1"
        settings |= {"learned on": network.max_samples, "seed": made.seed, "data": self.fingerprint}
        return Cell(*table, settings, compute, made_from, late=late)

    def kernel(self, spec: NetworkSpec) -> DeepKernel:
        """Found again, or learned."""
        name = self._name(asdict(spec))
        path, checkpoint = self.folder / f"{name}.gramless", self.folder / f"{name}.checkpoint"
        if not path.exists():
            save(self.learn(spec, checkpoint), path)
        checkpoint.unlink(missing_ok=True)  # also of a run that was killed before it came to this
        return load(path)

    def gram(self, spec: NetworkSpec) -> Tensor:
        """kappa between all pictures: (n, n), float32, where the network computes."""
        if self._gram is None or self._gram[0] != spec:
            self._gram = self._map = None  # one at a time in memory
            kernel, views = self.kernel(spec), self.collection.views
            self._gram = spec, kernel.tensor(views, views, torch.float32).to(choose_device(views))
        return self._gram[1]

    def map(self, spec: MapSpec) -> DeepMapOfAll:
        """Found again, or made; tuned ones, which take long, are kept in files."""
        if self._map is None or self._map[0] != spec:
            make: Callable[[MapSpec], DeepMapOfAll] = self._initial if spec.tuning is None else self._tuned
            self._map = spec, make(spec)
        return self._map[1]

    def draw(self, n_landmarks: int, n_tuning: int | None, seed: int) -> Draw:
        """S from the candidates, S' and T from all; the larger ones of a seed hold the smaller ones."""
        rng = np.random.default_rng(seed)
        order, pool = rng.permutation(len(self.collection)), rng.permutation(self.n_candidates)
        return Draw(np.sort(pool[:n_landmarks]), order[::-1][: n_tuning or 0], order)

    def learn(self, spec: NetworkSpec, checkpoint: Path) -> DeepKernel:
        pictures = self.collection
        if spec.learning == "smooth":
            return smoothed(
                self.kernel(replace(spec, learning="supervised")), pictures.views[pictures.train[:N_SPREAD]]
            )
        if spec.learning == "average":
            average = DeepKernelNetwork(
                KERNELS, (), output_activation="identity", weights="uniform", learning=None, random_state=spec.seed
            )
            return average.fit(pictures.views[pictures.train]).kernel_
        if spec.learning == "leave-one-out":
            ours = DeepKernelNetwork(learning=LeaveOneOut(max_samples=spec.max_samples), random_state=spec.seed)
            return self._fitted(ours, spec.learning)
        hidden = (self.n_hidden,) * (spec.n_layers - 2)
        kind = SemiSupervised if spec.learning == "semi-supervised" else Supervised
        learning = kind(max_samples=spec.max_samples, checkpoint=str(checkpoint))
        network = DeepKernelNetwork(KERNELS, hidden, learning=learning, random_state=spec.seed)
        try:
            return self._fitted(network, spec.learning)
        except FileFormatError:  # the checkpoint of another version, or of a device that rounds differently
            checkpoint.unlink()
            return self._fitted(network, spec.learning)

    def _fitted(self, network: DeepKernelNetwork, learning: Learning) -> DeepKernel:
        pictures = self.collection
        if learning == "semi-supervised":
            labelled = np.arange(len(pictures.labels))
            known = labelled < pictures.n_train
            return network.fit(pictures.views[labelled], pictures.labels, known).kernel_
        return network.fit(pictures.views[pictures.train], pictures.labels[pictures.train]).kernel_

    def _initial(self, spec: MapSpec) -> DeepMapOfAll:
        gram = self.gram(spec.network)
        numbers = Views({NUMBER: np.arange(len(gram), dtype=np.float32)[:, None]})
        return self.make(spec, looked_up(gram), numbers)

    def _tuned(self, spec: MapSpec) -> DeepMapOfAll:
        path = self.folder / f"{self._name(asdict(spec))}.npz"
        if not path.exists():
            made = self.make(spec, self.kernel(spec.network), self.collection.views)
            write_atomically(
                path, lambda file: np.savez(file, phi=made.phi, unshaped=made.unshaped, curve=np.array(made.curve))
            )
        with np.load(path) as file:
            curve = [(int(step), float(error)) for step, error in file["curve"]]
            return DeepMapOfAll(file["phi"], curve, file["unshaped"])

    def make(self, spec: MapSpec, kernel: DeepKernel, views: Views) -> DeepMapOfAll:
        drawn = self.draw(spec.n_landmarks, spec.n_tuning, spec.seed)
        network = DeepMapNetwork(kernel, landmarks=drawn.landmarks, random_state=spec.seed).fit(views)
        deep_map, curve = network.map_, []
        if spec.tuning is not None:
            generator = torch.Generator().manual_seed(spec.seed)
            tuner = TUNERS["landmarks" if spec.tuning == "keywords" else spec.tuning]
            result = tuner(network.map_, views[drawn.tuning], generator)
            deep_map, curve = result.map, result.curve
        phi = unshaped = deep_map.transform(views).cpu().numpy()
        if spec.tuning == "keywords":
            pictures = self.collection
            signs = torch.from_numpy(2 * pictures.labels[pictures.train].astype(np.int64) - 1)
            deep_map = finish_with_labels(deep_map, views[pictures.train], signs, ranking, generator).map
            phi = deep_map.transform(views).cpu().numpy()
        return DeepMapOfAll(phi, curve, unshaped)

    def _name(self, spec: dict[str, Any]) -> str:
        told = json.dumps([self.fingerprint, spec], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:20]


def smoothed(kernel: DeepKernel, views: Views) -> DeepKernel:
    """kappa^POWER: exp(POWER u) where kappa = exp(u), p.s.d. as it is for every multiple of a p.s.d. u.

    Times a constant, of which relative errors know nothing, so that kappa(x, x) - kappa(x, x') is on average over these
    samples what it was: SVMs of the same C then see as much of it.
    """
    *hidden, last = kernel.layers
    raised = replace(kernel, layers=(*hidden, Layer(POWER * last.weights, last.activation)), scale=1.0)

    def spread(of: DeepKernel) -> float:
        values = of.tensor(views, views).double()
        return (values.diagonal().mean() - values.mean()).item()

    return replace(raised, scale=spread(kernel) / spread(raised))


def looked_up(gram: Tensor) -> DeepKernel:
    """A kernel of known values between pictures that are given by their numbers."""
    layer = Layer(np.ones((1, 1), dtype=np.float32), make_activation("identity"))
    return DeepKernel((ViewKernel(NUMBER, Precomputed(gram)),), (layer,), {NUMBER: 1})
