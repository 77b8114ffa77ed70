"""Landmarks as parameters, and the map that they make: domains, singular Gram matrices, gradients of whole losses."""

import numpy as np
import pytest
import torch
from scipy import sparse

import gramless as gl
from gramless.engine import differentiable_block
from gramless.kernels import Custom, Distance, Gaussian, Hellinger, Intersection, Linear, Polynomial
from gramless.maps.tuning.landmark_descent import move_landmarks
from gramless.maps.tuning.moving_map import MovableLandmarks, MovingMap
from gramless.network import Layer, ViewKernel, make_activation
from tests.contracts.samples import generator
from tests.maps.tuning.kernels import compiled, heavy_tail, moved, one_unit, precomputed, three_layers

CPU = torch.device("cpu")


def moving_map(kernel, views, n_landmarks, **settings):
    return MovingMap.of(compiled(kernel, views, n_landmarks), CPU, with_weights=settings.pop("with_weights", False))


def two_views(rng, n=30):
    """A view of histograms with zeros under kernels of roots, and one of signed numbers."""
    views = gl.Views({"h": rng.random((n, 5)) * (rng.random((n, 5)) < 0.6), "s": rng.normal(size=(n, 3))})
    kernels = [
        ("h", Hellinger(root=4)),
        ("h", Intersection()),
        ("h", Distance("rows", root=2)),
        ("s", Gaussian(scale=2.0)),
    ]
    fitted = [ViewKernel(v, k.fit(torch.from_numpy(views[v]), generator())) for v, k in kernels]
    layer = Layer([[0.2, 0.3, 0.4, 0.5]], make_activation("exp"))
    return gl.DeepKernel(tuple(fitted), (layer,), views.layout), views


class TestMovableLandmarks:
    def test_starts_from_the_landmarks(self, rng):
        kernel, views = two_views(rng)
        rows = MovableLandmarks.of(kernel.network, views, CPU).rows()
        for name in views.names:
            np.testing.assert_allclose(rows[name], views[name], rtol=1e-6, atol=1e-7)

    def test_stays_within_every_kernels_domain(self, rng):
        kernel, views = two_views(rng)
        landmarks = MovableLandmarks.of(kernel.network, views, CPU)
        for parameters in landmarks.parameters:
            parameters.data -= 10.0
        landmarks.clip_()
        rows = landmarks.rows()
        assert (rows["h"] == 0).all()
        assert (rows["s"] < 0).all()
        kernel.tensor(gl.Views({name: x.numpy() for name, x in rows.items()}), views)  # no DataError

    def test_a_column_that_is_the_same_in_all_landmarks_stays(self, rng):
        kernel, views = two_views(rng)
        some = views[:10]
        some["h"][:, 2], some["s"][:, 1] = 0.0, 7.0
        landmarks = MovableLandmarks.of(kernel.network, some, CPU)
        step = torch.optim.Adam(landmarks.parameters, lr=0.1)
        for parameters in landmarks.parameters:
            parameters.grad = torch.ones_like(parameters)
        landmarks.mend_slopes_()
        step.step()
        rows = landmarks.rows()
        assert (rows["h"][:, 2] == 0).all()
        np.testing.assert_allclose(rows["s"][:, 1], 7.0, rtol=1e-6)
        assert (rows["s"][:, 0].numpy() != some["s"][:, 0]).all()

    def test_gradients_are_finite_at_zeros_and_a_zero_can_be_left(self, rng):
        kernel, views = two_views(rng)
        moving = moving_map(kernel, views, 10)
        phi = moving.features(moving.blocks_of(views[10:]), moving.placed())
        phi.square().sum().backward()
        zeros = torch.from_numpy(views["h"][:10] == 0)
        slopes = moving.landmarks.views["h"].parameters.grad
        assert slopes.isfinite().all()
        assert (slopes[zeros] != 0).any()

    def test_columns_without_spread_keep_their_units(self, rng):
        views = gl.Views({"v": np.column_stack([np.full(20, 3.0), rng.random(20)])})
        landmarks = MovableLandmarks.of(one_unit([Gaussian(scale=1.0)], [1.0], "exp", views).network, views, CPU)
        assert landmarks.views["v"].units[0] == 1.0
        np.testing.assert_allclose(landmarks.rows()["v"], views["v"], rtol=1e-6)

    def test_what_is_restored_is_what_was(self, rng):
        kernel, views = two_views(rng, 40)
        moving = MovingMap.of(compiled(kernel, views, 10), CPU, with_weights=True)
        state, before = moving.state(), moving.placed()
        for parameters in (*moving.landmarks.parameters, *moving.log_weights, moving.log_odds):
            parameters.data += 1.0
        moving.renew_deflation_()
        moving.restore_(state)
        assert torch.equal(moving.placed().factor, before.factor)

    @pytest.mark.parametrize("own", [False, True], ids=["precomputed", "custom"])
    def test_a_kernel_without_a_slope_is_named(self, own, rng):
        kernel, views = precomputed(np.eye(30) + 1.0)
        if own:
            kernel = one_unit([Custom(lambda x, z: x @ z.T + 1.0)], [1.0], "identity", views)
        with pytest.raises(
            gl.DataError, match=rf"the {'custom' if own else 'precomputed'} kernel on view 'number'.*tuning=None"
        ):
            move_landmarks(compiled(kernel, views, 5), views, generator())


class TestFactor:
    def test_is_cholesky_of_the_deflated_gram_matrix(self):
        kernel, views = heavy_tail(n=20)
        moving = moving_map(kernel, views, 20)
        gram = kernel.tensor(views, views)
        assert 0 < moving.deflation < np.linalg.eigvalsh(gram.numpy()).min()
        factor = moving.placed().factor.detach()
        expected = gram - moving.deflation * torch.eye(20)
        torch.testing.assert_close(factor @ factor.T, expected, rtol=1e-4, atol=1e-4)

    def test_the_slope_of_the_deflated_share_is_that_of_differences(self):
        kernel, views = heavy_tail(n=40)
        moving = moving_map(kernel, views, 20)
        rows = moving.blocks_of(views[20:])

        def size(log_odds):
            moving.log_odds.data.fill_(log_odds)
            return moving.features(rows, moving.placed()).square().sum()

        size(0.3).backward()
        with torch.no_grad():
            difference = (size(0.3 + 1e-4) - size(0.3 - 1e-4)) / 2e-4
        torch.testing.assert_close(moving.log_odds.grad, difference, rtol=1e-5, atol=0.0)

    def test_duplicates_and_nearly_equal_landmarks(self, rng):
        points = rng.random((12, 3))
        points[6:9], points[9:] = points[:3], points[:3] + 1e-7
        views = gl.Views(points)
        for kernel in (Gaussian(scale=1.0), Linear(), Polynomial(degree=2)):
            moving = moving_map(one_unit([kernel], [1.0], "identity", views), views, 12)
            placed = moving.placed()
            assert placed.factor.isfinite().all()
            assert moving.deflation < 1e-6  # nothing to take out; rather a little is added
            phi = moving.features(moving.blocks_of(views), placed).detach()
            gram = moving.kernel.tensor(views, views)
            torch.testing.assert_close(phi @ phi.T, gram, rtol=1e-3, atol=1e-3 * gram.max().item())
            phi = moving.features(moving.blocks_of(views), moving.placed())
            phi.sum().backward()
            assert moving.landmarks.parameters[0].grad.isfinite().all()

    def test_landmarks_that_have_moved_together_need_less_deflation(self):
        kernel, views = heavy_tail(n=20)
        moving = moving_map(kernel, views, 20)
        before = moving.deflation
        moving.landmarks.parameters[0].data[1] = moving.landmarks.parameters[0].data[0]
        assert moving.placed().factor.isfinite().all()
        assert moving.deflation < before

    def test_of_a_kernel_that_overflows_is_nan_and_comes_back(self):
        views = gl.Views(np.random.default_rng(0).random((9, 2)))
        moving = moving_map(one_unit([Linear()], [1.0], "exp", views), views, 9)
        moving.landmarks.parameters[0].data *= 1e4
        assert moving.placed().factor.isnan().all()


def loss_of(moving, rows, values):
    """A smooth loss of all pairs: the mean squared difference of inner products and values."""
    phi = moving.features(rows, moving.placed())
    return (phi @ phi.T - values).square().mean()


@pytest.mark.parametrize("case", ["three layers", "two views"])
def test_the_gradient_goes_through_both_sides_of_the_landmarks(case, rng):
    """Against central differences, in float64 throughout."""
    kernel, views = three_layers(n=30) if case == "three layers" else two_views(rng)
    moving = moving_map(kernel, views, 6, with_weights=True)
    for view in moving.landmarks.views.values():
        for name in ("parameters", "units", "centre"):
            getattr(view, name).data = getattr(view, name).data.double()
    moving.log_weights = [w.detach().double().requires_grad_() for w in moving.log_weights]
    rows = {
        name: differentiable_block(torch.from_numpy(views[name][6:]), view.centre)
        for name, view in moving.landmarks.views.items()
    }
    values = kernel.tensor(views[6:], views[6:], torch.float64)
    parameters = [*moving.landmarks.parameters, *moving.log_weights]
    slopes = torch.autograd.grad(loss_of(moving, rows, values), parameters)
    ways = [torch.from_numpy(rng.normal(size=p.shape)) * (p.detach() != 0) for p in parameters]
    step, found = 1e-6, []
    for sign in (1, -1):
        for p, way in zip(parameters, ways, strict=True):
            p.data += sign * step * way
        found.append(loss_of(moving, rows, values).item())
        for p, way in zip(parameters, ways, strict=True):
            p.data -= sign * step * way
    by_differences = (found[0] - found[1]) / (2 * step)
    together = sum((slope * way).sum().item() for slope, way in zip(slopes, ways, strict=True))
    sizes = sum((slope * way).abs().sum().item() for slope, way in zip(slopes, ways, strict=True))
    assert together == pytest.approx(by_differences, abs=1e-5 * sizes)


class TestCompiled:
    def test_is_the_map_with_the_landmarks_as_they_are(self, rng):
        kernel, views = two_views(rng, 40)
        plain = compiled(kernel, views, 10)
        moving = MovingMap.of(plain, CPU, with_weights=False)
        moving.landmarks.parameters[1].data += 0.1
        made = moving.compiled(plain)
        assert made.kernel is kernel
        phi, expected = made.transform(views), moving.features(moving.blocks_of(views), moving.placed()).detach()
        torch.testing.assert_close(phi @ phi.T, expected @ expected.T, rtol=1e-4, atol=1e-4)

    def test_views_that_no_kernel_uses_stay(self, rng):
        views = gl.Views({"unused": rng.random((30, 2)), "v": rng.random((30, 3))})
        kernel = gl.DeepKernel(
            (ViewKernel("v", Gaussian(scale=0.5)),), (Layer([[1.0]], make_activation("exp")),), views.layout
        )
        plain = compiled(kernel, views, 8)
        moving = MovingMap.of(plain, CPU, with_weights=False)
        moving.landmarks.parameters[0].data += 0.1
        tuned = moving.compiled(plain)
        np.testing.assert_array_equal(tuned.landmarks["unused"], plain.landmarks["unused"])
        assert (tuned.landmarks["v"] != plain.landmarks["v"]).any()

    def test_sparse_views_within_the_budget_or_an_error_with_the_number(self, rng):
        dense = rng.random((60, 4000)) * (rng.random((60, 4000)) < 0.01)
        views = gl.Views({"v": sparse.csr_matrix(dense)})
        kernel = one_unit([Linear(), Intersection()], [0.5, 0.5], "exp", views)
        with gl.config_context(memory_budget=6_000_000):
            plain, same = compiled(kernel, views, 8), compiled(kernel, gl.Views({"v": dense}), 8)
            tuned = moved(plain, views, generator(), n_steps=5)
            expected = moved(same, gl.Views({"v": dense}), generator(), n_steps=5)
        torch.testing.assert_close(tuned.map.transform(views), expected.map.transform(gl.Views({"v": dense})))
        for budget, told in (
            (1_200_000, r"moving 8 landmarks of 4,000 numbers needs"),
            (2_400_000, r"43 samples of 4,000 numbers.* needs 671.9 KiB"),
        ):
            with gl.config_context(memory_budget=budget), pytest.raises(gl.MemoryBudgetError, match=told):
                moved(plain, views, generator(), n_steps=1)
