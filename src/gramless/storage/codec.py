"""Between Python values and a JSON tree beside named arrays.

JSON's own types stand for themselves. Everything else is an object with one key that starts with a dollar sign and
names the kind. Functions are stored by name only, and come back from the functions that the caller of load hands in.

An array stands in the tree as its name. One of floats that are mostly zeros, as histograms of colours, is packed: the
list [name of the mask, name of the values, shape] stands for it. The mask has one bit per number in C order, the first
one in the highest bit (np.packbits), set where the number has any bit set, and the values are those numbers: -0.0 and
every NaN come back as they were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from gramless.errors import FileFormatError
from gramless.storage.storable import ESTIMATORS, VALUES, arguments, fitted, parameters
from gramless.views import Views

Functions = Mapping[str, Callable]

ArrayTree = str | list
"""How the tree refers to an array: by its name, or by the parts of a packed one."""

PACKED_BYTES = 4_096  # smaller arrays stay as they are
PACKED_SHARE = 0.75  # of the plain size, below which packing is worth it


class Encoder:
    """Turns a value into a JSON tree; arrays are collected in `arrays`, each once however often it occurs."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._known: dict[int, ArrayTree] = {}
        self._alive: list[Any] = []  # an id stands for an object only while that object lives

    def encode(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, PurePath):
            return str(value)
        if isinstance(value, (int, float, np.number, np.bool_)):
            return self._number(value)
        if isinstance(value, (list, nn.ModuleList)):
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

    def _pairs(self, mapping: Mapping) -> list[list[Any]]:
        return [[self.encode(key), self.encode(value)] for key, value in mapping.items()]

    def _array(self, owner: Any, array: np.ndarray) -> ArrayTree:
        if id(owner) not in self._known:
            self._known[id(owner)] = self._stored(np.asarray(array, order="C"))
            self._alive.append(owner)
        return self._known[id(owner)]

    def _stored(self, array: np.ndarray) -> ArrayTree:
        if _worth_packing(array):
            mask, values = _packed(array)
            return [self._named(mask), self._named(values), list(array.shape)]
        return self._named(array)

    def _named(self, array: np.ndarray) -> str:
        name = f"array{len(self.arrays)}"
        self.arrays[name] = array
        return name

    def _texts(self, array: np.ndarray) -> dict[str, Any]:
        return {"dtype": array.dtype.str, "items": [self.encode(item) for item in array.tolist()]}

    def _csr(self, block: Any) -> list[Any]:
        return [*(self.encode(part) for part in (block.data, block.indices, block.indptr)), list(block.shape)]


class Decoder:
    """Turns such a tree and its arrays back into the value."""

    def __init__(self, arrays: Callable[[str], np.ndarray], functions: Functions) -> None:
        self._arrays = arrays
        self._functions = functions
        self._known: dict[str, Any] = {}

    def decode(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self.decode(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        ((kind, content),) = tree.items()
        decoders = {
            "$tuple": lambda c: tuple(self.decode(item) for item in c),
            "$mapping": lambda c: {self.decode(key): self.decode(value) for key, value in c},
            "$slice": lambda c: slice(*c),
            "$dtype": self._dtype,
            "$tensor": lambda c: self._shared(c, torch.from_numpy),
            "$array": self._array,
            "$csr": lambda c: sparse.csr_array(tuple(self.decode(part) for part in c[:3]), shape=tuple(c[3])),
            "$views": lambda c: Views({name: self.decode(block) for name, block in c}),
            "$float": float,
            "$function": self._function,
            "$value": lambda c: self._class(VALUES, c[0])(**self._mapping(c[1])),
            "$estimator": self._estimator,
        }
        if kind not in decoders:
            raise FileFormatError(f"the file holds something of the unknown kind {kind!r}.")
        return decoders[kind](content)

    def _mapping(self, tree: dict[str, Any]) -> dict[str, Any]:
        return {name: self.decode(value) for name, value in tree.items()}

    def _array(self, content: Any) -> np.ndarray:
        if isinstance(content, dict):
            return np.array(self.decode(content["items"]), dtype=np.dtype(content["dtype"]))
        return self._shared(content, np.asarray)

    def _shared(self, tree: ArrayTree, make: Callable[[np.ndarray], Any]) -> Any:
        """What was one object when it was saved is one again, and takes the memory of one."""
        name = tree if isinstance(tree, str) else tree[0]
        if name not in self._known:
            self._known[name] = make(self._stored(tree))
        return self._known[name]

    def _stored(self, tree: ArrayTree) -> np.ndarray:
        if isinstance(tree, str):
            return self._arrays(tree)
        mask, values, shape = tree
        return _unpacked(self._arrays(mask), self._arrays(values), shape)

    def _dtype(self, name: str) -> torch.dtype:
        if name not in ("float32", "float64"):
            raise FileFormatError(f"the file names the unknown type {name!r}.")
        return torch.float32 if name == "float32" else torch.float64

    def _function(self, name: str) -> Callable:
        if name not in self._functions:
            raise FileFormatError(
                f"this network uses the function {name!r}. Functions are not stored, so that loading runs no code from "
                f"a file: load(path, functions={{{name!r}: ...}}) with yours."
            )
        return self._functions[name]

    def _class(self, classes: dict[str, type], name: str) -> type:
        if name not in classes:
            raise FileFormatError(f"the file names the class {name!r}, which is none of this package's.")
        return classes[name]

    def _estimator(self, content: list[Any]) -> Any:
        name, given, learned = content
        estimator = self._class(ESTIMATORS, name)(**self._mapping(given))
        for attribute, value in self._mapping(learned).items():
            setattr(estimator, attribute, value)
        return estimator


def _bits(array: np.ndarray) -> np.ndarray:
    """The same memory as whole numbers, of which 0.0 alone is zero."""
    return array.view(f"u{array.itemsize}")


def _worth_packing(array: np.ndarray) -> bool:
    if array.dtype.kind != "f" or array.nbytes < PACKED_BYTES:
        return False
    packed_bytes = array.size / 8 + np.count_nonzero(_bits(array)) * array.itemsize
    return bool(packed_bytes < PACKED_SHARE * array.nbytes)


def _packed(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mask (n_bytes,) uint8 of the numbers that are not zero, and those numbers (n_values,)."""
    nonzero = _bits(array) != 0
    return np.packbits(nonzero, axis=None), array[nonzero]


def _unpacked(mask: np.ndarray, values: np.ndarray, shape: list[int]) -> np.ndarray:
    """What `_packed` was given; an error where the parts do not fit together."""
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
            f"{values.shape} came for them. Save the model again."
        )
    array = np.zeros(size, dtype=values.dtype)
    array[nonzero] = values
    return array.reshape(shape)
