"""Hostile arrays, labels and parameters: every kind of content in every kind of container, by name and by seed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy import sparse
from sklearn.pipeline import make_pipeline

from gramless.kernels import Gaussian, Polynomial
from gramless.learning import Supervised

Rng = np.random.Generator
WIDTH = 5  # columns of what the fitted estimators know: a (3) and b (2)


def _one(value: float) -> Callable[[Rng, np.ndarray], np.ndarray]:
    """The same numbers, one of them replaced."""

    def put(rng: Rng, x: np.ndarray) -> np.ndarray:
        x[rng.integers(len(x)), rng.integers(x.shape[1])] = value
        return x

    return put


CONTENTS: dict[str, Callable[[Rng, np.ndarray], np.ndarray]] = {
    "ordinary": lambda rng, x: x,
    "negative": lambda rng, x: -x,
    "zeros": lambda rng, x: 0.0 * x,
    "negative zeros": lambda rng, x: -0.0 * x,
    "constant": lambda rng, x: np.full_like(x, 3.25),
    "zero row": lambda rng, x: x * (np.arange(len(x)) != 0)[:, None],
    "equal rows": lambda rng, x: np.repeat(x[:1], len(x), axis=0),
    "one nan": _one(np.nan),
    "one inf": _one(np.inf),
    "one -inf": _one(-np.inf),
    "all nan": lambda rng, x: np.full_like(x, np.nan),
    "one 1e38": _one(1e38),
    "one 1e300": _one(1e300),
    "one largest": _one(np.finfo(np.float64).max),
    "one -largest": _one(-np.finfo(np.float64).max),
    "one subnormal": _one(5e-324),
    "one 1e-40": _one(1e-40),
    "spread": lambda rng, x: x * 10.0 ** rng.integers(-30, 30, size=(len(x), 1)),
    "any size": lambda rng, x: x * 10.0 ** rng.integers(-320, 305),
    "float32 size": lambda rng, x: x * 10.0 ** rng.integers(-45, 38),
    "beyond 2**53": lambda rng, x: np.floor(x * 2.0**60),
    "far away": lambda rng, x: x + 10.0 ** rng.integers(3, 16),
}
DTYPES = [
    "f8", "f4", "f2", "g", "i8", "i1", "u8", "u1", "?", "c8", "c16", "O", "U8", "S8", "M8[s]", "m8[s]", ">f8", ">f4",
    ">i4",
]  # fmt: skip
TORCH_TYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8, torch.uint8,
    torch.bool, torch.complex64, torch.uint16, torch.float8_e4m3fn,
]  # fmt: skip
TENSORS = [
    "plain", "transposed", "strided", "expanded", "grad", "coo", "csr", "meta", "neg", "quantised", "inference",
    "nested",
]  # fmt: skip
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "reversed": lambda x: x[::-1, ::-1],
    "every other": lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
    "broadcast rows": lambda x: np.broadcast_to(x[:1], x.shape),
    "broadcast columns": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "read-only": lambda x: _frozen(x.copy()),
    "overlapping": lambda x: np.lib.stride_tricks.sliding_window_view(x.ravel(), x.shape[1])[: len(x)],
    "unaligned": lambda x: (
        x if x.dtype.hasobject else np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape)
    ),
}
SHAPES: dict[str, Callable[[np.ndarray], Any]] = {
    "0-d": lambda x: np.array(1.5),
    "1-d": lambda x: x[:, 0],
    "3-d": lambda x: x[:, :, None],
    "no rows": lambda x: x[:0],
    "no columns": lambda x: x[:, :0],
    "nothing": lambda x: x[:0, :0],
    "one row": lambda x: x[:1],
    "one column": lambda x: x[:, :1],
    "too wide": lambda x: np.hstack([x, x]),
}
FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]


def _frozen(x: np.ndarray) -> np.ndarray:
    x.setflags(write=False)
    return x


def _cast(x: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        if dtype[0] in "Mm":
            return np.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0).clip(-1e9, 1e9).astype("i8").astype(dtype)
        return x.astype(dtype)


def _sparse(rng: Rng, x: np.ndarray) -> Any:
    """Any format, as a matrix or an array; some unsorted, with duplicates, or damaged."""
    x = np.where(rng.random(x.shape) < 0.5, x, 0.0)
    format_ = FORMATS[rng.integers(len(FORMATS))]
    made = (sparse.csr_array if rng.random() < 0.5 else sparse.csr_matrix)(x).asformat(format_)
    mess = rng.choice(["tidy", "unsorted", "duplicates", "explicit zeros", "out of range", "negative index", "indptr"])
    if format_ in ("csr", "csc") and made.nnz > 1:
        if mess == "unsorted":
            for start, stop in zip(made.indptr[:-1], made.indptr[1:], strict=True):
                for part in (made.indices, made.data):
                    part[start:stop] = part[start:stop][::-1].copy()
        elif mess == "duplicates":
            made.indices[:] = made.indices[0]
        elif mess == "explicit zeros":
            made.data[:1] = 0.0
        elif mess == "out of range":
            made.indices[-1] = 10**8
        elif mess == "negative index":
            made.indices[0] = -(10**6)
        elif mess == "indptr":
            made.indptr[-1] = 10**8
    elif format_ == "coo" and made.nnz and mess in ("out of range", "negative index"):
        made.coords[int(rng.integers(2))][0] = 10**8 if mess == "out of range" else -3
    return made


def _tensor(rng: Rng, x: np.ndarray) -> Any:
    tensor = torch.from_numpy(np.ascontiguousarray(x))
    kind = TORCH_TYPES[rng.integers(len(TORCH_TYPES))] if rng.random() < 0.6 else torch.float64
    tensor = tensor.to(kind) if np.isfinite(x).all() or kind.is_floating_point else tensor
    how = rng.choice(TENSORS)
    if how == "transposed":
        return tensor.T.contiguous().T
    if how == "strided":
        return tensor.repeat_interleave(2, 0)[::2]
    if how == "expanded":
        return tensor[:1].expand(len(tensor), -1)
    if how == "grad" and tensor.is_floating_point():
        return tensor.clone().requires_grad_()
    if how == "coo":
        return tensor.double().to_sparse()
    if how == "csr":
        return tensor.double().to_sparse_csr()
    if how == "meta":
        return tensor.to("meta")
    if how == "neg":
        return torch.complex(tensor.double(), -tensor.double()).conj().imag
    if how == "quantised":
        return torch.quantize_per_tensor(tensor.float().nan_to_num(0.0, 1.0, 1.0), 0.1, 0, torch.qint8)
    if how == "inference":
        with torch.inference_mode():
            return tensor.clone()
    if how == "nested":
        return torch.nested.nested_tensor([tensor[0].double(), tensor[0].double()])
    return tensor


def _masked(rng: Rng, x: np.ndarray) -> Any:
    return np.ma.masked_array(x, mask=rng.random(x.shape) < rng.choice([0.0, 0.3]))


def _frame(rng: Rng, x: np.ndarray) -> Any:
    frame = pd.DataFrame(x, columns=[f"f{i}" for i in range(x.shape[1])])
    how = rng.choice(["plain", "nullable", "duplicate names", "texts", "categories", "NA", "numbers as names", "dates"])
    if how == "nullable":
        return frame.astype("Float64")
    if how == "duplicate names":
        return frame.set_axis(["f0"] * x.shape[1], axis=1)
    if how == "texts":
        return frame.astype({"f0": str})
    if how == "categories":
        return frame.astype({"f0": "category"})
    if how == "NA":
        frame = frame.astype("Float64")
        frame.iloc[0, 0] = pd.NA
        return frame
    if how == "numbers as names":
        return frame.set_axis(range(x.shape[1]), axis=1)
    return frame.assign(f0=pd.Timestamp("2020-01-01")) if how == "dates" else frame


def _several(rng: Rng, x: np.ndarray) -> Any:
    a, b = x[:, :3], x[:, 3:]
    made: dict[str, Any] = {
        "mapping": {"a": a, "b": b},
        "list": [a, b],
        "tuple": (a, b),
        "kinds": {"a": sparse.csr_array(a), "b": torch.from_numpy(np.ascontiguousarray(b))},
        "rows differ": {"a": a, "b": b[:-1]},
        "missing": {"a": a},
        "other names": {"c": a, "d": b},
        "same names": {1: a, "1": b},
        "empty": {},
        "not 2-D": {"a": a[:, 0], "b": b},
        "scalars": {"a": 1.0, "b": None},
    }
    return made[str(rng.choice(list(made)))]


def _structured(rng: Rng, x: np.ndarray) -> Any:
    made = np.zeros(len(x), dtype=[("p", "f8"), ("q", "f8")])
    return made if rng.random() < 0.5 else made[:, None]


OTHERS: list[Callable[[np.ndarray], Any]] = [
    lambda x: None,
    lambda x: "a text",
    lambda x: b"bytes",
    lambda x: 5,
    lambda x: float("nan"),
    lambda x: object(),
    lambda x: [],
    lambda x: [[]],
    lambda x: [1.0, 2.0, 3.0],
    lambda x: [[1.0, 2.0], [3.0]],
    lambda x: [[1.0, "two"], [3.0, 4.0]],
    lambda x: [[None, 1.0], [2.0, 3.0]],
    lambda x: x.tolist(),
    lambda x: {1, 2},
    lambda x: range(8),
    lambda x: (row for row in x),
    lambda x: len,
    lambda x: np.matrix(x),
    lambda x: memoryview(np.ascontiguousarray(x)),
    lambda x: pd.Series(x[:, 0]),
    lambda x: [[10**400, 1], [2, 3]],
    lambda x: [[Fraction(1, 3), 1], [2, 3]],
    lambda x: [[datetime(2020, 1, 1), 1], [2, 3]],
    lambda x: [[1 + 2j, 1], [2, 3]],
    lambda x: np.array([[object()]], dtype=object),
    lambda x: np.array([["1.5", "2"]] * len(x), dtype=object),
]

CONTAINERS: dict[str, Callable[[Rng, np.ndarray], Any]] = {
    "array": lambda rng, x: LAYOUTS[str(rng.choice(list(LAYOUTS)))](_cast(x, str(rng.choice(DTYPES)))),
    "shape": lambda rng, x: SHAPES[str(rng.choice(list(SHAPES)))](x),
    "scipy": _sparse,
    "torch": _tensor,
    "masked": _masked,
    "frame": _frame,
    "several": _several,
    "structured": _structured,
    "other": lambda rng, x: OTHERS[rng.integers(len(OTHERS))](x),
}


def ordinary(rng: Rng, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Samples and classes with nothing wrong about them."""
    return rng.random((n, WIDTH)), np.arange(n) % 2


def array(rng: Rng, i: int) -> tuple[str, Any]:
    """The i-th hostile array, and its name: contents and containers in turn, the rest by chance."""
    contents, containers = list(CONTENTS), list(CONTAINERS)
    content, container = contents[i % len(contents)], containers[i // len(contents) % len(containers)]
    x = rng.random((int(rng.integers(2, 12)), WIDTH))
    with np.errstate(all="ignore"):
        return f"{content} in {container}", CONTAINERS[container](rng, CONTENTS[content](rng, x))


LABELS: list[Callable[[Rng, int], Any]] = [
    lambda rng, n: rng.integers(0, 2, n),
    lambda rng, n: rng.integers(-1, 3, n),
    lambda rng, n: np.zeros(n),
    lambda rng, n: np.arange(n),
    lambda rng, n: rng.random(n),
    lambda rng, n: np.where(np.arange(n) == 0, np.nan, 1.0),
    lambda rng, n: np.where(np.arange(n) == 0, np.inf, 1.0),
    lambda rng, n: rng.integers(0, 2, (n, 3)),
    lambda rng, n: np.zeros((n, 3), int),
    lambda rng, n: np.ones((n, 3), int),
    lambda rng, n: rng.random((n, 3)),
    lambda rng, n: rng.integers(0, 5, (n, 3)),
    lambda rng, n: rng.integers(0, 2, (n, 1)),
    lambda rng, n: rng.integers(0, 2, (n, 2, 2)),
    lambda rng, n: rng.integers(0, 2, n + 1),
    lambda rng, n: ["yes", "no"] * (n // 2) + ["yes"] * (n % 2),
    lambda rng, n: ["yes", 1] * (n // 2) + ["yes"] * (n % 2),
    lambda rng, n: ["yes", None] * (n // 2) + ["yes"] * (n % 2),
    lambda rng, n: np.array(["yes", 1] * n, dtype=object)[:n],
    lambda rng, n: np.array([(1,), "a"] * n, dtype=object)[:n],
    lambda rng, n: np.array([object()] * n),
    lambda rng, n: np.array([b"a", b"b"] * n)[:n],
    lambda rng, n: np.array(["2020-01-01", "2021-01-01"] * n, dtype="M8[s]")[:n],
    lambda rng, n: rng.random(n) > 0.5,
    lambda rng, n: rng.random(n) + 1j,
    lambda rng, n: np.zeros(n, dtype=[("p", "f8")]),
    lambda rng, n: np.ma.masked_array(np.arange(n) % 2, mask=np.arange(n) == 1),
    lambda rng, n: pd.Series(np.arange(n) % 2, dtype="Int64"),
    lambda rng, n: pd.Series([pd.NA, *(np.arange(n - 1) % 2)], dtype="Int64"),
    lambda rng, n: pd.Categorical(["u", "v"] * (n // 2) + ["u"] * (n % 2)),
    lambda rng, n: pd.DataFrame(rng.integers(0, 2, (n, 2))),
    lambda rng, n: torch.from_numpy(rng.integers(0, 2, n)),
    lambda rng, n: torch.from_numpy(rng.integers(0, 2, (n, 3))).to_sparse(),
    lambda rng, n: torch.rand(n, requires_grad=True),
    lambda rng, n: torch.zeros(n, device="meta"),
    lambda rng, n: sparse.csr_array(rng.integers(0, 2, (n, 3))),
    lambda rng, n: sparse.coo_array(rng.integers(0, 2, (n, 3))),
    lambda rng, n: [[0], [1, 2]] * (n // 2),
    lambda rng, n: [],
    lambda rng, n: None,
    lambda rng, n: 5,
    lambda rng, n: "labels",
    lambda rng, n: {0: 1},
    lambda rng, n: (k % 2 for k in range(n)),
    lambda rng, n: np.array(1),
    lambda rng, n: np.full(n, 2**63 - 1),
    lambda rng, n: np.array([2**62, -(2**62)] * n)[:n],
    lambda rng, n: [10**30, 1] * (n // 2) + [1] * (n % 2),
]

VALUES: list[Any] = [
    None, True, False, 0, 1, 2, 3, 5, -1, 1.5, 0.5, 1e-300, 1e300, 10**30, 10**400, 2**31, -(2**63), float("nan"),
    float("inf"), -float("inf"), "", "typo", "auto", "cuda", "cuda:7", "mps", "meta", "cpu", "cpu:5", "none", b"x",
    1 + 2j, Fraction(1, 2), (), (1,), (1.5,), (0,), (-1, 2), (2, 2), (5, 1), (0.5, 2.0), (None,), ("linear",),
    [], [3], ["typo"],
    {}, {"a": [0]}, {"a": 5}, {"a": "b"}, {"a": None}, {"a": slice(0, 2), "b": [3]}, {"a": [99]}, {"a": [0.5]}, {1: 2},
    {"view0": "gaussian"}, {"view0": Gaussian()}, {0: -1.0, 1: 2.0}, {0: float("nan")}, {0: "x"}, {"zero": 1.0},
    set(), object(), len, abs, lambda *a: None, lambda x: x * float("nan"), lambda x, z: x @ z.T,
    lambda x, z: np.full((len(x), len(z)), np.nan), lambda x, z: "nothing", np.nan, np.float32(2.0), np.int64(2),
    np.array(2), np.array([1, 2]), np.array([[0.5]]), np.array(["linear"]), np.array([0, 10**9]), np.zeros((2, 5)),
    torch.tensor(2), torch.zeros(2, 5), slice(0, 2), range(3), Ellipsis, NotImplemented, type, int, Gaussian(),
    Gaussian, (Gaussian(), "linear"), Polynomial(degree=7), Supervised(n_steps=1, max_samples=8), "supervised",
    "semi-supervised",
    "uniform", "kmeans", "rpcholesky", "leverage", "paper", "layered", "collapsed", "exact", "filter", "default",
    "algorithm1", "hinge", "balanced", "huberized_hinge", "f1", "codes", "tf32", "1KiB", "64 MiB", "1e9",
    "9" * 400 + "GB",
    "-5", "sinh", "identity", "poly3", "chi2", "arccos2", "laplacian", pd.NA, pd.DataFrame(), np.random.RandomState(0),
    np.random.default_rng(0), make_pipeline(),
]  # fmt: skip
"""For any parameter: most are wrong, and some right, wherever they come."""
