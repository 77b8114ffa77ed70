"""Ways to damage a file: by accident, or on purpose with a digest that is right again."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gramless.storage import FORM, FORM_VERSION
from gramless.support.array_file import DIGEST, METADATA, NO_DIGEST, ArrayFile, write_array_file

Rng = np.random.Generator
RAW = "@raw:"  # marks a text that is written into JSON as it is
NUMBERS = (0, -1, 1, 2, 7, 0.5, -0.5, 1e-300, 1e300, -1e300, 2**31, 2**62, -(2**62), 1e9)
TOKENS = ("NaN", "-Infinity", "1e999", "9" * 50, "9" * 5000, "[" * 3000 + "]" * 3000, "{" + '"a":{' * 3000)
TEXTS = (
    "",
    "x",
    "float32",
    "array0",
    "array1",
    "array99",
    "<U250000000",
    "|O",
    "|V8",
    ">f8",
    "cpu",
    "identity",
    "eval",
)
OTHERS: tuple[Any, ...] = (None, True, 5, "x", [], {}, [[]], {"$tuple": []}, {"$float": "inf"}, {"$array": "array0"})


# By accident.


def flip_bits(content: bytes, rng: Rng) -> bytes:
    found = bytearray(content)
    for place in rng.integers(len(content), size=rng.integers(1, 4)):
        found[place] ^= 1 << int(rng.integers(8))
    return bytes(found)


def change_bytes(content: bytes, rng: Rng) -> bytes:
    found = bytearray(content)
    start = int(rng.integers(len(content)))
    some = bytes(rng.integers(256, size=rng.integers(1, 40), dtype=np.uint8))
    found[start : start + len(some)] = some
    return bytes(found[: len(content)])


def truncate(content: bytes, rng: Rng) -> bytes:
    return content[: rng.integers(len(content))]


def insert(content: bytes, rng: Rng) -> bytes:
    place = int(rng.integers(len(content) + 1))
    return content[:place] + bytes(rng.integers(256, size=rng.integers(1, 64), dtype=np.uint8)) + content[place:]


def remove(content: bytes, rng: Rng) -> bytes:
    place = int(rng.integers(len(content)))
    return content[:place] + content[place + int(rng.integers(1, 64)) :]


def swap_ranges(content: bytes, rng: Rng) -> bytes:
    a, b, c, d = sorted(rng.integers(len(content) + 1, size=4).tolist())
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def zero_range(content: bytes, rng: Rng) -> bytes:
    start, size = int(rng.integers(len(content))), int(rng.integers(1, 600))
    return content[:start] + bytes(len(content[start : start + size])) + content[start + size :]


ACCIDENTS: dict[str, Callable[[bytes, Rng], bytes]] = {
    "bits flipped": flip_bits,
    "bytes changed": change_bytes,
    "cut off": truncate,
    "bytes inserted": insert,
    "bytes lost": remove,
    "ranges swapped": swap_ranges,
    "range of zeros": zero_range,
}


# On purpose: the tree of a model.


def places_of(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every (owner, key) in a tree."""
    for key, value in list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)):
        yield tree, key
        if isinstance(value, (dict, list)):
            yield from places_of(value)


def _pick(tree: Any, rng: Rng, kinds: tuple[type, ...] = (object,)) -> tuple[Any, Any] | None:
    found = [(owner, key) for owner, key in places_of(tree) if isinstance(owner[key], kinds)]
    return found[rng.integers(len(found))] if found else None


def change_number(tree: Any, arrays: dict, rng: Rng) -> None:
    if place := _pick(tree, rng, (int, float)):
        owner, key = place
        value = owner[key]
        options = (*NUMBERS, value + 1, value - 1, -value, value * 1000)
        owner[key] = options[rng.integers(len(options))]


def change_token(tree: Any, arrays: dict, rng: Rng) -> None:
    if place := _pick(tree, rng, (int, float, list)):
        place[0][place[1]] = RAW + TOKENS[rng.integers(len(TOKENS))]


def change_type(tree: Any, arrays: dict, rng: Rng) -> None:
    owner, key = _pick(tree, rng)  # type: ignore[misc]
    owner[key] = copy.deepcopy(OTHERS[rng.integers(len(OTHERS))])


def change_text(tree: Any, arrays: dict, rng: Rng) -> None:
    others = [owner[key] for owner, key in places_of(tree) if isinstance(owner[key], str)]
    if place := _pick(tree, rng, (str,)):
        options = [*TEXTS, *others]
        place[0][place[1]] = options[rng.integers(len(options))]


def change_key(tree: Any, arrays: dict, rng: Rng) -> None:
    found = [(owner, key) for owner, key in places_of(tree) if isinstance(owner, dict)]
    owner, key = found[rng.integers(len(found))]
    keys = [other for _, other in found]
    owner[(*keys, "__class__", "fit", "transform")[rng.integers(len(keys) + 3)]] = owner.pop(key)


def drop_one(tree: Any, arrays: dict, rng: Rng) -> None:
    owner, key = _pick(tree, rng)  # type: ignore[misc]
    del owner[key]


def double_one(tree: Any, arrays: dict, rng: Rng) -> None:
    owner, key = _pick(tree, rng)  # type: ignore[misc]
    if isinstance(owner, list):
        owner.insert(key, copy.deepcopy(owner[key]))
    else:
        owner[key] = RAW + f"{json.dumps(owner[key])},{json.dumps(key)}:{json.dumps(owner[key])}"


def swap_two(tree: Any, arrays: dict, rng: Rng) -> None:
    (a, i), (b, j) = _pick(tree, rng), _pick(tree, rng)  # type: ignore[misc]
    a[i], b[j] = copy.deepcopy(b[j]), copy.deepcopy(a[i])


def nest(tree: Any, arrays: dict, rng: Rng) -> None:
    owner, key = _pick(tree, rng)  # type: ignore[misc]
    for _ in range(150):
        owner[key] = {"$tuple": [owner[key]]}


# On purpose: its arrays.


def _some(arrays: dict, rng: Rng) -> str:
    return list(arrays)[rng.integers(len(arrays))]


def spoil_number(tree: Any, arrays: dict, rng: Rng) -> None:
    name = _some(arrays, rng)
    array = arrays[name] = arrays[name].copy()
    if array.size:
        floats, wholes = (np.nan, np.inf, -np.inf, -1.0, 1e30, 0.0), (-1, 10**6, 2**31 - 1, -(2**31), 0, 255)
        options = floats if array.dtype.kind == "f" else wholes
        with np.errstate(all="ignore"):
            array.reshape(-1)[rng.integers(array.size)] = np.array(options[rng.integers(6)]).astype(array.dtype)


def retype(tree: Any, arrays: dict, rng: Rng) -> None:
    name = _some(arrays, rng)
    with np.errstate(all="ignore"):
        arrays[name] = arrays[name].astype(("f2", "f4", "f8", "i4", "i8", "u1", "?")[rng.integers(7)])


def reshape(tree: Any, arrays: dict, rng: Rng) -> None:
    name = _some(arrays, rng)
    array = arrays[name]
    options = [array[None], array.reshape(-1)]
    if array.ndim:
        options += [array.T, array[:0], array[:-1], np.repeat(array, 2, axis=0)]
    arrays[name] = options[rng.integers(len(options))]


def swap_arrays(tree: Any, arrays: dict, rng: Rng) -> None:
    a, b = _some(arrays, rng), _some(arrays, rng)
    arrays[a], arrays[b] = arrays[b], arrays[a]


def lose_array(tree: Any, arrays: dict, rng: Rng) -> None:
    del arrays[_some(arrays, rng)]


OF_TREES: dict[str, Callable[[Any, dict, Rng], None]] = {
    "numbers": change_number,
    "JSON that is none": change_token,
    "types": change_type,
    "texts": change_text,
    "names": change_key,
    "parts removed": drop_one,
    "parts doubled": double_one,
    "parts swapped": swap_two,
    "nested deep": nest,
}
OF_ARRAYS: dict[str, Callable[[Any, dict, Rng], None]] = {
    "NaN, infinity, indices": spoil_number,
    "arrays of other types": retype,
    "arrays of other shapes": reshape,
    "arrays swapped": swap_arrays,
    "arrays missing": lose_array,
}


def crafted(file: ArrayFile, how: Callable[[Any, dict, Rng], None], path: Path, rng: Rng) -> None:
    """Write a file that was changed so, with the right digest."""
    holder, arrays = [json.loads(file.texts["model"])], dict(file.arrays)
    how(holder, arrays, rng)
    text = json.dumps(holder[0] if holder else None)
    while (start := text.find(f'"{RAW}')) >= 0:
        raw, end = json.JSONDecoder().raw_decode(text, start)
        text = text[:start] + raw.removeprefix(RAW) + text[end:]
    write_array_file(path, FORM, FORM_VERSION, arrays, {"model": text})


def change_header(content: bytes, rng: Rng) -> bytes:
    """On purpose: what the file says of its arrays, with the right digest."""
    n_header = int.from_bytes(content[:8], "little")
    entries = json.loads(content[8 : 8 + n_header])
    names = [name for name in entries if name != METADATA]
    if names:
        entry = entries[names[rng.integers(len(names))]]
        field = ("dtype", "shape", "data_offsets")[rng.integers(3)]
        if field == "dtype":
            entry["dtype"] = ("F64", "F32", "I64", "BOOL", "BF16", "C64", "X")[rng.integers(7)]
        else:
            change_number({"": entry[field]}, {}, rng) if rng.random() < 0.8 else entry.update({field: "x"})
    header = json.dumps(entries, separators=(",", ":")).encode()
    header = header.replace(entries[METADATA][DIGEST].encode(), NO_DIGEST.encode())
    found = len(header).to_bytes(8, "little") + header + content[8 + n_header :]
    return found.replace(NO_DIGEST.encode(), hashlib.sha256(found).hexdigest().encode(), 1)
