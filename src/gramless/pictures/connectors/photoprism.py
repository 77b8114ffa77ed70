"""Labels for PhotoPrism: a service that its vision.yml names, and that answers with your own keywords.

    python -m gramless.pictures.connectors.photoprism MODEL --key SECRET --host 0.0.0.0

and in PhotoPrism's `storage/config/vision.yml` (its own engines stay for what is not named here):

    Models:
    - Type: labels
      Name: gramless
      Resolution: 720
      Service:
        Uri: http://this-computer:8766/api/v1/vision/labels
        Method: POST
        Key: SECRET
        FileScheme: data
        RequestFormat: vision
        ResponseFormat: vision

then `photoprism vision run -m labels`. PhotoPrism sends {"id", "images": ["data:image/jpeg;base64,..."], ...}, one or
several sizes of one picture, and reads {"id", "code", "model", "result": {"labels": [{"name", "source", "confidence",
"topicality", "categories"}]}}; cat below animal has the category animal. Addresses in the place of data are refused:
this server fetches nothing.
"""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Annotated, Any

import typer

from gramless.errors import DataError
from gramless.pictures.annotation import Annotator, load_annotator
from gramless.pictures.connectors import run_command
from gramless.pictures.connectors.json_server import Route, json_server, run

PATH = "/api/v1/vision/labels"
SOURCE = "image"  # what PhotoPrism calls labels that come from looking at a picture


def routes(annotator: Annotator) -> dict[tuple[str, str], Route]:
    """Of a model, by method and path."""

    def labels(request: dict[str, Any]) -> dict[str, Any]:
        images = request.get("images")
        if not isinstance(images, list) or not images:
            raise DataError('got no picture: "images" is a list of data URLs. Set FileScheme: data in vision.yml.')
        look = annotator.look(_content(images[0]), n_neighbours=0)
        found = [_label(keyword, round(score, 4)) for keyword, score in look.suggestions]
        model = {"type": "labels", "name": "gramless", "version": "latest"}
        return {"id": str(request.get("id", "")), "code": 200, "model": model, "result": {"labels": found}}

    return {("POST", PATH): labels, ("GET", "/"): lambda _: {"status": "ok"}}


def _label(keyword: str, score: float) -> dict[str, Any]:
    *parents, name = keyword.split("|")
    label = {"name": name, "source": SOURCE, "confidence": score, "topicality": score}
    return label | ({"categories": parents} if parents else {})


def _content(image: object) -> bytes:
    head, comma, encoded = str(image).partition(",")
    if not (head.startswith("data:image/") and head.endswith(";base64") and comma):
        raise DataError("got a picture that is no data URL. Set FileScheme: data in vision.yml.")
    try:
        return b64decode(encoded, validate=True)
    except ValueError as error:
        raise DataError("a data URL is no base64.") from error


def main(
    model: Annotated[Path, typer.Argument(help="A model that `gramless annotate fit` made.")],
    host: Annotated[str, typer.Option(help="Address to serve at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free.")] = 8766,
    key: Annotated[str, typer.Option(help="What PhotoPrism sends as Key.", envvar="GRAMLESS_KEY")] = "",
) -> None:
    """Answer PhotoPrism with a model's keywords."""
    run(json_server(routes(load_annotator(model)), host, port, key), f"Labels for PhotoPrism: {PATH}")


if __name__ == "__main__":
    run_command(main)
