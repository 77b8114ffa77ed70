"""Named arrays and texts in one safetensors file with a digest of all its bytes: what changed by a bit is refused.

The digest stands in the file's metadata: SHA-256 of the whole file, with zeros in the place of the digest itself. It
protects against damage, not against malice: whoever makes a file can make its digest. So nothing that the file says is
believed before it is compared with the size of the file, and who takes the arrays checks what is in them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from safetensors.numpy import save as to_bytes

from gramless.errors import FileFormatError
from gramless.support.atomic import write_atomically
from gramless.version import __version__

DIGEST, METADATA = "digest", "__metadata__"
NO_DIGEST = "0" * 64
TYPES = {
    np.dtype(name).newbyteorder("<"): code
    for code, name in (
        *(("BOOL", "?"), ("U8", "u1"), ("I8", "i1"), ("U16", "u2"), ("I16", "i2"), ("U32", "u4"), ("I32", "i4")),
        *(("U64", "u8"), ("I64", "i8"), ("F16", "f2"), ("F32", "f4"), ("F64", "f8")),
    )
}
DTYPES = {code: dtype for dtype, code in TYPES.items()}
SMALL_HEADER = 4 << 20  # bytes; texts take many times their size once they are read, so that there may be as many,
HEADER_SHARE = 8  # or one in so many bytes of the file


@dataclass(frozen=True, eq=False)
class ArrayFile:
    """What a file holds."""

    arrays: dict[str, np.ndarray]
    texts: dict[str, str]
    n_bytes: int  # of the file


def write_array_file(
    path: str | os.PathLike[str], form: str, version: int, arrays: Mapping[str, np.ndarray], texts: Mapping[str, str]
) -> int:
    """Write arrays and texts as a file of this form (a name) and version of it, whole or not at all; its size."""
    told = {"format": form, "format_version": str(version), "package_version": __version__, DIGEST: NO_DIGEST}
    content = _in_order(
        to_bytes({name: np.asarray(array, order="C") for name, array in arrays.items()}, told | dict(texts))
    )
    n_header = int.from_bytes(content[:8], "little")
    if n_header > most_header_bytes(len(content)):
        raise ValueError(
            f"there are {n_header:,} bytes of texts and settings beside {len(content) - n_header:,} bytes of arrays: "
            "too many for a file that is read within a memory of its own size. Give long lists as arrays."
        )
    digest = hashlib.sha256(content).hexdigest()
    start = content.index(f'"{DIGEST}":"{NO_DIGEST}"'.encode()) + len(DIGEST) + 4

    def write(file: BinaryIO) -> None:
        file.write(content[:start] + digest.encode())
        file.write(memoryview(content)[start + len(digest) :])

    write_atomically(path, write)
    return len(content)


def _in_order(content: bytes) -> bytes:
    """The same file with its texts in order, which safetensors writes in any: equal contents are equal bytes."""
    n_header = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + n_header])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    written = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    written += b" " * (-len(written) % 8)
    return len(written).to_bytes(8, "little") + written + content[8 + n_header :]


def read_array_file(path: str | os.PathLike[str], form: str, version: int) -> ArrayFile:
    """What write_array_file wrote, with a memory of the file's size; any other file is refused: FileFormatError."""
    with open(path, "rb") as file:
        n_bytes = os.fstat(file.fileno()).st_size
        try:
            return _read(file, n_bytes, form, version)
        except FileFormatError as error:
            raise FileFormatError(f"{os.fspath(path)!r} {error}") from error
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError, MemoryError) as error:
            raise FileFormatError(
                f"{os.fspath(path)!r} is truncated, damaged, or no Gramless {_noun(form)} ({_told(error)})."
            ) from error


def read_json(text: str | bytes) -> Any:
    """JSON as it was meant: no number that is none, or has more than 64 bits, and no key twice; ValueError."""
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refused, parse_int=_whole, parse_float=_finite)


def most_header_bytes(n_bytes: int) -> int:
    """How long texts may be in a file of this size."""
    return max(SMALL_HEADER, n_bytes // HEADER_SHARE)


def _read(file: BinaryIO, n_bytes: int, form: str, version: int) -> ArrayFile:
    start = file.read(8)
    n_header = int.from_bytes(start, "little")
    if len(start) < 8 or n_header > min(n_bytes - 8, most_header_bytes(n_bytes)):
        raise ValueError(f"a header of {n_header} bytes does not belong to a file of {n_bytes}")
    header = file.read(n_header)
    entries = read_json(header)
    texts = entries.pop(METADATA, {}) if isinstance(entries, dict) else {}
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("its metadata is not text")
    _check_form(texts, form, version)
    zeroed = header.replace(texts.get(DIGEST, "").encode() or b"\0", NO_DIGEST.encode(), 1)
    summed = hashlib.sha256(start + zeroed)
    arrays = {}
    position = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape, (begin, end) = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        if begin != position or end - begin != math.prod(shape) * dtype.itemsize or end > n_bytes - 8 - n_header:
            raise ValueError(f"the array {name!r} does not lie where it should")
        arrays[name] = _array(file, dtype, shape)
        summed.update(arrays[name].reshape(-1).view(np.uint8).data)
        position = end
    if position != n_bytes - 8 - n_header:
        raise ValueError("it holds more than its arrays")
    if summed.hexdigest() != texts.get(DIGEST):
        raise ValueError("its content does not have the digest that was written with it")
    return ArrayFile(arrays, texts, n_bytes)


def _check_form(texts: dict[str, str], form: str, version: int) -> None:
    if texts.get("format") != form:
        raise FileFormatError(f"is a safetensors file, but no Gramless {_noun(form)}.")
    if texts.get("format_version") != str(version):
        raise FileFormatError(
            f"has format version {texts.get('format_version')!r}, written by gramless {texts.get('package_version')}; "
            f"this is gramless {__version__}, which reads version {version}. Install the gramless that wrote it, or "
            "make the file again with this one."
        )


def _array(file: BinaryIO, dtype: np.dtype, shape: list[int]) -> np.ndarray:
    if not all(type(side) is int and side >= 0 for side in shape):
        raise ValueError(f"{shape} is not a shape")
    array = np.empty(shape, dtype=dtype)
    memory = array.reshape(-1).view(np.uint8)
    if file.readinto(memory.data) != array.nbytes:  # type: ignore[attr-defined]
        raise ValueError("it became shorter while it was read")
    if dtype.kind == "b" and array.size and memory.max() > 1:
        raise ValueError("a truth value is neither true nor false")
    return array


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a name occurs twice among {[key for key, _ in pairs][:20]}")
    return found


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number")


def _whole(digits: str) -> int:
    number = int(digits)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{digits[:30]} is too large a number")
    return number


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:30]} is too large a number")
    return number


def _noun(form: str) -> str:
    return form.partition("-")[2] or "model"


def _told(error: BaseException) -> str:
    return str(error)[:200] or type(error).__name__
