"""What every way of tuning does."""

from functools import partial

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.kernels import Linear
from gramless.maps.tuning import TUNERS, tune_algorithm1
from gramless.storage.storable import arguments
from tests.contracts.samples import generator
from tests.maps.tuning.kernels import compiled, heavy_tail, moved, one_unit, three_layers

QUICK = {
    "landmarks": partial(moved, n_steps=20),
    "algorithm1": partial(tune_algorithm1, n_pairs=400, batch_size=20, step=5e-3, max_iterations=50),
}
N_LANDMARKS = 24


@pytest.fixture(params=TUNERS)
def tune(request):
    return QUICK[request.param]


@pytest.fixture(params=[heavy_tail, three_layers], ids=["two layers with a heavy tail", "three layers"])
def case(request):
    return request.param


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_held_out_error_never_rises_and_the_type_is_kept(tune, case, dtype):
    kernel, views = case(n=120, dtype=dtype)
    deep_map = compiled(kernel, views, N_LANDMARKS)
    result = tune(deep_map, views[N_LANDMARKS:], generator())
    assert result.error_after <= result.error_before
    assert result.curve[0] == (0, result.error_before)
    assert result.error_after == pytest.approx(min(error for _, error in result.curve), rel=1e-3)
    phi = result.map.transform(views)
    assert (phi.dtype, phi.shape) == (views.dtype, (120, result.map.n_components))
    assert phi.isfinite().all()
    assert result.map.n_components <= deep_map.n_components
    assert result.map.kernel is kernel
    assert all(0 <= mass < 1e-6 for units in result.map.clipped_mass for mass in units)


def test_helps_where_the_kernel_has_a_heavy_tail(tune):
    kernel, views = heavy_tail(n=120)
    result = tune(compiled(kernel, views, N_LANDMARKS), views, generator())
    assert result.error_after < 0.99 * result.error_before


def test_the_generator_decides_all_chance(tune, case):
    kernel, views = case(n=60)
    deep_map = compiled(kernel, views, 12)
    torch.manual_seed(1)
    first = tune(deep_map, views, generator(3))
    torch.manual_seed(2)
    second = tune(deep_map, views, generator(3))
    assert first.curve == second.curve
    assert torch.equal(first.map.transform(views), second.map.transform(views))


def test_leaves_the_map_and_the_samples_alone(tune, case):
    kernel, views = case(n=60)
    deep_map = compiled(kernel, views, 12)
    kept = np.asarray(views).copy(), np.asarray(deep_map.landmarks).copy(), deep_map.projection.matrix.clone()
    tune(deep_map, views, generator())
    np.testing.assert_array_equal(np.asarray(views), kept[0])
    np.testing.assert_array_equal(np.asarray(deep_map.landmarks), kept[1])
    assert torch.equal(deep_map.projection.matrix, kept[2])


def test_landmarks_and_repeated_samples_teach_nothing(tune):
    """Only samples that are new count; a set of landmarks alone is too small a tuning set."""
    kernel, views = three_layers(n=40)
    deep_map = compiled(kernel, views, 12)
    with pytest.raises(gl.DataError, match=r"not landmarks.*got 0"):
        tune(deep_map, views[:12], generator())
    with pytest.raises(gl.DataError, match="got 1"):
        tune(deep_map, views[np.r_[0:12, 20, 20, 20, 20]], generator())


def test_one_sample_is_a_clear_error(tune):
    kernel, views = heavy_tail(n=40)
    with pytest.raises(gl.DataError, match=r"at least 4 different samples .* got 1"):
        tune(compiled(kernel, views, 12), views[20:21], generator())


@pytest.mark.parametrize("n_samples", [4, 9])
def test_a_tuning_set_smaller_than_the_landmarks(tune, case, n_samples):
    kernel, views = case(n=60)
    result = tune(compiled(kernel, views, 30), views[30 : 30 + n_samples], generator())
    assert result.error_after <= result.error_before
    assert result.n_tuning == n_samples
    assert result.map.transform(views).isfinite().all()


def test_fewer_components_than_landmarks(tune):
    kernel, views = heavy_tail(n=120)
    result = tune(compiled(kernel, views, N_LANDMARKS, n_components=10), views, generator())
    assert result.map.n_components == 10
    assert result.error_after < result.error_before


def test_a_kernel_that_the_map_has_exactly_stays_exact(tune):
    points = np.random.default_rng(0).random((60, 3)) + 0.5
    views = gl.Views(points)
    kernel = one_unit([Linear()], [1.0], "identity", views)
    result = tune(compiled(kernel, views, 12), views, generator())
    phi = result.map.transform(views).numpy()
    np.testing.assert_allclose(phi @ phi.T, points @ points.T, rtol=1e-5)


def test_duplicate_landmarks_make_a_singular_gram_matrix(tune):
    kernel, views = heavy_tail(n=80)
    deep_map = compiled(kernel, views[np.r_[0:12, 0:12, 12:80]], 24)
    result = tune(deep_map, views, generator())
    assert result.error_after <= result.error_before
    assert result.map.transform(views).isfinite().all()


def test_a_map_that_was_tuned_can_be_tuned_again(tune):
    kernel, views = heavy_tail(n=120)
    plain = compiled(kernel, views, N_LANDMARKS)
    tuned = moved(plain, views, generator(), n_steps=20).map
    again = tune(tuned, views, generator())
    assert again.error_before < tune(plain, views, generator()).error_before
    assert again.error_after <= again.error_before


@pytest.mark.parametrize("budget", [400_000, 1_500_000])
def test_works_within_a_small_budget(tune, budget):
    kernel, views = three_layers(n=400)
    with gl.config_context(memory_budget=budget):
        result = tune(compiled(kernel, views, 20), views[20:], generator())
    assert result.error_after <= result.error_before
    assert 4 <= result.n_tuning <= 380


def test_refuses_a_budget_that_cannot_do(tune):
    kernel, views = three_layers(n=60)
    deep_map = compiled(kernel, views, 20)
    with gl.config_context(memory_budget=15_000), pytest.raises(gl.MemoryBudgetError, match="20 landmarks"):
        tune(deep_map, views[20:], generator())


def test_tensors_in_tensors_out(tune):
    kernel, views = three_layers(n=60)
    tensors = gl.Views({name: torch.from_numpy(views[name]) for name in views.names})
    result = tune(compiled(kernel, tensors, 12), tensors, generator())
    expected = tune(compiled(kernel, views, 12), views, generator())
    torch.testing.assert_close(result.map.transform(tensors), expected.map.transform(views))


def test_the_map_is_made_again_from_its_constructor_arguments(tune):
    kernel, views = heavy_tail(n=60)
    tuned = tune(compiled(kernel, views, 12), views, generator()).map
    again = type(tuned)(**arguments(tuned))
    assert torch.equal(again.transform(views), tuned.transform(views))
