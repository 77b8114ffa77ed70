"""Deep kernel and deep map networks written out naively in NumPy, pair by pair and unit by unit."""

import numpy as np

ACTIVATIONS = {"tanh": np.tanh, "sinh": np.sinh, "exp": np.exp, "identity": lambda t: t}


def deep_kernel(elementary, weights, activations):
    """Eq. 1: elementary is a list of (n, m) arrays; every layer sums and activates."""
    values = [np.asarray(k, dtype=float) for k in elementary]
    for matrix, name in zip(weights, activations, strict=True):
        values = [ACTIVATIONS[name](sum(w * k for w, k in zip(row, values, strict=True))) for row in matrix]
    return values[0]


def psd_root(gram):
    """U = alpha Lambda^(-1/2) over the positive eigenvalues (Eq. 6)."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    keep = eigenvalues > 1e-14 * len(gram) * eigenvalues.max()
    return vectors[:, keep] / np.sqrt(eigenvalues[keep])


def deep_map(input_maps, landmark_maps, weights, activations):
    """Eqs. 7 and 8 unit by unit, concatenations written out; returns phi of the samples.

    input_maps: per elementary kernel, the explicit map (n, columns) of the samples; landmark_maps: of the landmarks.
    """
    maps, anchors = list(input_maps), list(landmark_maps)
    for matrix, name in zip(weights, activations, strict=True):
        next_maps, next_anchors = [], []
        for row in matrix:
            concatenated = np.hstack([np.sqrt(w) * phi for w, phi in zip(row, maps, strict=True)])
            anchor = np.hstack([np.sqrt(w) * phi for w, phi in zip(row, anchors, strict=True)])
            response = ACTIVATIONS[name](concatenated @ anchor.T)
            gram = ACTIVATIONS[name](anchor @ anchor.T)
            projection = psd_root(gram)
            next_maps.append(response @ projection)
            next_anchors.append(gram @ projection)
        maps, anchors = next_maps, next_anchors
    return maps[0]


def relative_error(phi, gram):
    """Percent, pair by pair."""
    total = 0.0
    n = len(gram)
    for i in range(n):
        for j in range(n):
            a, b = float(phi[i] @ phi[j]), float(gram[i, j])
            if abs(a) + abs(b) > 0:
                total += abs(a - b) / (abs(a) + abs(b))
    return 100.0 * total / n**2
