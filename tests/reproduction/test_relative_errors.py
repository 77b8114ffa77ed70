"""Vectors fitted to kernel values, against a kernel that has such vectors and against SciPy's optimiser."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from reproduction.relative_errors import free_vectors


def relative_error(phi, gram):
    """Naive, in percent, between different samples."""
    n = len(gram)
    values = phi @ phi.T
    errors = [
        abs(values[i, j] - gram[i, j]) / (abs(values[i, j]) + abs(gram[i, j]))
        for i in range(n)
        for j in range(n)
        if i != j
    ]
    return 100 * np.mean(errors)


def problem(n=40, d=4, n_hidden=4, seed=0):
    rng = np.random.default_rng(seed)
    hidden = rng.gamma(2.0, size=(n, n_hidden)) / n_hidden
    gram = hidden @ hidden.T + np.diag(rng.uniform(5, 20, size=n))  # a diagonal that no four numbers can hold
    start = np.hstack([hidden, np.zeros((n, d))])[:, :d] + 0.3 * rng.normal(size=(n, d))
    return torch.from_numpy(start), torch.from_numpy(gram)


@pytest.mark.parametrize("seed", range(3))
def test_values_that_so_many_numbers_can_hold_are_found_whatever_the_diagonal(seed):
    start, gram = problem(seed=seed)
    found = free_vectors(start, gram)
    assert relative_error(start.numpy(), gram.numpy()) > 10
    assert relative_error(found.numpy(), gram.numpy()) < 1


@pytest.mark.parametrize("seed", range(3))
def test_as_close_as_scipy_comes(seed):
    start, gram = problem(n=24, d=3, n_hidden=12, seed=seed)
    gram64 = gram.numpy()

    def loss(flat):
        phi = flat.reshape(24, 3)
        values = phi @ phi.T
        errors = np.abs(values - gram64) / (np.abs(values) + np.abs(gram64))
        return errors.sum() - np.trace(errors)

    tried = minimize(loss, start.numpy().ravel(), method="L-BFGS-B", options={"maxfun": 200_000, "maxiter": 2000})
    found = free_vectors(start, gram).numpy()
    assert relative_error(found, gram64) < 1.05 * relative_error(tried.x.reshape(24, 3), gram64)


def test_a_start_that_is_the_best_is_returned_as_it_is():
    vectors = torch.rand(30, 3, generator=torch.Generator().manual_seed(0)) + 0.5
    before = vectors.clone()
    assert torch.equal(free_vectors(vectors, vectors @ vectors.T), before)
    assert torch.equal(vectors, before)


def test_one_number_per_sample_and_values_of_zero():
    start = torch.ones(3, 1)
    gram = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]])
    found = free_vectors(start, gram)
    assert found.isfinite().all()
    errors = relative_error(found.double().numpy(), gram.double().numpy())
    assert errors == pytest.approx(100 * 4 / 6, rel=1e-3)  # four zeros that no step brings closer, and two values met
