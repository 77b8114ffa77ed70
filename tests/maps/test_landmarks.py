"""Every selector under one contract, and what each of them prefers."""

from collections import Counter
from operator import itemgetter

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.stats import chi2

import gramless as gl
from gramless.maps import landmarks
from gramless.maps.landmarks import SELECTORS, half_dimension_ridge, leverage_scores
from tests.contracts.selectors import (
    AMPLE,
    SelectorContract,
    ThriftySelectorContract,
    deep_kernel,
    kernel_of,
    select,
    two_views,
)
from tests.oracles import maps as oracle

NEEDS_MEMORY = ("kmeans", "rpcholesky", "leverage")


@pytest.mark.parametrize("name", SELECTORS)
class TestEverySelector(SelectorContract):
    pass


@pytest.mark.parametrize("name", NEEDS_MEMORY)
class TestEverySelectorThatNeedsMemory(ThriftySelectorContract):
    pass


def test_every_other_selector_works_in_next_to_no_memory(rng):
    X = two_views(rng, 50)
    for name in set(SELECTORS) - set(NEEDS_MEMORY):
        assert len(select(name, deep_kernel(X), X, 10, budget=1)) == 10


def random_gram(n=5, seed=3):
    factors = np.random.default_rng(seed).normal(size=(n, n)) * np.linspace(0.3, 1.5, n)[:, None]
    return factors @ factors.T


def clustered_gram():
    """Of three samples that explain each other well, and two more."""
    correlations = np.eye(5)
    correlations[:3, :3] = 0.7 + 0.3 * np.eye(3)
    correlations[3, 4] = correlations[4, 3] = -0.8
    sizes = np.array([1.6, 1.5, 1.4, 1.1, 1.0])
    return correlations * np.outer(sizes, sizes)


def check_frequencies(counts, chances):
    """Pearson's statistic, against a quantile that chance exceeds once in a million times (and the seeds are fixed)."""
    n_draws = sum(counts.values())
    assert set(counts) <= set(chances)
    assert min(chances.values()) * n_draws > 5, "too few draws for the chi-square approximation"
    statistic = sum((counts[outcome] - n_draws * p) ** 2 / (n_draws * p) for outcome, p in chances.items())
    assert statistic < chi2.ppf(1 - 1e-6, len(chances) - 1)


def first_rows(name, gram, n_landmarks, n_seeds, n_rows):
    """The first rows that are chosen, in order, for every seed."""
    kernel, X = kernel_of(gram)
    return [tuple(select(name, kernel, X, n_landmarks, seed)[:n_rows].tolist()) for seed in range(n_seeds)]


def test_uniform_draws_every_row_as_often():
    counts = Counter(first_rows("uniform", np.eye(5), 2, 2000, 2))
    check_frequencies(counts, {(i, j): 1 / 20 for i in range(5) for j in range(5) if i != j})


@pytest.mark.parametrize("block", [64, 1])
def test_rpcholesky_draws_pivots_from_the_residual_diagonal(block, monkeypatch):
    """Whether a pivot comes from the same block of proposals as the one before, by rejection, or from the next."""
    monkeypatch.setattr(landmarks, "PROPOSALS", block)
    gram = clustered_gram()
    draws = first_rows("rpcholesky", gram, 3, 800, 3)
    chances = oracle.pivot_distribution(gram, 3)
    for n_pivots, outcome in ((1, itemgetter(0)), (2, itemgetter(0, 1)), (3, frozenset)):
        expected = Counter()
        for pivots, chance in chances.items():
            expected[outcome(pivots)] += chance
        check_frequencies(Counter(map(outcome, draws)), expected)
        left = {pivots: np.trace(oracle.residual(gram, list(pivots[:n_pivots]))) for pivots in chances}
        mean = np.mean([left[pivots] for pivots in draws])
        assert mean <= 1.05 * oracle.expected_residual_bound(gram, n_pivots)


@pytest.mark.parametrize("seed", range(5))
def test_rpcholesky_exhausts_a_kernel_after_as_many_pivots_as_its_rank(seed, rng):
    factors = rng.normal(size=(30, 4))
    gram = factors @ factors.T
    kernel, X = kernel_of(gram)
    chosen = select("rpcholesky", kernel, X, 10, seed).tolist()
    assert np.trace(oracle.residual(gram, chosen[:4])) <= 1e-9 * np.trace(gram)
    assert np.trace(oracle.residual(gram, chosen[:3])) > 1e-3 * np.trace(gram)


@pytest.mark.parametrize("seed", range(5))
def test_rpcholesky_takes_one_of_each_distinct_sample_first(seed, rng):
    X = gl.Views(np.repeat(rng.normal(size=(6, 3)), 4, axis=0))
    chosen = select("rpcholesky", deep_kernel(X), X, 9, seed)
    assert {row // 4 for row in chosen[:6].tolist()} == set(range(6))


def test_rpcholesky_carries_over_what_earlier_blocks_of_proposals_explain(rng):
    """80 distinct samples, three of each: more than there are proposals in a block."""
    factors = np.repeat(rng.normal(size=(80, 100)), 3, axis=0)
    kernel, X = kernel_of(factors @ factors.T)
    chosen = select("rpcholesky", kernel, X, 80)
    assert {row // 3 for row in chosen.tolist()} == set(range(80))


def test_kmeans_takes_a_sample_of_every_cluster(rng):
    centres = np.repeat([[0.0, 9.0], [9.0, 0.0], [-9.0, -9.0]], 10, axis=0)
    X = gl.Views(centres + 0.1 * rng.normal(size=(30, 2)))
    assert {row // 10 for row in select("kmeans", deep_kernel(X), X, 3).tolist()} == {0, 1, 2}


def test_kmeans_does_not_depend_on_the_units_of_a_view(rng):
    X = two_views(rng, 40)
    Z = gl.Views({"a": 2.0**10 * X["a"], "b": 2.0**-10 * X["b"]})
    kernel = deep_kernel(X)
    assert torch.equal(select("kmeans", kernel, X, 6), select("kmeans", kernel, Z, 6))


def ridge_at_half_dimension(gram):
    values = np.linalg.eigvalsh(gram)
    return brentq(lambda r: (values / (values + r)).sum() - len(gram) / 2, 1e-6 * values[-1], values[-1], xtol=1e-14)


def test_leverage_draws_in_proportion_to_exact_ridge_leverage_scores_when_the_pilot_is_everything():
    gram = random_gram()
    scores = oracle.ridge_leverage(gram, ridge_at_half_dimension(gram))
    counts = Counter(first_rows("leverage", gram, 3, 500, 1))
    check_frequencies(counts, {(i,): p for i, p in enumerate(scores / scores.sum())})


@pytest.mark.parametrize("ridge", [1e-3, 0.5, 20.0])
def test_leverage_scores_are_exact_when_the_pilot_is_everything(ridge):
    gram = random_gram(12)
    full = torch.from_numpy(gram)
    kept = full.clone()
    scores = leverage_scores(full.diagonal(), full, full, ridge)
    np.testing.assert_allclose(scores, oracle.ridge_leverage(gram, ridge), rtol=1e-8)
    assert torch.equal(full, kept)


def test_leverage_scores_from_a_pilot_are_near_the_exact_ones(rng):
    factors = rng.normal(size=(300, 3)) * np.where(np.arange(300) % 30 == 0, 4.0, 1.0)[:, None]
    full = torch.from_numpy(factors @ factors.T)
    pilot = rng.permutation(300)[:100]
    scores = leverage_scores(full.diagonal(), full[:, pilot], full[pilot][:, pilot], 100.0)
    np.testing.assert_allclose(scores, oracle.ridge_leverage(full.numpy(), 100.0), rtol=0.5)


def test_leverage_scores_of_an_indefinite_kernel_are_numbers(rng):
    values = 2 * rng.random(30)
    gram = torch.from_numpy(np.tanh(np.outer(values, values)))
    scores = leverage_scores(gram.diagonal(), gram, gram, 1e-6)
    assert scores.isfinite().all()
    assert (scores >= 0).all()


def test_leverage_prefers_what_the_rest_does_not_explain(rng):
    X = gl.Views(np.vstack([0.01 * rng.normal(size=(40, 3)) + 1.0, 3 * np.eye(3)]))
    kernel = deep_kernel(X, ("gaussian",))
    found = Counter(row for seed in range(20) for row in select("leverage", kernel, X, 10, seed).tolist())
    assert min(found[row] for row in (40, 41, 42)) > 2 * np.mean([found[row] for row in range(40)])


def test_the_ridge_halves_the_effective_dimension():
    gram = random_gram(12)
    assert half_dimension_ridge(torch.from_numpy(gram)) == pytest.approx(ridge_at_half_dimension(gram), rel=1e-6)


def test_the_ridge_of_a_singular_matrix_stays_away_from_zero():
    gram = torch.ones(10, 10, dtype=torch.float64)
    assert half_dimension_ridge(gram) >= 1e-8 * 10 * (1 - 1e-9)


def test_selectors_are_functions_of_what_the_protocol_has(rng):
    """tensor and diagonal_tensor, as DeepKernel has them, and nothing more: `select` shows them a wrapper only."""
    X = two_views(rng, 30)
    kernel = deep_kernel(X)
    for name, selector in SELECTORS.items():
        direct = selector(kernel, X, 5, torch.Generator().manual_seed(0), AMPLE)
        assert torch.equal(direct, select(name, kernel, X, 5))
