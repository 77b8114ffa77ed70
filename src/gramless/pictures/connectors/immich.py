"""Tags for Immich: asks its API for pictures, looks at their previews, and tags them.

    IMMICH_API_KEY=... python -m gramless.pictures.connectors.immich MODEL http://immich.lan:2283 --dry-run

The key needs the permissions asset.read, asset.view, tag.create and tag.asset. Tags are put under one parent,
"Gramless", so that a glance tells them from one's own, and deleting it in Immich takes all of them back. Asked are
POST /api/search/metadata, GET /api/assets/{id}/thumbnail, PUT /api/tags and PUT /api/tags/{id}/assets.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request

import typer

from gramless.errors import GramlessError
from gramless.pictures.annotation import Annotator, load_annotator
from gramless.pictures.connectors import run_command
from gramless.pictures.connectors.json_server import fetch
from gramless.pictures.features import PictureError
from gramless.support.progress import ProgressBar

PAGE = 250


class ImmichError(GramlessError):
    """Immich cannot be asked, or refuses."""


class Immich:
    """The few routes of its API that are needed."""

    def __init__(self, address: str, key: str) -> None:
        if urlsplit(address).scheme not in ("http", "https"):
            raise ImmichError(f"{address} is no address of Immich: give one like http://immich.lan:2283")
        self._address, self._key = address.rstrip("/").removesuffix("/api"), key

    def pictures(self) -> Iterator[dict[str, Any]]:
        """Every picture, a page at a time."""
        page: str | int | None = 1
        while page is not None:
            asked = {"page": int(page), "size": PAGE, "type": "IMAGE"}
            found = self._json("POST", "search/metadata", asked)["assets"]
            yield from found["items"]
            page = found.get("nextPage")

    def preview(self, asset: str) -> bytes:
        return self._ask("GET", f"assets/{asset}/thumbnail?size=preview")

    def tag(self, names: list[str]) -> dict[str, str]:
        """Ids by full name; what is not there is made."""
        return {tag["value"]: tag["id"] for tag in self._json("PUT", "tags", {"tags": names})}

    def put_tag(self, tag: str, assets: list[str]) -> int:
        """How many pictures have it now that had it not."""
        answers = self._json("PUT", f"tags/{tag}/assets", {"ids": assets})
        return sum(bool(answer["success"]) for answer in answers)

    def _json(self, method: str, route: str, body: dict[str, Any]) -> Any:
        try:
            return json.loads(self._ask(method, route, json.dumps(body).encode()))
        except ValueError as error:
            raise ImmichError(f"{self._address} answers /api/{route} with something else than Immich does.") from error

    def _ask(self, method: str, route: str, body: bytes | None = None) -> bytes:
        headers = {"x-api-key": self._key} | ({"Content-Type": "application/json"} if body else {})
        request = Request(f"{self._address}/api/{route}", body, headers, method=method)
        try:
            return fetch(request)
        except HTTPError as error:
            raise ImmichError(
                f"Immich refuses {method} /api/{route} ({error.code}). Check the address, the key and its permissions."
            ) from error
        except OSError as error:
            raise ImmichError(f"Immich does not answer at {self._address} ({error}). Check the address.") from error


def tag_all(annotator: Annotator, immich: Immich, parent: str, dry_run: bool = False) -> dict[str, int]:
    """By keyword how many pictures got it, or with dry_run would be given it."""
    with_keyword: dict[str, list[str]] = defaultdict(list)
    assets = list(immich.pictures())
    with ProgressBar("looking at previews", len(assets)) as progress:
        for asset in assets:
            try:
                look = annotator.look(immich.preview(asset["id"]), n_neighbours=0)
            except PictureError:  # a preview that is not made yet
                continue
            finally:
                progress.advance()
            for keyword, _ in look.suggestions:
                with_keyword[tag_name(parent, keyword)].append(asset["id"])
    if dry_run or not with_keyword:
        return {name: len(ids) for name, ids in sorted(with_keyword.items())}
    tags = immich.tag(sorted(with_keyword))
    return {name: immich.put_tag(tags[name], ids) for name, ids in sorted(with_keyword.items())}


def tag_name(parent: str, keyword: str) -> str:
    """The full name of a keyword's tag as Immich will have it: it leaves empty parts between slashes out."""
    parts = [*parent.split("/"), *keyword.replace("/", "-").split("|")]
    return "/".join(part for part in parts if part)


def main(
    model: Annotated[Path, typer.Argument(help="A model that `gramless annotate fit` made.")],
    address: Annotated[str, typer.Argument(help="Where Immich is, like http://immich.lan:2283")],
    key: Annotated[str, typer.Option(help="An API key of Immich.", envvar="IMMICH_API_KEY")],
    parent: Annotated[str, typer.Option(help="The tag under which the keywords go.")] = "Gramless",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be tagged.")] = False,
) -> None:
    """Tag the pictures of an Immich server with a model's keywords."""
    for name, count in tag_all(load_annotator(model), Immich(address, key), parent, dry_run).items():
        typer.echo(f"{name}: {count:,} {'would be tagged' if dry_run else 'tagged'}")


if __name__ == "__main__":
    run_command(main)
