"""What a collapsed map keeps between calls: prepared once, the same numbers, and never in the way."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.maps.collapsed import FEW
from tests.networks import random_kernel, random_views


@pytest.fixture(params=[np.float32, np.float64], ids=str)
def fitted(request, rng):
    X = random_views(rng, 300, (12, 7), request.param)
    kernel = random_kernel(rng, X, (5,), ("tanh", "exp"))
    return gl.DeepMapNetwork(kernel, 40, random_state=0).fit(X), X


@pytest.fixture
def prepared(monkeypatch):
    """How many samples evaluators were prepared for, one after the other."""
    seen, evaluator = [], gl.DeepKernel.evaluator

    def watched(self, Z, *rest, **settings):
        seen.append(len(Z))
        return evaluator(self, Z, *rest, **settings)

    monkeypatch.setattr(gl.DeepKernel, "evaluator", watched)
    return seen


def test_landmarks_are_prepared_once(fitted, prepared):
    dmn, X = fitted
    deep_map = replace(dmn.map_)
    for n in (1, 2, FEW, FEW + 1, 300, 1):
        deep_map.transform(X[:n])
    assert prepared == [40]


def test_few_samples_and_many_have_the_same_vectors(fitted):
    dmn, X = fitted
    tolerance = {"rtol": 0, "atol": 1e-5 if X.numpy_dtype == np.float32 else 1e-12}
    whole = replace(dmn.map_).transform(X)
    for n in (1, 3, FEW, FEW + 1):
        torch.testing.assert_close(dmn.map_.transform(X[:n]), whole[:n], **tolerance)
        assert torch.equal(dmn.map_.transform(X[:n]), replace(dmn.map_).transform(X[:n]))


def test_another_precision_or_budget_is_prepared_anew_and_the_old_one_dropped(fitted, prepared):
    dmn, X = fitted
    deep_map = replace(dmn.map_)
    exact = deep_map.transform(X[:3])
    with gl.config_context(precision="codes"):
        deep_map.transform(X[:3])
    assert torch.equal(deep_map.transform(X[:3]), exact)
    assert prepared == [40, 40, 40]


def test_where_the_budget_cuts_the_landmarks_nothing_is_kept(fitted, prepared):
    dmn, X = fitted
    deep_map = replace(dmn.map_)
    expected = deep_map.transform(X)
    del prepared[:]
    with gl.config_context(memory_budget="24 KB"):
        for _ in range(2):
            torch.testing.assert_close(deep_map.transform(X), expected, rtol=0, atol=1e-5)
    assert max(prepared) < 40


def test_a_copy_elsewhere_prepares_its_own(fitted, prepared):
    dmn, X = fitted
    deep_map = replace(dmn.map_)
    unused = len(pickle.dumps(deep_map))
    expected = deep_map.transform(X[:5])
    assert len(pickle.dumps(deep_map)) == unused
    for copy in (pickle.loads(pickle.dumps(deep_map)), deepcopy(deep_map), replace(deep_map)):
        assert torch.equal(copy.transform(X[:5]), expected)
    assert prepared == [40] * 4


def test_it_is_not_in_files(fitted, tmp_path):
    dmn, X = fitted
    gl.save(replace(dmn.map_), tmp_path / "unused")
    dmn.transform(X[:1])
    gl.save(dmn.map_, tmp_path / "used")
    assert (tmp_path / "unused").read_bytes() == (tmp_path / "used").read_bytes()


def test_threads_share_it(fitted):
    dmn, X = fitted
    expected = [replace(dmn.map_).transform(X[i : i + 1]) for i in range(30)]
    deep_map = replace(dmn.map_)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: deep_map.transform(X[i : i + 1]), range(30)))
    assert all(map(torch.equal, found, expected))


def test_samples_that_cannot_be_are_refused_as_ever(rng):
    X = {"a": rng.random((30, 4), dtype=np.float32)}
    dmn = gl.DeepMapNetwork(gl.DeepKernelNetwork(("intersection",), learning=None), 10, random_state=0).fit(X)
    dmn.transform({"a": X["a"][:1]})
    with pytest.raises(gl.DataError, match=r"view 'a'.*[Nn]egative"):
        dmn.transform({"a": -X["a"][:1]})
