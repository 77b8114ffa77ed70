"""Learn a deep kernel, compile it into vectors, see how close they come, and keep the map in a file."""

import tempfile
from pathlib import Path

import numpy as np

import gramless as gl

rng = np.random.default_rng(0)
y = rng.integers(0, 3, 400)
views = gl.Views({name: rng.random((3, 12))[y] + rng.random((400, 12)) for name in ("colours", "shapes")})

kernel = gl.DeepKernelNetwork(random_state=0).fit(views, y).kernel_  # an immutable value: kernel(A, B) is a matrix
network = gl.DeepMapNetwork(kernel, n_landmarks=80, random_state=0).fit(views)
vectors = network.transform(views)
print(
    f"{len(vectors)} vectors of {vectors.shape[1]} numbers, "
    f"{gl.relative_error(network, kernel, views):.2g} % off the kernel on average"
)

with tempfile.TemporaryDirectory() as folder:
    gl.save(network, Path(folder) / "map.gramless")  # safetensors and JSON, no pickle
    again = gl.load(Path(folder) / "map.gramless")
    print("the same vectors after loading:", np.array_equal(again.transform(views), vectors))
