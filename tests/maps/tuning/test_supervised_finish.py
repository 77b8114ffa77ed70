"""The last steps with labels: the leave-one-out error by really leaving out, and labels of every kind."""

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.maps.tuning import finish_with_labels, supervised_finish
from gramless.maps.tuning.supervised_finish import Descent, kernel_predictions
from gramless.support.progress import ProgressBar
from tests.contracts.samples import generator
from tests.maps.tuning.kernels import compiled, heavy_tail, three_layers


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(supervised_finish, "MAX_STEPS", 8)
    monkeypatch.setattr(supervised_finish, "CHECK_EVERY", 4)


@pytest.fixture
def case():
    kernel, views = three_layers(n=60)
    signs = torch.from_numpy(np.where(np.asarray(views)[:, :3] > 0.5, 1, -1))
    return compiled(kernel, views, 10), views, signs


def agreement(scores, signs):
    return ((scores > 0) == (signs > 0)).double().mean().item()


def ridge_without(phi, targets, ridge, i):
    """What linear ridge regression on all samples but one says of that one."""
    kept = [j for j in range(len(phi)) if j != i]
    A = phi[kept].T @ phi[kept] + ridge * np.eye(phi.shape[1])
    return phi[i] @ np.linalg.solve(A, phi[kept].T @ targets[kept])


def test_leverages_stand_for_really_leaving_out(case, monkeypatch):
    deep_map, views, signs = case
    descent = Descent(deep_map, views, signs)
    with torch.no_grad():
        phi = descent.moving.features(descent.rows, descent.moving.placed()).numpy()
    targets, ridge = descent.targets.numpy(), descent.log_ridge.exp().item()
    missed = [targets[i] - ridge_without(phi, targets, ridge, i) for i in range(len(phi))]
    minimised = []
    backward = torch.Tensor.backward
    monkeypatch.setattr(torch.Tensor, "backward", lambda self: minimised.append(self.item()) or backward(self))
    descent.step()
    assert minimised == [pytest.approx(np.square(missed).mean(), rel=1e-9)]


def test_the_kernels_own_predictions_are_of_kernels_without_the_sample(case):
    deep_map, views, signs = case
    targets = signs.double() - signs.double().mean(0)
    found = kernel_predictions(deep_map, views, targets).numpy()
    gram, y = deep_map.kernel(views).astype(np.float64), targets.numpy()
    by_ridge = []
    for ridge in supervised_finish.RIDGES:
        said = []
        for i in range(len(y)):
            kept = [j for j in range(len(y)) if j != i]
            H = gram[np.ix_(kept, kept)] + ridge * gram.diagonal().mean() * np.eye(len(kept))
            said.append(gram[i, kept] @ np.linalg.solve(H, y[kept]))
        by_ridge.append(np.array(said))
    best = min(by_ridge, key=lambda said: np.square(y - said).mean())
    np.testing.assert_allclose(found, best, atol=1e-3)


def test_steps_lower_what_is_minimised(case, monkeypatch):
    monkeypatch.setattr(supervised_finish, "STEP_SIZE", 0.02)  # longer ones need not lower it each time
    descent = Descent(*case)
    losses = []
    backward = torch.Tensor.backward
    monkeypatch.setattr(torch.Tensor, "backward", lambda self: losses.append(self.item()) or backward(self))
    with ProgressBar("", 8) as progress:
        assert descent.run(8, progress) == ()
    assert losses == sorted(losses, reverse=True)


def test_as_many_steps_as_rank_best_and_on_all_samples(case):
    deep_map, views, signs = case
    rankings = iter([0.1, 0.9, 0.5])
    finished = finish_with_labels(deep_map, views, signs, lambda *_: next(rankings), generator())
    assert finished.curve == ((0, 0.1), (4, 0.9), (8, 0.5))
    assert finished.map is not deep_map
    order = torch.randperm(60, generator=generator())
    expected = Descent(deep_map, views[order], signs[order])
    with ProgressBar("", 4) as progress:
        expected.run(4, progress)
    assert torch.equal(finished.map.transform(views), expected.moving.compiled(deep_map).transform(views))


def test_no_steps_return_the_very_map(case):
    deep_map, views, signs = case
    for ranking in (lambda *_: 0.5, iter([0.9, 0.5, 0.5]).__next__):
        finished = finish_with_labels(deep_map, views, signs, lambda *_, ranking=ranking: ranking(), generator())
        assert finished.map is deep_map


@pytest.mark.parametrize("at", [1, 14], ids=["while it is tried", "while it is done"])
def test_ctrl_c_leaves_the_map_as_it_was(case, at, monkeypatch):
    deep_map, views, signs = case
    steps, step = [], Descent.step

    def interrupted(self):
        steps.append(1)
        if len(steps) == at:
            raise KeyboardInterrupt
        step(self)

    monkeypatch.setattr(Descent, "step", interrupted)
    rankings = iter([0.1, 0.5, 0.9, 0.8])
    finished = finish_with_labels(deep_map, views, signs, lambda *_: next(rankings), generator())
    assert len(steps) == at
    assert finished.map is deep_map


@pytest.mark.parametrize("kind", ["one positive", "more labels than samples", "one class", "nobody has it"])
def test_labels_of_every_kind(kind, case):
    deep_map, views, _ = case
    signs = -torch.ones(60, {"more labels than samples": 90}.get(kind, 2), dtype=torch.int64)
    if kind == "one positive":
        signs[17, 0] = 1
    elif kind == "more labels than samples":
        signs[torch.arange(60), torch.arange(60)] = 1
    elif kind == "one class":
        signs[:] = 1
    finished = finish_with_labels(deep_map, views, signs, agreement, generator())
    assert finished.map.transform(views).isfinite().all()


def test_few_samples_and_the_budget(case):
    deep_map, views, signs = case
    for n in (2, 5):
        assert (
            finish_with_labels(deep_map, views[:n], signs[:n], agreement, generator())
            .map.transform(views)
            .isfinite()
            .all()
        )


def test_fewer_samples_than_there_are_because_of_the_budget_are_said(case):
    """By default the budget is a share of what is free, which differs from day to day."""
    deep_map, views, signs = case
    budget = 40 * 50**2
    words = "moving landmarks with labels takes 50 samples instead of 60: the memory budget"
    with gl.config_context(memory_budget=budget), pytest.warns(UserWarning, match=words):
        finish_with_labels(deep_map, views, signs, agreement, generator())


def test_what_overflows_ranks_last(case):
    descent = Descent(*case)
    descent.moving.landmarks.parameters[0].data *= torch.nan
    assert descent.judged(case[1], case[2], agreement) == -np.inf


@pytest.mark.parametrize("n_components", [None, 5])
def test_components_and_types_are_kept(n_components):
    kernel, views = heavy_tail(n=60)
    signs = torch.where(torch.from_numpy(np.asarray(views)[:, :1]) > 0, 1, -1)
    deep_map = compiled(kernel, views, 10, n_components)
    rankings = iter([0.1, 0.2, 0.3])
    finished = finish_with_labels(deep_map, views, signs, lambda *_: next(rankings), generator())
    assert finished.map.transform(views).shape == (60, n_components or 10)
    assert finished.map.dtype == torch.float64
    assert finished.map.kernel.layers[0].weights.shape == kernel.layers[0].weights.shape
    assert (finished.map.kernel.layers[0].weights > 0).all()


def test_a_score_depends_continuously_on_the_features(rng):
    X = rng.random((120, 6))
    y = (X[:, 0] > 0.5).astype(int)
    classifier = gl.DeepMapClassifier(gl.DeepKernelNetwork(("gaussian",), learning=None), 20, random_state=0).fit(X, y)
    rows = classifier.map_network_.landmark_indices_
    nearly = X.copy()
    nearly[rows] = np.nextafter(nearly[rows], 2.0)
    plain, moved = classifier.decision_function(X), classifier.decision_function(nearly)
    np.testing.assert_allclose(moved, plain, rtol=0, atol=1e-9 * np.abs(plain).max())
