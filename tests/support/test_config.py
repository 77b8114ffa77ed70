"""Settings of the process and of a context, memory budgets among them."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import gramless as gl
from gramless.engine import Precision
from gramless.support.budget import readable, require, resolve_budget, row_blocks
from gramless.support.config import PRECISIONS, current_budget, with_config

DEFAULTS = {"device": "auto", "memory_budget": None, "precision": "float32"}


@pytest.fixture(autouse=True)
def _as_it_was():
    yield
    gl.set_config(**DEFAULTS)


def test_defaults_and_the_names_that_the_engine_knows():
    assert gl.get_config() == DEFAULTS
    assert set(PRECISIONS) == {precision.value for precision in Precision} | {"float64"}


def test_a_context_holds_for_its_body_and_nests():
    with gl.config_context(device="cpu", memory_budget="1MiB"):
        assert current_budget() == 2**20
        with gl.config_context(memory_budget=None, precision="codes"):
            assert gl.get_config() == {"device": "cpu", "memory_budget": None, "precision": "codes"}
        assert gl.get_config() == {"device": "cpu", "memory_budget": "1MiB", "precision": "float32"}
    assert gl.get_config() == DEFAULTS


def test_an_error_ends_a_context():
    with pytest.raises(ZeroDivisionError), gl.config_context(device="cpu"):
        raise ZeroDivisionError
    assert gl.get_config() == DEFAULTS


def test_the_process_is_set_for_all_threads_and_a_context_for_its_own():
    gl.set_config(memory_budget=1234)
    together = Barrier(2, timeout=120)

    def seen(budget):
        with gl.config_context(memory_budget=budget):
            together.wait()
            found = current_budget()
            together.wait()
        return found, current_budget()

    with ThreadPoolExecutor(2) as pool, gl.config_context(memory_budget=99):
        assert list(pool.map(seen, [5, 6])) == [(5, 1234), (6, 1234)]
        gl.set_config(memory_budget=77, device="cpu")
        assert gl.get_config() == {"device": "cpu", "memory_budget": 99, "precision": "float32"}
        assert pool.submit(current_budget).result() == 77


def test_what_is_asked_for_cannot_be_changed_from_outside():
    gl.get_config()["device"] = "cuda"
    with gl.config_context(device="cpu"):
        gl.get_config()["device"] = "cuda"
        assert gl.get_config()["device"] == "cpu"
    assert gl.get_config() == DEFAULTS


@pytest.mark.parametrize("set_it", [gl.set_config, lambda **wrong: gl.config_context(**wrong).__enter__()])
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        *(("device", bad, "'device' parameter .* one of 'auto'") for bad in ("gpu", "meta", "mps", 5, None, "cuda:x")),
        *(("memory_budget", bad, "memory_budget") for bad in (0, -1, 1.5, float("nan"), b"1")),
        *(("memory_budget", bad, "memory_budget") for bad in ("much", "9" * 400 + "GB", "", "-1", "0", "nan")),
        *(("precision", bad, "'precision' parameter") for bad in ("float8", None, 32)),
    ],
    ids=lambda value: f"{value!s:.15}",
)
def test_what_cannot_be_is_refused_when_it_is_set(set_it, name, value, words):
    with pytest.raises(ValueError, match=words):
        set_it(**{name: value})
    assert gl.get_config() == DEFAULTS


def test_a_setting_that_does_not_exist_is_named():
    for set_it in (gl.set_config, lambda **wrong: gl.config_context(**wrong).__enter__()):
        with pytest.raises(TypeError, match="no setting 'devices'; there are device, memory_budget, precision"):
            set_it(devices="cpu")


def test_a_function_takes_the_settings_of_where_it_was_made_along():
    with gl.config_context(memory_budget=321):
        sent = pickle.dumps(with_config(current_budget))
    assert pickle.loads(sent)() == 321
    assert gl.get_config() == DEFAULTS


def test_settings_travel_to_the_blocks_of_a_cluster(rng):
    da = pytest.importorskip("dask.array")
    blocks = gl.in_blocks({"a": da.from_array(rng.random((6, 2)), chunks=(3, 2))})
    with gl.config_context(memory_budget=4321):
        found = blocks.mapped(budget_of_every_row, None, np.int64, "budgets")
    assert found.compute(scheduler="threads").tolist() == [4321] * 6


def budget_of_every_row(block):
    return np.full(len(block.views), current_budget())


def test_models_do_not_remember_them(rng, tmp_path):
    X = {"a": rng.random((30, 4), dtype=np.float32)}
    with gl.config_context(device="cpu", memory_budget="123MiB", precision="codes"):
        dmn = gl.DeepMapNetwork(gl.DeepKernelNetwork(learning=None), 5, random_state=0).fit(X)
        gl.save(dmn, tmp_path / "model")
    assert b"123MiB" not in (tmp_path / "model").read_bytes()
    np.testing.assert_array_equal(gl.load(tmp_path / "model").transform(X), dmn.transform(X))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("256MiB", 256 << 20),
        ("2 GB", 2_000_000_000),
        ("1.5gib", 3 << 29),
        ("70000", 70_000),
        ("8kb", 8_000),
        (123, 123),
    ],
)
def test_sizes(text, size):
    assert resolve_budget(text) == size


@pytest.mark.parametrize(
    "bad", ["much", "-1", "", 0, -5, "0 MB", "9" * 400 + "GB", float("nan"), float("inf"), torch.zeros(2), b"1"]
)
def test_no_sizes(bad):
    with pytest.raises(ValueError, match="memory_budget"):
        resolve_budget(bad)


def test_a_quarter_of_what_is_free_by_default():
    assert 0 < resolve_budget(None) < psutil.virtual_memory().total / 4


@given(n=st.integers(1, 500), per_row=st.integers(1, 100), budget=st.integers(1, 5_000))
def test_blocks_cover_every_row_once_within_the_budget(n, per_row, budget):
    blocks = list(row_blocks(n, per_row, budget))
    assert [i for block in blocks for i in range(n)[block]] == list(range(n))
    assert all((b.stop - b.start) * per_row <= budget or b.stop - b.start == 1 for b in blocks)


def test_a_refusal_says_what_how_much_and_what_to_do():
    with pytest.raises(gl.MemoryBudgetError, match=r"A map needs 1.5 GiB, and the memory budget is 1.0 KiB. Use less."):
        require(3 << 29, 1024, what="A map", remedy="Use less.")
    require(1024, 1024, what="A map", remedy="Use less.")


def test_readable():
    assert [readable(s) for s in (10, 2048, 5 << 20, 3 << 29)] == ["10 bytes", "2.0 KiB", "5.0 MiB", "1.5 GiB"]
