"""Algorithm 1 with every concatenation and every anchor written out; gradients by autograd alone."""

import torch

ACTIVATIONS = {"tanh": torch.tanh, "sinh": torch.sinh, "exp": torch.exp, "identity": lambda t: t}


def explicit_maps(gram):
    """phi with phi phi' = gram, for every sample of a p.s.d. matrix: (n, n)."""
    eigenvalues, vectors = torch.linalg.eigh(gram)
    return vectors * eigenvalues.clamp_min(0).sqrt()


class ExplicitNetwork:
    """Eqs. 7 and 8 unit by unit: `anchors[l][p]` is (N, all input columns), `projections[l][p]` is (N, r)."""

    def __init__(self, weights, names, scale, landmark_maps):
        self.weights, self.names, self.scale = weights, names, scale
        self.anchors, self.projections = [], []
        maps = landmark_maps
        for matrix, name in zip(weights, names, strict=True):
            last = len(self.projections) == len(weights) - 1
            anchors = [self.concatenate(row, maps) for row in matrix]
            grams = [ACTIVATIONS[name](a @ a.T) * (scale if last else 1.0) for a in anchors]
            projections = [_root(gram) for gram in grams]
            maps = [gram @ U for gram, U in zip(grams, projections, strict=True)]
            self.anchors.append(anchors)
            self.projections.append(projections)

    @staticmethod
    def concatenate(row, maps):
        return torch.cat([w.sqrt() * phi for w, phi in zip(row, maps, strict=True)], dim=1)

    def parameters(self):
        return [t for layers in (self.projections, self.anchors) for units in layers for t in units]

    def forward(self, maps):
        """Everything on the way: per layer, a list over units of phi^c, f, kappa and phi."""
        trace = []
        for number, (matrix, name) in enumerate(zip(self.weights, self.names, strict=True)):
            units = []
            for row, anchor, U in zip(matrix, self.anchors[number], self.projections[number], strict=True):
                concatenated = self.concatenate(row, maps)
                f = concatenated @ anchor.T
                kappa = ACTIVATIONS[name](f) * (self.scale if number == len(self.weights) - 1 else 1.0)
                units.append({"concatenated": concatenated, "f": f, "kappa": kappa, "phi": kappa @ U})
            trace.append(units)
            maps = [unit["phi"] for unit in units]
        return trace

    def iterate(self, left, right, kappa, step):
        """One iteration: half the gradient of the batch's mean error, by autograd."""
        for tensor in self.parameters():
            tensor.requires_grad_()
        phi, partner = (self.forward(maps)[-1][0]["phi"] for maps in (left, right))
        error = (((phi * partner).sum(1) - kappa) ** 2 / 2).mean()
        gradients = torch.autograd.grad(error, self.parameters())
        with torch.no_grad():
            for tensor, gradient in zip(self.parameters(), gradients, strict=True):
                tensor -= step * gradient / 2

    def transform(self, maps):
        with torch.no_grad():
            return self.forward(maps)[-1][0]["phi"]


def off_diagonal_error(phi, gram):
    """Percent, pair by pair of different samples."""
    total, n = 0.0, len(gram)
    for i in range(n):
        for j in range(n):
            a, b = float(phi[i] @ phi[j]), float(gram[i, j])
            if i != j and abs(a) + abs(b) > 0:
                total += abs(a - b) / (abs(a) + abs(b))
    return 100.0 * total / (n * (n - 1))


def _root(gram):
    eigenvalues, vectors = torch.linalg.eigh(gram)
    kept = eigenvalues > 1e-12 * eigenvalues.max()
    return vectors[:, kept] / eigenvalues[kept].sqrt()
