"""Every map under one contract, and what recipes refuse."""

import pytest
import torch

from gramless.errors import MemoryBudgetError
from gramless.kernels import Distance, Gaussian, Intersection, Laplacian, Linear, Polynomial
from gramless.maps.explicit import Eigen, Exact, Fourier, Unary
from gramless.support.config import config_context
from tests.contracts.maps import MapContract
from tests.contracts.samples import generator
from tests.maps.explicit.cases import EIGEN, EXACT, FOURIER, UNARY


@pytest.mark.parametrize("case", EXACT + UNARY + EIGEN + FOURIER, ids=str)
class TestEveryMap(MapContract):
    pass


@pytest.mark.parametrize(
    ("recipe", "kernel", "message"),
    [
        pytest.param(Exact(), Gaussian(scale=1.0), "gaussian", id="exact-gaussian"),
        pytest.param(Exact(), Intersection(), "intersection", id="exact-intersection"),
        pytest.param(Exact(), Distance(), "distance", id="exact-distance"),
        pytest.param(Unary(), Linear(), "linear", id="unary-linear"),
        pytest.param(Fourier(), Polynomial(), "polynomial", id="fourier-polynomial"),
    ],
)
def test_a_kernel_that_the_recipe_does_not_support_is_refused_by_name(recipe, kernel, message):
    with pytest.raises(TypeError, match=message):
        recipe.fit(kernel, torch.ones(3, 2), generator())


@pytest.mark.parametrize(
    ("recipe", "kernel", "message"),
    [
        pytest.param(Exact(), Polynomial(degree=2), "5,050 columns.*eigen", id="exact-poly2"),
        pytest.param(Exact(), Polynomial(degree=3, offset=1.0), "176,851 columns", id="exact-poly3-offset"),
        pytest.param(Eigen(), Linear(), "40 landmarks.*memory_budget", id="eigen"),
    ],
)
def test_a_map_that_does_not_fit_into_memory_is_refused_with_its_size(recipe, kernel, message):
    with config_context(memory_budget=30_000), pytest.raises(MemoryBudgetError, match=message):
        recipe.fit(kernel, torch.ones(40, 100), generator())


@pytest.mark.parametrize(
    ("recipe", "parameters"),
    [
        pytest.param(Unary, {"levels": 0}, id="no-levels"),
        pytest.param(Unary, {"rounding": "ceil"}, id="unknown-rounding"),
        pytest.param(Fourier, {"n_frequencies": 0}, id="no-frequencies"),
    ],
)
def test_choices_that_make_no_map_are_refused(recipe, parameters):
    with pytest.raises(ValueError, match=str(next(iter(parameters.values())))):
        recipe(**parameters)


@pytest.mark.parametrize("kind", [Gaussian, Laplacian])
def test_fourier_needs_a_settled_width(kind):
    with pytest.raises(RuntimeError, match="fit"):
        Fourier(3).fit(kind(scale="mean"), torch.ones(3, 2), generator())
