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


@dataclass(frozen=True, eq=False)
class PicturesDemo:
    """What was made: the model, its answers on the scenes that it had not seen, one of those scenes, and files."""

    annotator: Annotator
    judgement: Judgement
    unseen_scene: Path
    model: Path
    gallery: Path
    weights: Path
    seconds: float


def run_pictures_demo(
    folder: Path, seed: int, tell: Callable[[str], None] = lambda stage: None, sizes: SceneSizes | None = None
) -> PicturesDemo:
    """Draw, learn, judge; leave the model, a gallery and a picture of the weights in the folder.

    `tell` is called with every stage as it begins. Scenes and features that an earlier call left are used again; scenes
    of different seeds lie apart.
    """
    started = time.perf_counter()
    for module in ("jinja2", "matplotlib"):
        needed(module)  # before the work, which would be lost
    sizes = sizes or SceneSizes()
    model, gallery, weights = (folder / name for name in ("model.gramless", "gallery.html", "weights.png"))
    tell("drawing scenes")
    scenes = _scenes(folder / f"scenes-{seed}", sizes.n_scenes, seed)
    learned, unseen = scenes[: sizes.n_learned], scenes[sizes.n_learned :]
    with one_thread(), threadpool_limits(1), closing(FeatureCache(folder / "cache")) as cache:  # k-means has threads
        annotator = fit_annotator(learned, sizes.views, cache=cache, seed=seed, tell=tell).annotator
        save(annotator, model)
        tell("judging it on unseen scenes")
        judgement = judge(annotator, unseen, cache=cache)
    tell("drawing the gallery")
    title = f"Keywords for {len(unseen)} drawn scenes that the model had not seen"
    save_gallery(gallery, judgement.annotations, title, figures_of(judgement.quality))
    kernel = annotator.classifier.map_network_.kernel_
    write_atomically(weights, lambda file: save_weights_figure(kernel, file))
    seconds = time.perf_counter() - started
    return PicturesDemo(annotator, judgement, unseen.paths[0], model, gallery, weights, seconds)


def _scenes(folder: Path, n_scenes: int, seed: int) -> AnnotatedPictures:
    """Those that lie there, or new ones: a folder of scenes is there whole or not at all."""
    table = folder / "keywords.csv"
    if not table.exists():
        write_scenes(folder, n_scenes, seed)
    scenes = read_annotated(folder, table)
    if len(scenes) != n_scenes:
        raise DataError(
            f"{folder} holds {len(scenes)} scenes instead of {n_scenes}. Delete it, and they are drawn anew."
        )
    return scenes
