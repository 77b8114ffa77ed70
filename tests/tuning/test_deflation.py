"""Leave-one-out residuals, deflated maps, and landmarks that keep their rows."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramless.tuning import LandmarkExactMap, exact_landmarks, tune_deflation, tune_projection
from gramless.tuning.deflation import deflations, largest_deflation, leave_one_out_residuals
from tests.oracles import tuning as oracle
from tests.tuning.kernels import compiled, error, generator, heavy_tail, three_layers


def landmark_gram(n=15):
    kernel, views = heavy_tail(n=n)
    return kernel.tensor(views, views, torch.float64)


def test_residuals_are_distances_from_the_span_of_the_others():
    gram = landmark_gram()
    torch.testing.assert_close(leave_one_out_residuals(gram), oracle.leave_one_out_residuals(gram))


def test_largest_deflation_is_where_the_matrix_becomes_singular():
    gram = landmark_gram()
    residuals = leave_one_out_residuals(gram)
    largest = largest_deflation(gram, residuals)
    assert 0 < largest <= 1
    assert torch.linalg.eigvalsh(gram - largest * residuals.diag()).min().abs() < 1e-10


def test_deflations_begin_with_the_plain_projection_and_take_more_and_more_off_the_diagonal():
    gram = landmark_gram()
    found = [p.landmark_map @ p.landmark_map.T for p in deflations(gram, None, torch.float64)]
    torch.testing.assert_close(found[0], gram)
    traces = [matrix.trace().item() for matrix in found]
    assert len(found) > 3
    assert traces == sorted(traces, reverse=True)
    for matrix in found:
        off = (matrix - gram).fill_diagonal_(0.0)
        assert off.abs().max() < 1e-10


def test_a_singular_matrix_has_nothing_to_take_out():
    gram = landmark_gram()
    assert len(list(deflations(gram.repeat(2, 2), None, torch.float64))) == 1


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 20), log_scale=st.floats(-4, 2), log_spread=st.floats(0, 4))
def test_a_matrix_that_is_nearly_singular_or_badly_scaled_still_has_projections(seed, n, log_scale, log_spread):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2)) * 10**log_scale
    sizes = 10 ** rng.uniform(-log_spread, log_spread, n)
    gram = np.exp(-((points[:, None] - points[None]) ** 2).sum(2)) * sizes[:, None] * sizes
    for projection in deflations(torch.from_numpy(gram), None, torch.float64):
        assert projection.matrix.isfinite().all()


def test_every_sample_that_is_no_landmark_judges_and_no_other_kernel_value_is_computed(monkeypatch):
    kernel, views = three_layers(n=90)
    plain = compiled(kernel, views, 20)
    sizes = []
    compute = type(kernel).tensor

    def counted(self, X, Z, dtype=None):
        sizes.append((len(X), len(Z)))
        return compute(self, X, Z, dtype)

    monkeypatch.setattr(type(kernel), "tensor", counted)
    result = tune_deflation(plain, views[np.r_[0:90, 40:60]], generator())
    monkeypatch.undo()
    assert sorted(sizes) == [(20, 20), (70, 20), (70, 70)]
    assert result.n_tuning == 70
    assert result.error_before == pytest.approx(error(plain, views[20:]))
    assert result.error_after == pytest.approx(error(result.map, views[20:]))


def test_of_many_samples_five_hundred_judge():
    kernel, views = heavy_tail(n=620)
    assert tune_deflation(compiled(kernel, views, 10), views, generator()).n_tuning == 500


@pytest.mark.parametrize("case", [heavy_tail, three_layers])
def test_landmark_rows_stay_exact_and_other_rows_come_closer(case):
    kernel, views = case(n=160)
    plain = compiled(kernel, views, 40)
    tuned = tune_deflation(plain, views[:120], generator()).map
    assert isinstance(tuned, LandmarkExactMap)
    phi, gram = tuned.transform(views), kernel.tensor(views, views, torch.float64)
    rows = (phi[:40] @ phi.T - gram[:40]).abs()
    rows[:, :40].fill_diagonal_(0.0)  # what was deflated
    assert rows.max() < 1e-8 * gram.max()
    assert error(tuned, views[120:]) < error(plain, views[120:])


@pytest.mark.parametrize("case", [heavy_tail, three_layers])
def test_any_tuned_map_can_have_its_landmark_rows_exact_against_new_samples(case):
    kernel, views = case(n=160)
    tuned = tune_projection(compiled(kernel, views, 40), views[:120], generator()).map
    exact = exact_landmarks(tuned)
    phi, gram = exact.transform(views), kernel.tensor(views, views, torch.float64)
    torch.testing.assert_close(phi[:40] @ phi[40:].T, gram[:40, 40:], rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(phi[40:], tuned.transform(views[40:]))
    assert error(exact, views) < 0.5 * error(tuned, views)


def test_a_landmark_is_known_wherever_it_stands():
    kernel, views = heavy_tail(n=80)
    tuned = tune_deflation(compiled(kernel, views, 20), views, generator()).map
    order = np.random.default_rng(0).permutation(80)
    torch.testing.assert_close(tuned.transform(views[order]), tuned.transform(views)[order])
    assert tuned.transform(views[30:31]).shape == (1, 20)
