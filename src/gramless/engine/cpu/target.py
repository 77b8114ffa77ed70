"""The processor that Numba compiles for: how long its vectors are, and what it can do without a portable name in LLVM.

Numba compiles for the host, unless variables such as NUMBA_CPU_FEATURES say otherwise, and keys its cache on the
processor's name and features, so that what is chosen here is never run on another. An instruction that the target lacks
aborts the process while it is compiled: what is not known to be there counts as missing.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite.binding import llvm_version_info
from numba.core import codegen

_config: Any = numba.config
_chosen = _config.CPU_FEATURES if _config.CPU_FEATURES is not None else codegen.get_host_cpu_features()
FEATURES = frozenset(feature[1:] for feature in _chosen.split(",") if feature.startswith("+"))
LONG_VECTORS = "avx512f" in FEATURES
LANES = 16 if LONG_VECTORS else 8  # float32 numbers in a vector
BYTE_LANES = 4 * LANES
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
