"""All SVM duals at once, against LIBSVM label by label."""

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import gramless as gl
from gramless.learning import box, solve_svm_duals, svm_dual
from tests import tolerances
from tests.oracles import learning as oracle


def problem(seed, n=40, n_labels=3, rank=6):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, rank))
    gram = np.exp(-0.5 * ((x[:, None] - x[None]) ** 2).sum(2) / rank).astype(np.float32)
    scores = x @ rng.normal(size=(rank, n_labels)) + 0.5 * rng.normal(size=(n, n_labels))
    limits = [
        np.quantile(column, share) for column, share in zip(scores.T, rng.uniform(0.4, 0.9, n_labels), strict=True)
    ]
    signs = np.where(scores > limits, 1.0, -1.0).T
    return torch.from_numpy(gram), torch.from_numpy(signs.astype(np.float32))


def float32_limit(gram, alpha, upper):
    """The least difference of primal and dual that float32 can promise for one label, in units of the objective.

    A classifier's output, a sum of n terms alpha_j y_j K_ij, may be off by e = gamma_n max K sum alpha; pairs that
    violate by no more than eps max K sum alpha stay. A sample whose margin is off by e costs C_i e at most.
    """
    outputs = gram.max().item() * alpha.double().sum().item()
    eps = torch.finfo(torch.float32).eps
    return (tolerances.of_sum(len(gram), np.float32) + eps) * outputs * upper.double().sum().item()


@given(seed=st.integers(0, 10_000), C=st.sampled_from([0.01, 1.0, 10.0]), weighted=st.booleans())
@example(seed=312, C=10.0, weighted=True)  # stopped at a tolerance above what float32 can tell apart: a gap of 2.4e-4
@example(seed=108, C=10.0, weighted=True)
def test_values_coefficients_and_bias_are_libsvms(seed, C, weighted):
    gram, signs = problem(seed)
    upper = box(signs, C) * torch.where(signs > 0, 5.0, 1.0) if weighted else box(signs, C)
    solution = solve_svm_duals(gram, signs, upper, gap=2e-4)
    exact_gram = gram.double().numpy()
    for label in range(len(signs)):
        sign, limits = signs[label].double().numpy(), upper[label].double().numpy()
        coefficients = solution.coefficients[label].double().numpy()
        primal = oracle.svm_primal(exact_gram, sign, limits, coefficients, solution.bias[label].item())
        theirs, _, value = oracle.svm_dual(exact_gram, sign, limits)
        rounding = float32_limit(gram, solution.alpha[label], upper[label])
        promised = solution.gaps[label].item() * primal + rounding
        assert solution.gaps[label] * primal <= max(2e-4 * primal, rounding)
        assert value * (1 - 1e-9) <= primal <= value + promised
        assert solution.values[label].item() == pytest.approx(value, abs=promised)
        difference = coefficients - theirs
        assert difference @ exact_gram @ difference / 2 <= promised  # the dual is that much of a parabola


def drift(solution, C):
    """How far steps, each of which rounds two numbers up to C, go from y'alpha = 0: they round up as often as down."""
    return 4 * (2 * solution.n_steps) ** 0.5 * tolerances.rounding(np.float32) * C


def test_the_last_round_goes_down_to_what_float32_can_tell_apart(monkeypatch):
    """It had ended up to four times above."""
    gram, signs = problem(312)
    upper = box(signs, 10.0)
    tolerances_used = []
    improve = svm_dual.improve
    monkeypatch.setattr(svm_dual, "improve", lambda *a: tolerances_used.append(a[5]) or improve(*a))
    alpha = solve_svm_duals(gram, signs, upper, gap=1e-12).alpha
    told_apart = torch.finfo(torch.float32).eps * gram.max() * alpha.sum(1).max()
    assert tolerances_used[-1] == pytest.approx(told_apart.item(), rel=1e-2)


@given(seed=st.integers(0, 10_000))
@example(seed=592)  # a million steps below what float32 can tell apart had gathered y'alpha = -0.5
def test_a_huge_box_is_solved_as_far_as_float32_goes(seed):
    gram, signs = problem(seed)
    upper = box(signs, 500.0)
    solution = solve_svm_duals(gram, signs, upper, gap=1e-8)  # out of reach: it must end all the same
    exact = [oracle.svm_dual(gram.double().numpy(), y.numpy(), u.numpy())[2] for y, u in zip(signs, upper, strict=True)]
    np.testing.assert_allclose(solution.values, exact, rtol=3e-3)
    np.testing.assert_allclose((solution.alpha.double() * signs).sum(1), 0.0, atol=drift(solution, 500.0))


@given(seed=st.integers(0, 10_000))
def test_every_solution_is_feasible(seed):
    gram, signs = problem(seed)
    upper = box(signs, 0.5)
    solution = solve_svm_duals(gram, signs, upper)
    alpha = solution.alpha
    assert (alpha >= 0).all()
    assert (alpha <= upper).all()
    np.testing.assert_allclose((alpha.double() * signs).sum(1), 0.0, atol=drift(solution, 0.5))


def test_a_tighter_gap_is_reached_and_a_warm_start_takes_fewer_steps():
    gram, signs = problem(1, n=150, n_labels=5)
    upper = box(signs, 2.0)
    loose, tight = (solve_svm_duals(gram, signs, upper, gap=gap) for gap in (1e-1, 1e-4))
    assert tight.gaps.max() <= 1e-4
    assert (tight.values >= loose.values - 1e-6).all()
    again = solve_svm_duals(gram, signs, upper, gap=1e-4, start=tight.alpha)
    assert again.n_steps < tight.n_steps / 5
    moved = solve_svm_duals(gram * 1.02, signs, upper / 2, gap=1e-4, start=tight.alpha)  # start is outside the new box
    cold = solve_svm_duals(gram * 1.02, signs, upper / 2, gap=1e-4)
    np.testing.assert_allclose(moved.values, cold.values, rtol=1e-3)


def test_a_label_without_positives_or_negatives_answers_its_sign():
    gram, signs = problem(3)
    signs[0], signs[1] = -1.0, 1.0
    solution = solve_svm_duals(gram, signs, box(signs, 1.0))
    assert not solution.alpha[:2].any()
    np.testing.assert_array_equal(solution.bias[:2], [-1.0, 1.0])
    assert solution.alpha[2].any()


def test_one_positive_contradictory_duplicates_and_a_flat_kernel():
    gram, signs = problem(4)
    signs[0] = -1.0
    signs[0, 7] = 1.0
    gram[:, 1], gram[1, :] = gram[:, 0], gram[0, :]  # samples 0 and 1 coincide ...
    gram[1, 1] = gram[0, 0]
    signs[1, :2] = torch.tensor([1.0, -1.0])  # ... and contradict each other
    upper = box(signs, 3.0)
    solution = solve_svm_duals(gram, signs, upper, gap=1e-4)
    for label in range(2):
        exact = oracle.svm_dual(gram.double().numpy(), signs[label].numpy(), upper[label].numpy())
        assert solution.values[label].item() == pytest.approx(exact[2], rel=1e-3)
    flat = solve_svm_duals(torch.ones_like(gram), signs, upper)
    assert flat.values.isfinite().all()
    assert flat.gaps.max() < 1e-2


def test_the_same_bits_every_time():
    gram, signs = problem(5, n=120, n_labels=6)
    first, second = (solve_svm_duals(gram, signs, box(signs, 1.0)) for _ in range(2))
    assert torch.equal(first.alpha, second.alpha)


def test_what_cannot_be_is_said():
    gram, signs = problem(6)
    with pytest.raises(ValueError, match="C must be positive"):
        box(signs, 0.0)
    with pytest.raises(gl.DataError, match="40 samples have signs"):
        solve_svm_duals(gram[:30, :30], signs, box(signs, 1.0))
    with pytest.raises(TypeError, match="float32"):
        solve_svm_duals(gram.double(), signs, box(signs, 1.0))
    with pytest.raises(ValueError, match="positive upper bound"):
        solve_svm_duals(gram, signs, torch.zeros_like(signs))
