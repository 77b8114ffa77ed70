"""Landmarks drawn uniformly without replacement, as in the paper."""

import torch
from torch import Tensor

from gramless.maps.landmarks.base import PairwiseKernel
from gramless.views import Views


def uniform(kernel: PairwiseKernel, X: Views, n_landmarks: int, generator: torch.Generator, budget: int) -> Tensor:
    return torch.randperm(len(X), generator=generator)[:n_landmarks]
