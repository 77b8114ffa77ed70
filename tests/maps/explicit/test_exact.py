"""Exact maps: the kernel itself on any samples, and one column per distinct monomial."""

from math import comb

import numpy as np
import pytest
import torch
from hypothesis import given

from gramless.kernels import Polynomial
from gramless.maps.explicit import Exact, count_monomials, monomials
from tests.contracts.samples import generator, sample_sets
from tests.maps.explicit.cases import EXACT
from tests.oracles import maps as oracle


@pytest.mark.parametrize("case", EXACT, ids=str)
@given(sets=sample_sets(3))
def test_inner_products_are_the_kernel_on_any_samples(case, sets):
    landmarks, x, z = map(case.admit, sets)
    case.check_equals_kernel(case.fit(landmarks), x, z, 1e-10)


@pytest.mark.parametrize("n_features", [1, 2, 5, 7])
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_monomials_are_all_distinct_products_with_their_multinomial_coefficients(n_features, degree):
    factors, roots = monomials(n_features, degree)
    found = {tuple(column): round(root**2) for column, root in zip(factors.T.tolist(), roots.tolist(), strict=True)}
    assert found == oracle.monomials(n_features, degree)
    assert factors.shape == (degree, comb(n_features + degree - 1, degree))
    assert (roots**2).sum().item() == pytest.approx(n_features**degree)  # the columns of the Kronecker power
    np.testing.assert_allclose(roots**2, (roots**2).round(), rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 0.75])
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("n_features", [1, 3, 6])
def test_number_of_columns(n_features, degree, offset):
    extended = n_features + (offset > 0)
    explicit = Exact().fit(Polynomial(degree=degree, offset=offset), torch.ones(2, n_features), generator())
    assert explicit.n_columns == comb(extended + degree - 1, degree) == count_monomials(n_features, degree, offset)
    if degree == 2:
        assert explicit.n_columns == extended * (extended + 1) // 2


@pytest.mark.parametrize(("degree", "offset"), [(2, 0.0), (3, 0.0), (2, 0.75), (4, 0.75)])
def test_merging_equal_monomials_keeps_the_inner_products_of_the_kronecker_power(degree, offset, rng):
    X = rng.normal(size=(6, 3))
    kronecker = np.array([oracle.polynomial_map(x, degree, offset) for x in X])
    explicit = Exact().fit(Polynomial(degree=degree, offset=offset), torch.from_numpy(X), generator())
    phi = explicit.transform(torch.from_numpy(X)).numpy()
    assert phi.shape[1] < kronecker.shape[1]
    np.testing.assert_allclose(phi @ phi.T, kronecker @ kronecker.T, rtol=1e-12, atol=1e-12)


def test_a_whole_degree_may_be_written_as_a_float(rng):
    """Polynomial takes 2.0, so its map has to."""
    X = torch.from_numpy(rng.normal(size=(4, 3)))
    kernel = Polynomial(degree=2.0)
    phi = Exact().fit(kernel, X, generator()).transform(X)
    torch.testing.assert_close(phi @ phi.T, kernel.pairwise(X, X))
