"""Landmarks near the centres of clusters."""

import numpy as np
import torch
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import pairwise_distances_argmin
from torch import Tensor

from gramless.maps.landmarks.base import PairwiseKernel, top_up
from gramless.support.budget import require
from gramless.views import Views


def kmeans(kernel: PairwiseKernel, X: Views, n_landmarks: int, generator: torch.Generator, budget: int) -> Tensor:
    """The sample nearest to each k-means centre of all views side by side.

    Every view is scaled to unit mean squared norm, so that none rules by its units. Samples are taken, not centres:
    a centre need not be a possible sample.
    """
    n_rows, n_features = X.shape
    require(
        4.0 * n_rows * n_features,
        budget,
        what=f"k-means on {n_rows:,} samples of {n_features:,} features",
        remedy="Choose landmarks='uniform', fit on a subsample, or raise memory_budget.",
    )
    blocks = [X.tensor(name, torch.float32) for name in X.names]
    scaled = [block / max(block.square().sum(1).mean().sqrt().item(), 1e-30) for block in blocks]
    samples = torch.cat(scaled, dim=1).numpy()
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    clusters = MiniBatchKMeans(n_landmarks, n_init=1, random_state=seed).fit(samples)
    nearest = pairwise_distances_argmin(clusters.cluster_centers_, samples)
    chosen = torch.from_numpy(np.unique(nearest)).long()
    return top_up(chosen, n_rows, n_landmarks, generator)
