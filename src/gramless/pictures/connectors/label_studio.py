"""A machine learning backend for Label Studio: it suggests choices, and learns from what people submit.

    python -m gramless.pictures.connectors.label_studio MODEL -o LEARNED --studio http://localhost:8080 --token TOKEN

In the project's settings, Model, connect http://this-computer:9090. Label Studio refuses addresses of one's own network
unless it was started with ML_BLOCK_LOCAL_IP=false and SSRF_PROTECTION_ENABLED=false. The labelling configuration has an
Image and Choices with choice="multiple", whose names are found out; only listed choices are suggested, and annotations
say of these alone whether a picture has them. Asked by Label Studio are POST /predict, /setup and /webhook and GET
/health and /versions. /predict answers {"results": [{"result": [...], "score", "model_version"}], ...}; a webhook of
annotations that were created or updated, and not skipped, teaches the model at once, and what it learned is saved.
TOKEN, of a person's account, lets pictures that were uploaded to Label Studio be fetched; pictures of other servers are
not. It may be a legacy token, or a personal access token, which POST /api/token/refresh exchanges for one that lasts
some minutes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urljoin, urlsplit
from urllib.request import Request
from xml.etree import ElementTree

import numpy as np
import typer

from gramless.errors import DataError
from gramless.pictures.annotation import Annotator, load_annotator
from gramless.pictures.annotation.fitting import THUMBNAIL_SIDE
from gramless.pictures.connectors import run_command
from gramless.pictures.connectors.json_server import Route, fetch, json_server, run
from gramless.pictures.correcting.labels import REST, Answers
from gramless.pictures.correcting.learning import Taught, learn_again
from gramless.pictures.features import PictureError, make_thumbnail
from gramless.storage import save

TAUGHT_BY = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
JWT_DOTS = 2  # in a personal access token, and none in a legacy one


class Backend:
    """The model as it is now, and how Label Studio is asked for pictures."""

    def __init__(self, annotator: Annotator, studio: str, token: str = "", output: Path | None = None) -> None:
        self.annotator = annotator
        self.studio, self._token, self._output = studio.rstrip("/"), token, output
        self._learned = 0

    @property
    def version(self) -> str:
        return f"gramless-{len(self.annotator.album)}-{self._learned}"

    def routes(self) -> dict[tuple[str, str], Route]:
        up = {"status": "UP", "model_class": "Gramless"}
        return {
            ("POST", "/predict"): self.predict,
            ("POST", "/setup"): lambda _: {"model_version": self.version},
            ("POST", "/webhook"): self.fit,
            ("GET", "/health"): lambda _: up,
            ("GET", "/versions"): lambda _: {"versions": [self.version]},
            ("GET", "/"): lambda _: up,
        }

    def predict(self, request: dict[str, Any]) -> dict[str, Any]:
        """Choices for tasks, in their order; of a picture that cannot be read, none."""
        asked = labelling_in(str(request.get("label_config", "")))
        results = []
        for task in request.get("tasks") or []:
            try:
                look = self.annotator.look(self._fetch(task["data"][asked.field]), n_neighbours=0)
            except PictureError:
                results.append({"result": [], "score": 0.0, "model_version": self.version})
                continue
            found = {word: score for word, score in look.suggestions if word in asked.listed or not asked.listed}
            value = {"choices": list(found)}
            region = {"from_name": asked.choices, "to_name": asked.image, "type": "choices", "value": value}
            least = min(found.values(), default=0.0)
            results.append({"result": [region] if found else [], "score": float(least), "model_version": self.version})
        return {"results": results, "model_version": self.version}

    def fit(self, event: dict[str, Any]) -> dict[str, Any]:
        """Learn from pictures that somebody has annotated; other events teach nothing."""
        if event.get("action") not in TAUGHT_BY:
            return {"status": "ignored", "model_version": self.version}
        lessons = lessons_in(event, self.annotator.keywords)
        if not lessons:
            return {"status": "ignored", "model_version": self.version}
        pictures = [self._fetch(address) for address, _ in lessons.values()]
        described = self.annotator.features.describe(pictures)
        for number, reason in described.unreadable.items():
            raise PictureError(reason, list(lessons)[number])
        vectors = np.asarray(self.annotator.classifier.map_network_.transform(described.views))
        said = tuple(answers for _, answers in lessons.values())
        thumbnails = tuple(make_thumbnail(picture, THUMBNAIL_SIDE) for picture in pictures)
        self.annotator = learn_again(self.annotator, Taught(tuple(lessons), vectors, said, thumbnails))
        self._learned += len(lessons)
        if self._output is not None:
            save(self.annotator, self._output)
        return {"status": "ok", "model_version": self.version}

    def _fetch(self, address: str) -> bytes:
        whole, studio = urlsplit(urljoin(self.studio + "/", str(address))), urlsplit(self.studio)
        if (whole.scheme, whole.netloc) != (studio.scheme, studio.netloc):
            raise DataError(
                f"{whole.netloc or address} is not Label Studio at {self.studio}: nothing is fetched there."
            )
        return self._asked(Request(whole.geturl(), headers=self._authorization()))

    def _authorization(self) -> dict[str, str]:
        if self._token.count(".") != JWT_DOTS:
            return {"Authorization": f"Token {self._token}"} if self._token else {}
        body, headers = json.dumps({"refresh": self._token}).encode(), {"Content-Type": "application/json"}
        answer = self._asked(Request(f"{self.studio}/api/token/refresh", body, headers))
        try:
            access = json.loads(answer)["access"]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError("Label Studio gives no access for this token. Check --token.") from error
        return {"Authorization": f"Bearer {access}"}

    def _asked(self, request: Request) -> bytes:
        try:
            return fetch(request)
        except OSError as error:
            raise DataError(
                f"Label Studio does not give {request.selector} ({error}). Check --studio and --token."
            ) from error


def _as_list(one_or_several: Any) -> list[Any]:
    return one_or_several if isinstance(one_or_several, list) else [one_or_several]


class Labelling(NamedTuple):
    """What a labelling configuration asks."""

    choices: str  # its name
    image: str  # its name
    field: str  # of a task: the image's address
    listed: tuple[str, ...]  # choices; none where every task brings its own


def labelling_in(label_config: str) -> Labelling:
    """Found out of the XML of a project."""
    if "<!DOCTYPE" in label_config or "<!ENTITY" in label_config:
        raise DataError("the labelling configuration has a document type, which none of Label Studio's has.")
    try:
        view = ElementTree.fromstring(label_config)
    except ElementTree.ParseError as error:
        raise DataError(f"the labelling configuration is no XML ({error}).") from error
    choices, image = view.find(".//Choices"), view.find(".//Image")
    if choices is None or image is None or not image.get("value", "").startswith("$"):
        raise DataError('the labelling configuration needs <Image value="$..."> and <Choices choice="multiple">.')
    listed = tuple(str(choice.get("alias") or choice.get("value")) for choice in choices.iter("Choice"))
    return Labelling(choices.get("name", ""), choices.get("toName", ""), image.get("value", "")[1:], listed)


def lessons_in(event: dict[str, Any], keywords: Iterable[str]) -> dict[str, tuple[str, Answers]]:
    """By name, the address of every picture that somebody annotated and what this says of it: a listed choice that was
    not chosen is not there. Of the other keywords it says something only where none, or all, of them are listed."""
    try:
        asked = labelling_in(event["project"]["label_config"])
        addresses = {task["id"]: task["data"][asked.field] for task in _as_list(event["task"])}
        chosen = {
            annotation["task"]: _choices(annotation["result"])
            for annotation in _as_list(event["annotation"])
            if not annotation["was_cancelled"]
        }
        absent = dict.fromkeys(asked.listed, False)
        if not asked.listed or set(asked.listed).issuperset(keywords):
            absent[REST] = False
        return {
            f"task {task}": (addresses[task], absent | dict.fromkeys(words, True)) for task, words in chosen.items()
        }
    except (KeyError, TypeError) as error:
        raise DataError(f"this is no event of an annotation of Label Studio: {error}.") from error


def _choices(regions: list[dict[str, Any]]) -> list[str]:
    return [word for region in regions if region["type"] == "choices" for word in region["value"]["choices"]]


def main(
    model: Annotated[Path, typer.Argument(help="A model that `gramless annotate fit` made.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save what was learned.")],
    studio: Annotated[str, typer.Option(help="Where Label Studio is.")] = "http://localhost:8080",
    token: Annotated[str, typer.Option(help="Of an account there.", envvar="LABEL_STUDIO_API_KEY")] = "",
    host: Annotated[str, typer.Option(help="Address to serve at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free.")] = 9090,
    key: Annotated[
        str, typer.Option(help="The password in Label Studio's model settings.", envvar="GRAMLESS_KEY")
    ] = "",
) -> None:
    """Suggest keywords to Label Studio, and learn from what people submit."""
    backend = Backend(load_annotator(output if output.exists() else model), studio, token, output)
    run(json_server(backend.routes(), host, port, key), "A backend for Label Studio")


if __name__ == "__main__":
    run_command(main)
