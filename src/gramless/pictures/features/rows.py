"""Rows of many pictures: what the cache has, then the rest, computed and kept a few dozen pictures at a time."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple

from gramless.errors import GramlessError
from gramless.pictures.features.cache import FeatureCache
from gramless.pictures.features.histograms import Floats
from gramless.pictures.features.learned import has_gpu, trained_network, weights_version
from gramless.pictures.features.names import is_learned
from gramless.pictures.features.pictures import LONGEST_SIDE, Picture, PictureError, Source, content_hash, read_picture
from gramless.pictures.features.workers import in_order, n_workers
from gramless.support.progress import ProgressBar

RECIPES_VERSION = 3  # raised whenever a view's numbers change


def recipe(name: str, words: Floats | None = None) -> str:
    """The recipe of a view; words : those that it counts, if any."""
    parts = [name, f"recipe {RECIPES_VERSION}", f"at most {LONGEST_SIDE} pixels"]
    if words is not None:
        parts.append(f"words {hashlib.sha256(words.astype('<f4').tobytes()).hexdigest()}")
    if is_learned(name):
        parts.append(f"weights {weights_version(name)}")
    return ", ".join(parts)


BATCH = 32  # pictures that are computed before their rows are kept

Describe = Callable[[Picture, Sequence[str]], Mapping[str, Floats]]
"""The rows of a picture by name."""


class GivenUpError(GramlessError):
    """Pictures are not described to the end, as was asked for."""


class Rows(NamedTuple):
    """What is known of many pictures."""

    found: dict[str, dict[int, Floats]]  # by name and position
    unreadable: dict[int, str]  # by position why a picture could not be read, to follow "this picture"


class _Task(NamedTuple):
    source: Source
    names: tuple[str, ...]  # of the rows to compute
    for_gpu: bool  # whether the picture itself is wanted, for the networks on the GPU


class _Outcome(NamedTuple):
    rows: Mapping[str, Floats]
    picture: Picture | None


def compute_rows(
    sources: Sequence[Source],
    recipes: Mapping[str, str],
    describe: Describe,
    *,
    progress: ProgressBar,
    cache: FeatureCache | None,
    n_jobs: int | None,
    given_up: Callable[[], bool] = lambda: False,
) -> Rows:
    """One row of each name for each picture that can be read; every picture is a step of the progress.

    After Ctrl-C what was computed is kept in the cache, and where it is given up: see PictureFeatures.describe.

    recipes : names, and the texts under which the cache knows their rows
    describe : the rows of all names that are no network's; a function that can be sent to worker processes
    """
    found: dict[str, dict[int, Floats]] = {name: {} for name in recipes}
    unreadable: dict[int, str] = {}
    contents: dict[int, bytes] = {}
    for position, source in enumerate(sources):
        try:
            contents[position] = content_hash(source) if cache else b""
        except PictureError as error:
            unreadable[position] = error.reason
    if cache:
        positions = defaultdict(list)
        for position, content in contents.items():
            positions[content].append(position)
        for name, recipe in recipes.items():
            for content, numbers in cache.find(recipe, positions):
                found[name] |= dict.fromkeys(positions[content], numbers)
    missing = {i: names for i in contents if (names := [name for name in recipes if i not in found[name]])}
    progress.advance(len(sources) - len(missing))
    workers = n_workers(len(missing), n_jobs)
    todo, size = list(missing), max(BATCH, 4 * workers)
    try:
        for start in range(0, len(todo), size):
            chosen = {position: missing[position] for position in todo[start : start + size]}
            with closing(_batch_rows(sources, chosen, describe, workers, progress)) as results:
                for position, rows in results:
                    if isinstance(rows, PictureError):
                        unreadable[position] = rows.reason
                    else:
                        for name, numbers in rows.items():
                            found[name][position] = numbers
                            if cache:
                                cache.keep(recipes[name], contents[position], numbers)
                    if given_up():
                        raise GivenUpError("the pictures are not wanted any more.")
            if cache:
                cache.save()
    finally:  # Ctrl-C loses only the pictures that are being computed
        if cache:
            cache.save()
    return Rows(found, unreadable)


def _batch_rows(
    sources: Sequence[Source],
    missing: Mapping[int, Sequence[str]],
    describe: Describe,
    workers: int,
    progress: ProgressBar,
) -> Generator[tuple[int, Mapping[str, Floats] | PictureError]]:
    """The missing rows of a few pictures, each of which is read once, by name and as soon as they are known.

    Networks run in the workers, on one core each, which no thread has to wait for; or here, in batches on a GPU.
    """
    gpu = has_gpu()
    tasks = []
    for position, names in missing.items():
        at_once = tuple(name for name in names if not (gpu and is_learned(name)))
        tasks.append(_Task(sources[position], at_once, for_gpu=len(at_once) < len(names)))
    waiting: dict[str, dict[int, Picture]] = defaultdict(dict)
    with closing(in_order(partial(_attempt, describe), tasks, workers)) as outcomes:
        for position, outcome in zip(missing, outcomes, strict=True):
            progress.advance()
            if isinstance(outcome, PictureError):
                yield position, outcome
                continue
            yield position, outcome.rows
            if outcome.picture is not None:
                for name in filter(is_learned, missing[position]):
                    waiting[name][position] = outcome.picture
    for name, pictures in waiting.items():
        rows = trained_network(name)(list(pictures.values()))
        for position, numbers in zip(pictures, rows, strict=True):
            yield position, {name: numbers}


def _attempt(describe: Describe, task: _Task) -> _Outcome | PictureError:
    try:
        picture = read_picture(task.source)
    except PictureError as error:
        return error
    rows = dict(describe(picture, [name for name in task.names if not is_learned(name)]))
    for name in filter(is_learned, task.names):
        (rows[name],) = trained_network(name)([picture])
    return _Outcome(rows, picture if task.for_gpu else None)
