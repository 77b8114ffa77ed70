"""The default and the filter on samples that neither has seen."""

import pytest
import torch

from gramless.dmn import CollapsedMap
from gramless.maps import project
from gramless.tuning import tune_filter, tune_projection
from gramless.tuning.projection import apply_mixing
from gramless.tuning.spectral import apply_gains
from gramless.tuning.tuning_set import gather
from gramless.views import Views
from tests.tuning.kernels import compiled, error, generator, heavy_tail

N_LANDMARKS, N_TUNING, N = 40, 250, 400


@pytest.fixture(scope="module")
def tail():
    kernel, views = heavy_tail(n=N)
    plain = compiled(kernel, views, N_LANDMARKS)
    return plain, views[:N_TUNING], views[N_TUNING:]


@pytest.fixture(scope="module")
def results(tail):
    plain, tuning, _ = tail
    return {tune: tune(plain, tuning, generator()) for tune in (tune_filter, tune_projection)}


def test_errors_on_unseen_samples_fall_from_plain_to_filter_to_default(tail, results):
    plain, _, unseen = tail
    errors = [error(plain, unseen), *(error(result.map, unseen) for result in results.values())]
    assert errors[1] < 0.5 * errors[0]
    assert errors[2] < errors[1]


@pytest.mark.parametrize("tune", [tune_filter, tune_projection])
def test_stays_a_collapsed_map_whose_columns_come_in_the_order_of_what_they_hold(tail, results, tune):
    plain, _, _ = tail
    tuned = results[tune].map
    assert isinstance(tuned, CollapsedMap)
    assert tuned.landmarks is plain.landmarks
    eigenvalues = tuned.projection.eigenvalues
    assert torch.equal(eigenvalues, eigenvalues.sort(descending=True).values)
    columns = tuned.transform(plain.landmarks)
    torch.testing.assert_close(columns.T @ columns, eigenvalues.diag(), atol=1e-8 * eigenvalues[0].item(), rtol=1e-8)


@pytest.mark.parametrize("tune", [tune_filter, tune_projection])
def test_the_held_out_error_is_that_of_the_map(tail, results, tune):
    plain, tuning, _ = tail
    result = results[tune]
    samples = gather(plain, tuning, generator())
    assert samples.held_out.error(plain.projection.matrix) == result.error_before
    assert samples.held_out.error(result.map.projection.matrix) == result.error_after


def test_gains_and_mixings_change_inner_products_as_they_should():
    gram = torch.eye(6, dtype=torch.float64) + torch.rand(6, 6, generator=generator()).double()
    gram = gram @ gram.T
    projection = project(gram, 5, torch.float64)
    gains = torch.rand(5, generator=generator()) + 0.5
    mixing = torch.randn(5, 5, generator=generator(), dtype=torch.float64)
    U, scaled, mixed = (
        p.matrix for p in (projection, apply_gains(projection, gains), apply_mixing(projection, mixing, gram))
    )
    torch.testing.assert_close(scaled @ scaled.T, (U * gains.double().square()) @ U.T)
    torch.testing.assert_close(mixed @ mixed.T, U @ mixing @ mixing.T @ U.T)


def test_a_large_tuning_set_is_compared_in_groups(tail, monkeypatch):
    plain, tuning, unseen = tail
    monkeypatch.setattr("gramless.tuning.tuning_set.MAX_PAIRS", 1)
    monkeypatch.setattr("gramless.tuning.tuning_set.BATCH", 50)
    samples = gather(plain, tuning, generator())
    assert len(samples.grams) > 3
    assert all(len(gram) <= 50 for gram in samples.grams)
    for group, gram in zip(samples.groups, samples.grams, strict=True):
        assert len(gram) == group.stop - group.start
    rows, gram = samples.batch(generator())
    assert len(rows) == len(gram) <= 50
    assert error(tune_projection(plain, tuning, generator()).map, unseen) < 0.5 * error(plain, unseen)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_samples_on_the_gpu_are_tuned_on_as_those_in_memory():
    kernel, views = heavy_tail(n=N)
    there = Views({name: torch.as_tensor(views[name]).cuda() for name in views.names})
    errors = [
        tune_projection(compiled(kernel, samples, N_LANDMARKS), samples[:N_TUNING], generator()).error_after
        for samples in (views, there)
    ]
    assert errors[1] == pytest.approx(errors[0], rel=0.1)
