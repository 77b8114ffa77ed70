"""The demo of annotation: scenes drawn on the spot, a model of their keywords, and how good it is on unseen ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_limits

from gramless.errors import DataError
from gramless.figures.drawing import save_weights_figure
from gramless.pictures.annotation import Annotator, Judgement, fit_annotator, judge
from gramless.pictures.datasets import AnnotatedPictures, read_annotated
from gramless.pictures.features import HANDCRAFTED, LEARNED, FeatureCache
from gramless.pictures.gallery import save_gallery
from gramless.pictures.scenes import write_scenes
from gramless.pictures.tables import figures_of
from gramless.storage import save
from gramless.support.atomic import write_atomically
from gramless.support.packages import needed
from gramless.support.threads import one_thread


@dataclass(frozen=True)
class SceneSizes:
    """How much the demo does; smaller numbers and fewer views make it faster."""

    n_scenes: int = 400
    n_learned: int = 280
    views: tuple[str, ...] = HANDCRAFTED + LEARNED


@dataclass(frozen=True)
class DemoFiles:
    """Where everything lies in the demo's folder. Scenes of different seeds lie apart."""

    folder: Path
    seed: int

    @property
    def scenes(self) -> Path:
        return self.folder / f"scenes-{self.seed}"

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def model(self) -> Path:
        return self.folder / "model.gramless"

    @property
    def gallery(self) -> Path:
        return self.folder / "gallery.html"

    @property
    def weights(self) -> Path:
        return self.folder / "weights.png"


@dataclass(frozen=True, eq=False)
class PicturesDemo:
    """What was made: the model, its answers on the scenes that it had not seen, one of those scenes."""

    annotator: Annotator
    judgement: Judgement
    unseen_scene: Path
    seconds: float


def run_pictures_demo(
    files: DemoFiles, tell: Callable[[str], None] = lambda stage: None, sizes: SceneSizes | None = None
) -> PicturesDemo:
    """Draw, learn, judge; leave the model, a gallery and a picture of the weights in the folder.

    `tell` is called with every stage as it begins. Scenes and features that an earlier call left are used again.
    """
    started = time.perf_counter()
    for module in ("jinja2", "matplotlib"):
        needed(module)  # before the work, which would be lost
    sizes = sizes or SceneSizes()
    tell("drawing scenes")
    scenes = _scenes(files, sizes.n_scenes)
    learned, unseen = scenes[: sizes.n_learned], scenes[sizes.n_learned :]
    with one_thread(), threadpool_limits(1), closing(FeatureCache(files.cache)) as cache:  # k-means has its own threads
        fitted = fit_annotator(learned, sizes.views, cache=cache, seed=files.seed, tell=tell)
        annotator = fitted.annotator
        save(annotator, files.model)
        tell("judging it on unseen scenes")
        judgement = judge(annotator, unseen, cache=cache)
    tell("drawing the gallery")
    title = f"Keywords for {len(unseen)} drawn scenes that the model had not seen"
    save_gallery(files.gallery, judgement.annotations, title, figures_of(judgement.quality))
    kernel = annotator.classifier.map_network_.kernel_
    write_atomically(files.weights, lambda file: save_weights_figure(kernel, file))
    return PicturesDemo(annotator, judgement, unseen.paths[0], time.perf_counter() - started)


def _scenes(files: DemoFiles, n_scenes: int) -> AnnotatedPictures:
    """Those that lie there, or new ones: a folder of scenes is there whole or not at all."""
    table = files.scenes / "keywords.csv"
    if not table.exists():
        write_scenes(files.scenes, n_scenes, files.seed)
    scenes = read_annotated(files.scenes, table)
    if len(scenes) != n_scenes:
        raise DataError(
            f"{files.scenes} holds {len(scenes)} scenes instead of {n_scenes}. Delete it, and they are drawn anew."
        )
    return scenes
