"""The model's answer for one uploaded picture, as the JSON that the page reads."""

from __future__ import annotations

import logging
from typing import Any

from gramless.errors import GramlessError
from gramless.pictures.features.pictures import PictureError
from gramless.pictures.features.thumbnails import data_uri
from gramless.pictures.page.model import NearPicture, PageModel, PictureLook
from gramless.pictures.page.uploads import Upload

Answer = dict[str, Any]

_log = logging.getLogger(__name__)


def answer_for(model: PageModel, upload: Upload) -> Answer:
    """{name, keywords, neighbours}, or {name, error} where the model cannot look at the picture.

    Nothing that goes wrong with one picture may spoil the others, so an unforeseen exception becomes an answer too;
    the terminal shows where it came from.
    """
    try:
        return {"name": upload.name, **_described(model.look(upload.content))}
    except PictureError as error:
        return {"name": upload.name, "error": f"This file {error.reason}."}
    except GramlessError as error:
        return {"name": upload.name, "error": str(error)}
    except Exception:
        _log.exception("looking at %r failed", upload.name)
        return {
            "name": upload.name,
            "error": "The model failed on this picture. The terminal in which the server runs says more.",
        }


def _described(look: PictureLook) -> Answer:
    return {
        "keywords": [{"keyword": scored.keyword, "score": float(scored.score)} for scored in look.suggestions],
        "neighbours": [_neighbour(picture) for picture in look.neighbours],
    }


def _neighbour(picture: NearPicture) -> Answer:
    return {
        "name": picture.name,
        "similarity": float(picture.similarity),
        "keywords": list(picture.keywords),
        "thumbnail": data_uri(picture.thumbnail) if picture.thumbnail else "",
    }
