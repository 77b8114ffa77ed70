"""A kernel of one's own beside those of the package: any function of two arrays that gives a matrix."""

import numpy as np
import numpy.typing as npt

import gramless as gl
from gramless.kernels import Custom

Rows = npt.NDArray[np.float32]


def shared_words(x: Rows, z: Rows) -> Rows:
    """How many words two texts share, of all that either has (Jaccard); positive semi-definite."""
    has_x, has_z = (x > 0).astype(np.float32), (z > 0).astype(np.float32)
    both = has_x @ has_z.T
    shared: Rows = both / np.maximum(has_x.sum(1)[:, None] + has_z.sum(1) - both, 1)
    return shared


rng = np.random.default_rng(0)
y = rng.integers(0, 2, 300)
counts = rng.poisson(np.array([[2, 0.2] * 6, [0.2, 2] * 6])[y])
lengths = rng.random((300, 2)) + y[:, None]
views = gl.Views({"words": counts, "lengths": lengths})

network = gl.DeepKernelNetwork(
    kernels={"words": [Custom(shared_words), "linear"], "lengths": ["gaussian"]}, random_state=0
).fit(views, y)
vectors = gl.DeepMapNetwork(network.kernel_, n_landmarks=50, random_state=0).fit_transform(views)
print(f"{vectors.shape[0]} vectors of {vectors.shape[1]} numbers")
for entry in network.kernel_.inputs:  # those that learning has left a weight
    print(f"{entry.kernel.name} on {entry.view}")
