"""Between Python values and a JSON tree beside named arrays.

JSON's own types stand for themselves. Everything else is an object with one key that starts with a dollar sign and
names the kind. Functions are stored by name only, and come back from the functions that the caller of load hands in.

An array stands in the tree as its name. One of floats that are mostly zeros, as histograms of colours, is packed, and
the list [name of the mask, name of the values, shape] stands for it. The mask has one bit per number in C order, the
first one in the highest bit (np.packbits), set where the number has any bit set, and the values are those numbers:
-0.0 and every NaN come back as they were.

A tree may come from anybody. What is made of it is checked by the classes that are made: see `storable`. What takes
more memory than a few times the file's is refused before it is made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from gramless.errors import FileFormatError
from gramless.storage.storable import ESTIMATORS, VALUES, arguments, fitted, parameters, restored, with_arguments
from gramless.views import Views

Functions = Mapping[str, Callable[..., Any]]

ArrayTree = str | list[Any]
"""How the tree refers to an array: by its name, or by the parts of a packed one."""

EXPANSION = 6  # times the bytes of a file that may be made of it beside its arrays,
ROOM = 1 << 20  # and so many bytes on top
DEEPEST = 100  # levels of a tree; those of real models have thirty or so
NUMBERS = ("inf", "-inf", "nan")
TEXT_TYPE = re.compile(r"[<>]U[0-9]{1,9}|\|O")


class TooMuchMemory(FileFormatError):
    """What a file holds would take many times its size."""


class Encoder:
    """Turns a value into a JSON tree; arrays are collected in `arrays`, each once however often it occurs.

    packing : whether arrays of mostly zeros are packed
    """

    def __init__(self, *, packing: bool = True) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.functions: dict[str, Callable[..., Any]] = {}
        self._packing = packing
        self._known: dict[int, ArrayTree] = {}
        self._alive: list[Any] = []  # an id stands for an object only while that object lives

    def encode(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, PurePath):
            return str(value)
        if isinstance(value, (int, float, np.number, np.bool_)):
            return self._number(value)
        if isinstance(value, list):
            return [self.encode(item) for item in value]
        for kind, types, encode in self._kinds():
            if isinstance(value, types):
                return {kind: encode(value)}
        name = type(value).__name__
        if ESTIMATORS.get(name) is type(value):
            return {"$estimator": [name, self._mapping(parameters(value)), self._mapping(fitted(value))]}
        if VALUES.get(name) is type(value):
            return {"$value": [name, self._mapping(arguments(value))]}
        if callable(value) and hasattr(value, "__name__"):
            self.functions[value.__name__] = value
            return {"$function": value.__name__}
        raise TypeError(
            f"a value of type {type(value).__name__} cannot be saved: {value!r}. Files hold numbers, texts, arrays and "
            "this package's own classes; for a RandomState, call set_params(random_state=0) first."
        )

    def _kinds(self) -> list[tuple[str, Any, Callable[[Any], Any]]]:
        return [
            ("$tuple", tuple, lambda v: [self.encode(item) for item in v]),
            ("$mapping", Mapping, self._pairs),
            ("$slice", slice, lambda v: [self.encode(part) for part in (v.start, v.stop, v.step)]),
            ("$dtype", torch.dtype, lambda v: str(v).removeprefix("torch.")),
            ("$tensor", Tensor, lambda v: self._array(v, v.detach().cpu().numpy())),
            ("$array", np.ndarray, lambda v: self._array(v, v) if v.dtype.kind in "biuf" else self._texts(v)),
            ("$csr", (sparse.csr_matrix, sparse.csr_array), self._csr),
            ("$views", Views, lambda v: [[name, self.encode(v[name])] for name in v.names]),
        ]

    def _number(self, value: Any) -> Any:
        plain = value.item() if isinstance(value, np.generic) else value
        return plain if not isinstance(plain, float) or math.isfinite(plain) else {"$float": repr(plain)}

    def _mapping(self, mapping: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.encode(value) for name, value in mapping.items()}

    def _pairs(self, mapping: Mapping[Any, Any]) -> list[list[Any]]:
        return [[self.encode(key), self.encode(value)] for key, value in mapping.items()]

    def _array(self, owner: Any, array: np.ndarray) -> ArrayTree:
        if id(owner) not in self._known:
            self._known[id(owner)] = self._stored(np.asarray(array, order="C"))
            self._alive.append(owner)
        return self._known[id(owner)]

    def _stored(self, array: np.ndarray) -> ArrayTree:
        if self._packing and worth_packing(array):
            mask, values = pack(array)
            return [self._named(mask), self._named(values), list(array.shape)]
        return self._named(array)

    def _named(self, array: np.ndarray) -> str:
        name = f"array{len(self.arrays)}"
        self.arrays[name] = array
        return name

    def _texts(self, array: np.ndarray) -> dict[str, Any]:
        if array.ndim != 1:
            raise TypeError(f"texts in an array of shape {array.shape} cannot be saved, only in one dimension.")
        return {"dtype": array.dtype.str, "items": [self.encode(item) for item in array.tolist()]}

    def _csr(self, block: Any) -> list[Any]:
        return [*(self.encode(part) for part in (block.data, block.indices, block.indptr)), list(block.shape)]


class Decoder:
    """Turns such a tree and its arrays back into the value.

    n_bytes : of the file; a few times as many may be used
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], functions: Functions, n_bytes: int) -> None:
        self._arrays = arrays
        self._functions = functions
        self._room = EXPANSION * n_bytes + ROOM
        self._depth = 0
        self._known: dict[Any, Any] = {}

    def model(self, tree: Any) -> Any:
        """The value of a whole tree, which is a model: one of this package's classes."""
        if not isinstance(tree, dict) or not tree.keys() & {"$value", "$estimator"}:
            raise FileFormatError(f"the file holds no model, but {str(tree)[:50]}.")
        return self.decode(tree)

    def decode(self, tree: Any) -> Any:
        self._depth += 1
        if self._depth > DEEPEST:
            raise FileFormatError(f"the file is nested more than {DEEPEST} levels deep, which no model is.")
        try:
            if isinstance(tree, list):
                return [self.decode(item) for item in tree]
            return self._kind(tree) if isinstance(tree, dict) else tree
        finally:
            self._depth -= 1

    def _kind(self, tree: dict[str, Any]) -> Any:
        ((kind, content),) = tree.items()
        decoders: dict[str, Callable[[Any], Any]] = {
            "$tuple": lambda c: tuple(self.decode(item) for item in c),
            "$mapping": lambda c: {self.decode(key): self.decode(value) for key, value in c},
            "$slice": self._slice,
            "$dtype": self._dtype,
            "$tensor": lambda c: self._shared(kind, c, torch.from_numpy),
            "$array": self._array,
            "$csr": self._csr,
            "$views": lambda c: Views({_text(name): self.decode(block) for name, block in c}).complete("a file"),
            "$float": lambda c: float(NUMBERS[NUMBERS.index(c)]),
            "$function": self._function,
            "$value": self._value,
            "$estimator": self._estimator,
        }
        if kind not in decoders:
            raise FileFormatError(f"the file holds something of the unknown kind {kind!r}.")
        return decoders[kind](content)

    def _mapping(self, tree: dict[str, Any]) -> dict[str, Any]:
        return {name: self.decode(value) for name, value in tree.items()}

    def _slice(self, content: list[Any]) -> slice:
        start, stop, step = content
        if not all(part is None or type(part) is int for part in content):
            raise FileFormatError(f"the file holds a slice of {content}.")
        return slice(start, stop, step)

    def _array(self, content: Any) -> np.ndarray:
        return self._texts(**content) if isinstance(content, dict) else self._shared("$array", content, np.asarray)

    def _texts(self, dtype: str, items: list[Any]) -> np.ndarray:
        if not TEXT_TYPE.fullmatch(dtype) or not all(isinstance(item, str | int | float | None) for item in items):
            raise FileFormatError(f"the file holds an array of the unknown type {dtype!r}.")
        kind = np.dtype(dtype)
        self._take(kind.itemsize * len(items))
        if kind.kind == "U" and not all(isinstance(i, str) and 4 * len(i) <= kind.itemsize for i in items):
            raise FileFormatError(f"the file holds texts that do not fit their type {dtype}.")
        array = np.empty(len(items), dtype=kind)
        array[:] = items
        return array

    def _csr(self, content: list[Any]) -> Any:
        *parts, shape = content
        data, indices, indptr = (self.decode(part) for part in parts)
        if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr)):
            raise FileFormatError("the file holds a sparse matrix whose parts are not arrays.")
        if data.dtype.kind not in "biuf" or indices.dtype.kind != "i" or indptr.dtype.kind != "i":
            raise FileFormatError("the file holds a sparse matrix whose parts are of the wrong types.")
        n_rows, n_columns = shape
        self._take(indices.nbytes + indptr.nbytes)  # scipy may change their type
        if len(indptr) != n_rows + 1 or len(data) != len(indices):
            raise FileFormatError(f"the file holds a sparse matrix of shape {shape} whose parts do not fit together.")
        block = sparse.csr_array((data, indices, indptr), shape=(n_rows, n_columns))
        block.check_format(full_check=True)  # every index: scipy's own code does not look where it writes
        return block

    def _shared(self, kind: str, tree: ArrayTree, make: Callable[[np.ndarray], Any]) -> Any:
        """What was one object when it was saved is one again, and takes the memory of one."""
        key = kind, str(tree)
        if key not in self._known:
            self._known[key] = make(self._stored(tree))
        return self._known[key]

    def _stored(self, tree: ArrayTree) -> np.ndarray:
        if isinstance(tree, str):
            return self._arrays[tree]
        mask, values, shape = tree
        self._take(math.prod(shape) * self._arrays[values].itemsize)
        return unpack(self._arrays[mask], self._arrays[values], shape)

    def _take(self, n_bytes: int) -> None:
        """Count memory that is about to be used."""
        if not 0 <= n_bytes <= self._room:
            raise TooMuchMemory("the file holds arrays that take many times its size, which no model's do.")
        self._room -= n_bytes

    def _dtype(self, name: str) -> torch.dtype:
        if name not in ("float32", "float64"):
            raise FileFormatError(f"the file names the unknown type {name!r}.")
        return torch.float32 if name == "float32" else torch.float64

    def _function(self, name: str) -> Callable[..., Any]:
        if name not in self._functions:
            raise FileFormatError(
                f"this network uses the function {name!r}. Functions are not stored, so that loading runs no code from "
                f"a file: load(path, functions={{{name!r}: ...}}) with yours."
            )
        return self._functions[name]

    def _class(self, classes: dict[str, type], name: str) -> type:
        if name not in classes:
            raise FileFormatError(
                f"the file names the class {name!r}, which is none of this package's core; for models of keywords for "
                "pictures, import gramless.pictures first."
            )
        return classes[name]

    def _value(self, content: list[Any]) -> Any:
        name, tree = content
        given = self._mapping(tree)
        value = with_arguments(self._class(VALUES, name), given)
        for argument, array in given.items():
            if isinstance(array, (Tensor, np.ndarray)) and getattr(value, argument) is not array:
                self._take(array.nbytes)  # the class keeps a copy
        return value

    def _estimator(self, content: list[Any]) -> Any:
        name, given, learned = content
        return restored(self._class(ESTIMATORS, name), self._mapping(given), self._mapping(learned))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise FileFormatError(f"the file holds a name that is not a text: {value!r}.")
    return value


PACKED_BYTES = 4_096  # smaller arrays stay as they are
PACKED_SHARE = 0.75  # of the plain size, below which packing is worth it


def worth_packing(array: np.ndarray) -> bool:
    if array.dtype.kind != "f" or array.nbytes < PACKED_BYTES:
        return False
    packed_bytes = array.size / 8 + np.count_nonzero(_bits(array)) * array.itemsize
    return bool(packed_bytes < PACKED_SHARE * array.nbytes)


def pack(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mask (n_bytes,) uint8 of the numbers that are not zero, and those numbers (n_values,)."""
    nonzero = _bits(array) != 0
    return np.packbits(nonzero, axis=None), array[nonzero]


def unpack(mask: np.ndarray, values: np.ndarray, shape: list[int]) -> np.ndarray:
    """What `pack` was given; an error where the parts do not fit together."""
    size = math.prod(shape)
    if min(shape, default=0) < 0 or mask.dtype != np.uint8 or mask.shape != (-(-size // 8),):
        raise FileFormatError(
            f"the file is damaged: a mask of shape {mask.shape} and type {mask.dtype} cannot be that of an array of "
            f"shape {tuple(shape)}. Save the model again."
        )
    nonzero = np.unpackbits(mask, count=size).view(bool)
    n_nonzero = int(np.count_nonzero(nonzero))
    if values.shape != (n_nonzero,):
        raise FileFormatError(
            f"the file is damaged: an array has {n_nonzero} numbers that are not zero, but values of shape "
            f"{values.shape} are there for them. Save the model again."
        )
    array = np.zeros(size, dtype=values.dtype)
    array[nonzero] = values
    return array.reshape(shape)


def _bits(array: np.ndarray) -> np.ndarray:
    """The same memory as whole numbers, of which 0.0 alone is zero."""
    return array.view(f"u{array.itemsize}")
