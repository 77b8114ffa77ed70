"""Reading the pictures of a request while they arrive, and refusing what is too much before it has all come.

Starlette's own form parser limits the number of files but not their size, and puts them into temporary files. Here a
picture stays in memory, of which a request never takes more than its limit.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from fastapi import HTTPException, Request
from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import ClientDisconnect

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks


MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Limits:
    """The most that is taken: bytes of one picture, pictures and bytes of one request, requests in memory at once."""

    picture_bytes: int = 64 * MEGABYTE
    pictures: int = 32
    request_bytes: int = 100 * MEGABYTE
    requests: int = 16

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise ValueError(
                    f"{field.name}={getattr(self, field.name)} would refuse every picture; give 1 or more."
                )


LIMITS = Limits()


def in_words(n_bytes: int) -> str:
    """A number of bytes as people say it: 25 MB, 1.5 MB, 800 bytes."""
    return f"{n_bytes / MEGABYTE:.3g} MB" if n_bytes >= MEGABYTE // 10 else f"{n_bytes} bytes"


BAD_REQUEST, TOO_LARGE = 400, 413


class Upload(NamedTuple):
    """A file as it was sent: the name that the sender gave it, and its bytes."""

    name: str
    content: bytes


async def read_uploads(request: Request, limits: Limits) -> list[Upload]:
    """The files of a multipart request, in order; HTTPException where they are too many, too large or garbled."""
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        _refuse("Send the pictures as the files of a form: multipart/form-data with a boundary.")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limits.request_bytes:
        _refuse_size(limits)
    parts = _FileParts(limits)
    came = 0
    try:
        parser = MultipartParser(options[b"boundary"], parts.callbacks())
        async for chunk in request.stream():
            came += len(chunk)
            if came > limits.request_bytes:
                _refuse_size(limits)
            parser.write(chunk)
    except FormParserError as error:
        _refuse(f"The form cannot be read: {error}")
    except ClientDisconnect:
        _refuse("The upload was broken off.")
    if not parts.ended:
        _refuse("The form is cut off: its last boundary is missing. Send it again.")
    if not parts.uploads:
        _refuse("Got no picture. Send one or more files in the form.")
    return parts.uploads


class _FileParts:
    """Collects the parts that are files, and stops at the first byte over a limit; other fields are passed over."""

    def __init__(self, limits: Limits) -> None:
        self.uploads: list[Upload] = []
        self.ended = False
        self._limits = limits
        self._header, self._value = b"", b""
        self._name: str | None = None
        self._content = bytearray()

    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._more_header,
            "on_header_value": self._more_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._begin_content,
            "on_part_data": self._more_content,
            "on_part_end": self._end_part,
            "on_end": self._end,
        }

    def _begin(self) -> None:
        self._name, self._content = None, bytearray()

    def _more_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _more_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            file_name = parse_options_header(self._value)[1].get(b"filename")
            self._name = None if file_name is None else file_name.decode(errors="replace")
        self._header, self._value = b"", b""

    def _begin_content(self) -> None:
        if self._name is not None and len(self.uploads) == self._limits.pictures:
            _refuse(
                f"Got more than {self._limits.pictures} pictures in one request. Send the others in another.",
                TOO_LARGE,
            )

    def _more_content(self, data: bytes, start: int, end: int) -> None:
        if self._name is None:
            return
        if len(self._content) + end - start > self._limits.picture_bytes:
            _refuse(
                f"{self._name} is larger than {in_words(self._limits.picture_bytes)}, the most that one picture may "
                "have. Send a smaller copy.",
                TOO_LARGE,
            )
        self._content += data[start:end]

    def _end_part(self) -> None:
        if self._name is not None:
            self.uploads.append(Upload(self._name, bytes(self._content)))

    def _end(self) -> None:
        self.ended = True


def _refuse_size(limits: Limits) -> NoReturn:
    most = in_words(limits.request_bytes)
    _refuse(f"The request is larger than {most}, the most that is taken at once. Send fewer pictures.", TOO_LARGE)


def _refuse(message: str, status: int = BAD_REQUEST) -> NoReturn:
    raise HTTPException(status, message)
