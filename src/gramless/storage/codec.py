"""Between Python values and a JSON tree beside named arrays.

JSON's own types stand for themselves. Everything else is an object with one key that starts with a dollar sign and
names the kind. Functions are stored by name only, and come back from the functions that the caller of load hands in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from gramless.errors import FileFormatError
from gramless.storage.storable import ESTIMATORS, VALUES, arguments, fitted, parameters
from gramless.views import Views

Functions = Mapping[str, Callable]


class Encoder:
    """Turns a value into a JSON tree; arrays are collected in `arrays`, each once however often it occurs."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[int, str] = {}
        self._alive: list[Any] = []  # an id stands for an object only while that object lives

    def encode(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
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

    def _array(self, owner: Any, array: np.ndarray) -> str:
        if id(owner) not in self._names:
            name = f"array{len(self.arrays)}"
            self._names[id(owner)] = name
            self._alive.append(owner)
            self.arrays[name] = np.ascontiguousarray(array)
        return self._names[id(owner)]

    def _texts(self, array: np.ndarray) -> dict[str, Any]:
        return {"dtype": array.dtype.str, "items": [self.encode(item) for item in array.tolist()]}

    def _csr(self, block: Any) -> list[Any]:
        return [*(self.encode(part) for part in (block.data, block.indices, block.indptr)), list(block.shape)]


class Decoder:
    """Turns such a tree and its arrays back into the value."""

    def __init__(self, arrays: Callable[[str], np.ndarray], functions: Functions) -> None:
        self._arrays = arrays
        self._functions = functions

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
            "$tensor": lambda c: torch.from_numpy(self._arrays(c)),
            "$array": self._array,
            "$csr": lambda c: sparse.csr_array(tuple(self.decode(part) for part in c[:3]), shape=tuple(c[3])),
            "$views": lambda c: Views({name: self.decode(block) for name, block in c}),
            "$float": float,
            "$function": self._function,
            "$value": lambda c: self._known(VALUES, c[0])(**self._mapping(c[1])),
            "$estimator": self._estimator,
        }
        if kind not in decoders:
            raise FileFormatError(f"the file holds something of the unknown kind {kind!r}.")
        return decoders[kind](content)

    def _mapping(self, tree: dict[str, Any]) -> dict[str, Any]:
        return {name: self.decode(value) for name, value in tree.items()}

    def _array(self, content: Any) -> np.ndarray:
        if isinstance(content, str):
            return self._arrays(content)
        return np.array(self.decode(content["items"]), dtype=np.dtype(content["dtype"]))

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

    def _known(self, classes: dict[str, type], name: str) -> type:
        if name not in classes:
            raise FileFormatError(f"the file names the class {name!r}, which is none of this package's.")
        return classes[name]

    def _estimator(self, content: list[Any]) -> Any:
        name, given, learned = content
        estimator = self._known(ESTIMATORS, name)(**self._mapping(given))
        for attribute, value in self._mapping(learned).items():
            setattr(estimator, attribute, value)
        return estimator
