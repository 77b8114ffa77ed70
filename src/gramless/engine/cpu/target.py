"""The processor that Numba compiles for: how long its vectors are, and what it can do without a portable name in LLVM.

Numba compiles for the host, unless GRAMLESS_VECTORS asks for less of it (`VECTORS` below), or Numba's own variables,
such as NUMBA_CPU_FEATURES, do. It keys its cache on the processor's name and features, so that what is chosen here is
never run on another. An instruction that the target lacks aborts the process while it is compiled: what is not known to
be there counts as missing.
"""

from __future__ import annotations

import os
from typing import Any

import numba
from llvmlite.binding import llvm_version_info
from numba.core import codegen
from numba.core.registry import cpu_target

VARIABLE = "GRAMLESS_VECTORS"
# What of the processor each choice needs, and the features that it leaves off, by how their names begin.
VECTORS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "avx512": ("avx512f", ()),
    "avx2": ("avx2", ("avx512", "avx10", "amx")),
    "portable": (None, ("avx", "amx", "fma", "f16c", "xop", "sse3", "ssse3", "sse4", "vaes", "vpclmul", "gfni", "sha")),
}


def chosen_features(choice: str | None, available: str) -> str:
    """LLVM's list of features (+this,-that) to compile for: all that are available, or what a choice leaves of them."""
    if not choice:
        return available
    if choice not in VECTORS:
        raise ValueError(
            f"{VARIABLE} is one of {', '.join(VECTORS)}, or not set for the best there is, got {choice!r}."
        )
    needed, without = VECTORS[choice]
    features = [feature for feature in available.split(",") if feature]
    if needed is not None and f"+{needed}" not in features:
        raise ValueError(
            f"{VARIABLE}={choice} needs a processor with {needed}, which this one lacks. Choose another, or unset it."
        )
    return ",".join("-" + name[1:] if name[1:].startswith(without) else name for name in features)


_config: Any = numba.config
_available = _config.CPU_FEATURES if _config.CPU_FEATURES is not None else codegen.get_host_cpu_features()
_chosen = chosen_features(os.environ.get(VARIABLE), _available)
if _chosen != _available:
    if "_toplevel_target_context" in vars(cpu_target):
        raise RuntimeError(
            f"{VARIABLE} is set, but Numba compiles for the whole processor already: import gramless before such code."
        )
    _config.CPU_FEATURES = _chosen
FEATURES = frozenset(feature[1:] for feature in _chosen.split(",") if feature.startswith("+"))
LONG_VECTORS = "avx512f" in FEATURES
LANES = 16 if LONG_VECTORS else 8  # float32 numbers in a vector
BYTE_LANES = 4 * LANES
INTEGER_MINIMA = {4: LONG_VECTORS or "avx2" in FEATURES, 8: LONG_VECTORS}  # of so many bytes, in one instruction
# The instruction that multiplies bytes, adds them up four by four and adds that to 32-bit totals. Its operands are
# vectors of bytes from LLVM 22 on.
BYTE_PRODUCTS: str | None = None
if LONG_VECTORS and "avx512vnni" in FEATURES and llvm_version_info[0] >= 22:
    BYTE_PRODUCTS = "llvm.x86.avx512.vpdpbusd.512"
# The instruction that adds up groups of eight bytes, for vectors of BYTE_LANES.
BYTE_SUMS: str | None = None
if LONG_VECTORS and "avx512bw" in FEATURES:
    BYTE_SUMS = "llvm.x86.avx512.psad.bw.512"
elif not LONG_VECTORS and "avx2" in FEATURES:
    BYTE_SUMS = "llvm.x86.avx2.psad.bw"
