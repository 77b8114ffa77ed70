"""Without a GPU the kernels run through Triton's interpreter, to be asked for before Triton is imported."""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
