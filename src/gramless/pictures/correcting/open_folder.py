"""A folder that is open in the page: its pictures, a model's suggestions, what people said, and learning from it."""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, RLock, Thread
from typing import Any

import numpy as np

from gramless.errors import DataError, GramlessError
from gramless.pictures.annotation import Annotation, Annotator, Look, Suggestion, fit_annotator
from gramless.pictures.correcting.cache import CACHE_FOLDER, PictureCache
from gramless.pictures.correcting.labels import LABEL_FILE, REST, Answers, LabelFile
from gramless.pictures.correcting.learning import (
    Taught,
    fully_known,
    learn_again,
    learning_curve,
    taught_by,
    training_rows,
)
from gramless.pictures.correcting.suggestions import Progress, Suggestions
from gramless.pictures.datasets.picture_files import list_folder
from gramless.pictures.features import FeatureCache, end_workers, make_thumbnail
from gramless.pictures.metadata.fields import lineage, paths_of_names
from gramless.pictures.metadata.giving import Said
from gramless.storage import save

AT_ONCE = 32  # pictures that are described before their suggestions are shown
FIRST = 8  # the first ones are there before worker processes have started
MOST_WANTED = 500  # pictures on the screen that go before the others
SECONDS_TO_STOP = 2  # for the picture that is being described when the folder is closed
THUMBNAIL_SIDE, PREVIEW_SIDE = 320, 1280
CURVE = "curve"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Learning:
    """What learning is at: nothing, a stage of it, or why it failed."""

    stage: str = ""
    failed: str = ""
    seconds: float = 0.0  # that the last one took until new suggestions were there


class OpenFolder:
    """All that the page asks of a folder. Pictures are positions, 0 to n - 1: no name comes from outside.

    Everything slow runs in threads of its own; whoever asks gets what is known by now.

    output : where a model that has learned again is saved, or None for nowhere
    map_key : a text that is the same for the same map, by which vectors are found again
    """

    def __init__(self, folder: Path, annotator: Annotator, output: Path | None = None, map_key: str = "") -> None:
        self.folder = folder
        self.output = output
        self.listing = list_folder(folder)
        if not self.listing.paths:
            raise DataError(f"there are no pictures in {folder}. Give a folder that has some, or none.")
        self.labels = LabelFile(folder / LABEL_FILE)
        self.pictures = PictureCache(folder / CACHE_FOLDER)
        self._features = FeatureCache(folder / CACHE_FOLDER)
        self._position = {name: i for i, name in enumerate(self.listing.names)}
        self._base = annotator
        self._map_key = map_key
        self._lock = RLock()
        self._stop, self._idle = Event(), Event()
        self._idle.set()
        self._wanted: deque[int] = deque(maxlen=MOST_WANTED)
        self._seen_version = -1
        self._said: dict[int, Answers] = {}
        self.learning = Learning()
        self.model_version = 0
        self._begin(annotator)

    # ---- what is known

    @property
    def keywords(self) -> tuple[str, ...]:
        return self.suggestions.annotator.keywords

    def look(self, picture: bytes) -> Look:
        """Of a picture that is not in the folder, by the model as it is now."""
        return self.suggestions.annotator.look(picture)

    def said(self, position: int) -> Answers:
        """What is known of a picture: what the model was taught, and over it what people said."""
        with self._lock:
            self._refresh()
            return self._taught_before(position) | self._said.get(position, {})

    def spoken_of(self) -> list[int]:
        """Positions that people said something of, in the order in which they began with them."""
        with self._lock:
            self._refresh()
            return [position for position, answers in self._said.items() if answers]

    def is_known(self, position: int) -> bool:
        """Whether nothing needs to be asked: people said something of it, or the model was taught on it."""
        return position in self.training or bool(self._said.get(position))

    def describe(self, position: int) -> dict[str, Any]:
        """A picture as the page shows it."""
        with self._lock:
            said, found = self.said(position), self.suggestions
            p = dict(zip(self.keywords, found.probabilities[position].tolist(), strict=True))
            if REST not in said:
                chosen = np.flatnonzero(found.chosen[position])
                said = {self.keywords[j]: None for j in chosen} | said  # type: ignore[assignment]
            shown = sorted(said.keys() - {REST}, key=lambda keyword: (-p.get(keyword, 0.0), keyword))
            return {
                "id": position,
                "name": self.listing.names[position],
                "state": Progress(found.progress[position]).name.lower(),
                "reason": found.reasons.get(position, ""),
                "done": REST in said,
                "training": position in self.training,
                "keywords": [{"keyword": word, "p": p.get(word), "said": said[word]} for word in shown],
            }

    def status(self) -> dict[str, Any]:
        """What changes while one looks on."""
        with self._lock:
            progress = np.bincount(self.suggestions.progress, minlength=len(Progress)).tolist()
            curve = self.labels.noted(CURVE)
            return {
                "folder": self.folder.resolve().name,
                "pictures": len(self.listing.paths),
                "described": progress[Progress.DESCRIBED],
                "unreadable": progress[Progress.UNREADABLE],
                "answered": len(self.spoken_of()),
                "training": len(self.training),
                "labels": self.labels.version(),
                "model": self.model_version,
                "keywords": len(self.keywords),
                "learning": vars(self.learning),
                "curve": json.loads(curve) if curve else [],
                "output": None if self.output is None else self.output.name,
            }

    def thumbnail(self, position: int) -> bytes:
        name, stamp = self.listing.names[position], self.listing.stamps[position]
        known = self.pictures.thumbnail(name, stamp)
        if known is None:
            known = make_thumbnail(self.listing.paths[position], THUMBNAIL_SIDE)
            self.pictures.keep_thumbnail(name, stamp, known)
        return known

    def preview(self, position: int) -> bytes:
        return make_thumbnail(self.listing.paths[position], PREVIEW_SIDE)

    # ---- what people do

    def change(self, person: str, position: int, changes: Mapping[str, bool | None]) -> None:
        """Whoever has animal|cat has animal too, and who has no animal has none of its children that are shown."""
        meant = {self.known_as(keyword): has for keyword, has in changes.items()}
        shown = [word["keyword"] for word in self.describe(position)["keywords"]]
        implied: dict[str, bool | None] = {}
        for keyword, has in meant.items():
            if has:
                implied |= dict.fromkeys(lineage(keyword), True)
            elif has is False:
                implied |= dict.fromkeys((word for word in shown if word.startswith(f"{keyword}|")), False)
        self.labels.change(person, self.listing.names[position], implied | meant)

    def known_as(self, keyword: str) -> str:
        """As the model writes it: in its case, and with its parents where just one has that name."""
        known = paths_of_names(self.keywords) | {each: each for each in self.keywords}
        return known.get(keyword) or {name.casefold(): known[name] for name in known}.get(keyword.casefold(), keyword)

    def undo(self, person: str) -> int | None:
        """The position of the picture whose last step was taken back, or None where there was none."""
        picture = self.labels.undo(person)
        return None if picture is None else self._position.get(picture)

    def want(self, positions: list[int]) -> None:
        """These are on the screen: describe them before the others."""
        with self._lock:
            self._wanted.extendleft(reversed(positions))

    def annotations(self) -> list[Annotation]:
        """What people said, as files take it."""
        found = []
        for position in self.spoken_of():
            has = tuple(Suggestion(keyword, 1.0) for keyword, yes in self.said(position).items() if yes)
            found.append(Annotation(self.listing.paths[position], self.listing.names[position], has))
        return found

    def words(self) -> list[tuple[Path, Said]]:
        """The same with what they denied, as sidecars take it."""
        found = []
        for position in self.spoken_of():
            answers = self.said(position)
            said = {yes: tuple(k for k, has in answers.items() if has is yes and k != REST) for yes in (True, False)}
            found.append((self.listing.paths[position], Said(said[True], said[False], REST in answers)))
        return found

    # ---- threads

    def start(self) -> None:
        """Describe all pictures, and learn from what was said of them before."""
        self._idle.clear()
        Thread(target=self._work, daemon=True).start()

    def close(self) -> None:
        """Give up what is being described; what was described and said is kept."""
        self._stop.set()
        end = time.monotonic() + SECONDS_TO_STOP
        while not self._idle.wait(timeout=0.2) and time.monotonic() < end:
            end_workers()
        for part in (self.labels, self.pictures):
            part.close()
        if self._idle.is_set():  # otherwise a picture that takes long is still being computed
            self._features.close()

    def learn(self, everything: bool = False) -> bool:
        """Begin to learn in a thread; whether it could begin, for one at a time does."""
        with self._lock:
            if self.learning.stage:
                return False
            self.learning = replace(self.learning, stage="collecting what was said", failed="")
        Thread(target=self._learn, args=(everything,), daemon=True).start()
        return True

    def _begin(self, annotator: Annotator) -> None:
        """With a model whose map may be another one."""
        suggestions = Suggestions(annotator, len(self.listing.paths))
        stamps = dict(zip(self.listing.names, self.listing.stamps, strict=True))
        known = self.pictures.vectors(self._map_key, stamps, suggestions.vectors.shape[1])
        positions = np.array([self._position[name] for name in known], dtype=int)
        if len(positions):
            suggestions.describe(positions, np.stack(list(known.values())))
        self.training: dict[int, int] = {}
        self.suggestions = suggestions
        self._find_training(positions)

    def _work(self) -> None:
        try:
            with self._lock:
                self._wanted.extend(self.spoken_of()[-MOST_WANTED:])
            if self.spoken_of():
                self.learn()
            while not self._stop.is_set():
                if not self._describe_some():
                    self._stop.wait(0.2)
        finally:
            self._idle.set()

    def _describe_some(self) -> bool:
        with self._lock:
            suggestions, base, key = self.suggestions, self._base, self._map_key
            count = AT_ONCE if len(suggestions.described) else FIRST
            positions = np.array(suggestions.waiting(self._wanted, count), dtype=int)
        if not len(positions):
            return False
        paths = [self.listing.paths[i] for i in positions]
        try:
            described = base.features.describe(paths, cache=self._features, given_up=self._stop.is_set)
        except Exception as error:  # the others may still be described
            if self._stop.is_set():
                return False
            _log.exception("describing pictures failed")
            with self._lock:
                for position in positions.tolist():
                    suggestions.give_up(position, f"cannot be described ({error})")
            return True
        vectors = np.zeros((0, suggestions.vectors.shape[1]))
        if described.views is not None:
            vectors = np.asarray(base.classifier.map_network_.transform(described.views))
        rows = positions[described.kept]
        with self._lock:
            for i, reason in described.unreadable.items():
                suggestions.give_up(int(positions[i]), reason)
            if len(rows):
                suggestions.describe(rows, vectors)
            if suggestions is self.suggestions:
                self._find_training(rows)
        kept = [(self.listing.names[i], self.listing.stamps[i], row) for i, row in zip(rows, vectors, strict=True)]
        self.pictures.keep_vectors(key, kept)
        return True

    def _learn(self, everything: bool) -> None:
        started = time.perf_counter()
        try:
            taught = self._taught()
            self._say("learning everything" if everything else "learning keywords")
            learned = self._learned_anew() if everything else learn_again(self._base, taught)
            with self._lock:
                if everything:
                    self._base, self._map_key = learned, f"{self._map_key}+{time.time_ns()}"
                    self._begin(learned)
                else:
                    self.suggestions.replace(learned)
                self.model_version += 1
                self.learning = replace(self.learning, seconds=time.perf_counter() - started)
            if self.output is not None:
                self._say("saving the model")
                save(learned, self.output)
            if not everything:
                self._say("measuring how good it is now")
                curve = learning_curve(self._base, taught)
                if not self._stop.is_set():
                    self.labels.note(CURVE, json.dumps(curve))
            self._say("")
        except GramlessError as error:
            self.learning = replace(self.learning, stage="", failed=str(error))
        except Exception as error:
            if self._stop.is_set():  # what it worked with is gone
                return
            _log.exception("learning failed")
            self.learning = replace(self.learning, stage="", failed=f"It failed ({error}); the terminal says more.")

    def _taught(self) -> Taught:
        """What people said, once its pictures are described."""
        while not self._stop.is_set():
            with self._lock:
                spoken = self.spoken_of()
                waiting = [i for i in spoken if self.suggestions.progress[i] == Progress.WAITING]
                self._wanted.extendleft(waiting[:MOST_WANTED])
            if not waiting:
                break
            self._say(f"describing {len(waiting):,} pictures first")
            self._stop.wait(0.2)
        return taught_by(self, [i for i in spoken if self.suggestions.progress[i] == Progress.DESCRIBED])

    def _learned_anew(self) -> Annotator:
        """Kernel, map and all, from the pictures of this folder of which everything is known."""
        with closing(FeatureCache(self.folder / CACHE_FOLDER)) as cache:  # not the one that another thread works with
            names = self._base.features.names
            return fit_annotator(fully_known(self), names, cache=cache, tell=self._say).annotator

    def _say(self, stage: str) -> None:
        self.learning = replace(self.learning, stage=stage)

    def _find_training(self, positions: np.ndarray) -> None:
        names = [self.listing.names[i] for i in positions]
        found = training_rows(self._base.album, names, self.suggestions.vectors[positions])
        self.training |= {int(positions[i]): row for i, row in found.items()}

    def _taught_before(self, position: int) -> Answers:
        row = self.training.get(position)
        if row is None:
            return {}
        labels = self._base.album.labels[row]
        return {keyword: True for keyword, has in zip(self._base.keywords, labels, strict=True) if has} | {REST: False}

    def _refresh(self) -> None:
        """Take in what other windows, or other processes, have written."""
        version = self.labels.version()
        if version == self._seen_version:
            return
        if self._seen_version < 0:
            every = self.labels.answers()
            self._said = {self._position[name]: said for name, said in every.items() if name in self._position}
        else:
            for name in self.labels.changed_since(self._seen_version):
                if name in self._position:
                    self._said[self._position[name]] = self.labels.answers_of(name)
        self._seen_version = version
