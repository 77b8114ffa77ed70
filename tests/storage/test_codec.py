"""Arrays in files: mostly zeros are packed, all come back bit for bit, and parts that do not fit are refused."""

import json
import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import gramless as gl
from gramless.storage import FORM, FORM_VERSION
from gramless.storage.codec import PACKED_BYTES, Decoder, Encoder
from gramless.support.array_file import write_array_file
from gramless.views import Views

TYPES = {np.float16: np.uint16, np.float32: np.uint32, np.float64: np.uint64}


def there_and_back(value):
    encoder = Encoder()
    tree = json.loads(json.dumps(encoder.encode(value)))
    return Decoder(encoder.arrays, {}, stored_bytes(encoder)).decode(tree), encoder


def stored_bytes(encoder):
    return sum(array.nbytes for array in encoder.arrays.values())


def histograms(rng, shape=(60, 500), share=0.05, dtype=np.float32):
    return np.where(rng.random(shape) < share, rng.random(shape), 0.0).astype(dtype)


def same_bits(found, expected):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(3001,), (60, 57), (3, 1, 1009), (1, 8000)])
def test_an_array_of_mostly_zeros_takes_little_room_and_comes_back(rng, shape, dtype):
    array = histograms(rng, shape, dtype=dtype)
    found, encoder = there_and_back(array)
    same_bits(found, array)
    n_values = sum(1 for number in array.flat if number != 0)
    assert stored_bytes(encoder) == -(-array.size // 8) + n_values * array.itemsize
    found.flat[0] = 7  # a plain array of its own


def test_what_would_not_shrink_stays_plain(rng):
    small = np.zeros(PACKED_BYTES // 4 - 1, dtype=np.float32)
    for array in (rng.random((70, 70)), histograms(rng, share=0.8), np.zeros((90, 90), dtype=np.int64), small):
        found, encoder = there_and_back(array)
        same_bits(found, array)
        assert [plain.shape for plain in encoder.arrays.values()] == [array.shape]
    assert stored_bytes(there_and_back(np.zeros(PACKED_BYTES // 4, dtype=np.float32))[1]) == PACKED_BYTES // 32


@pytest.mark.parametrize("dtype", TYPES)
def test_negative_zeros_and_every_nan_keep_their_bits(dtype):
    width = 8 * np.dtype(dtype).itemsize
    quiet, infinity = (int(np.array(number, dtype=dtype).view(TYPES[dtype])) for number in (np.nan, np.inf))
    signalling = infinity | 1
    array = np.zeros(5000, dtype=dtype)
    bits = array.view(TYPES[dtype])
    bits[[3, 400, 2047]] = [1 << (width - 1), quiet | 0b101, signalling]  # -0.0, a payload, a signalling NaN
    array[[5, 6, 4999]] = [np.inf, -np.inf, np.finfo(dtype).smallest_subnormal]
    found, encoder = there_and_back(array)
    assert len(encoder.arrays) == 2
    same_bits(found, array)


@given(
    array=arrays(
        st.sampled_from(list(TYPES)),
        array_shapes(max_dims=3, max_side=9),
        elements=st.sampled_from([0.0, 0.0, 0.0, -0.0, 1.5, float("nan"), float("-inf")]),
        fill=st.just(0.0),
    ),
    repeats=st.integers(1, 40),
)
def test_any_array_comes_back(array, repeats):
    array = np.concatenate([array] * repeats, axis=-1)
    same_bits(there_and_back(array)[0], array)


@pytest.mark.parametrize("view", ["transposed", "strided", "fortran", "nothing", "scalar", "big-endian"])
def test_memory_in_any_order(rng, view):
    array = histograms(rng, (90, 70))
    array = {
        "transposed": array.T,
        "strided": array[::3, ::-2],
        "fortran": np.asfortranarray(array),
        "nothing": array[:0],
        "scalar": np.array(2.5),
        "big-endian": array.astype(">f4"),
    }[view]
    found, _ = there_and_back(array)
    same_bits(found, array)


def test_tensors_and_views_are_packed_too_and_what_occurs_twice_is_stored_once(rng):
    block = histograms(rng)
    tensor = torch.from_numpy(histograms(rng))
    found, encoder = there_and_back([block, block, tensor, tensor, Views({"colours": block})])
    same_bits(found[0], block)
    same_bits(found[1], block)
    assert torch.equal(found[2], tensor)
    assert found[2].dtype == tensor.dtype
    same_bits(np.asarray(found[4]["colours"]), block)
    assert len(encoder.arrays) == 4
    assert found[0] is found[1]
    assert found[2] is found[3]
    assert np.shares_memory(found[0], np.asarray(found[4]["colours"]))


def test_packing_needs_less_memory_than_the_array(rng):
    array = histograms(rng, (1000, 2000))
    tracemalloc.start()
    try:
        Encoder().encode(array)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.6 * array.nbytes


def test_a_fitted_map_with_packed_landmarks_survives_a_file(rng, tmp_path):
    X = {"colours": histograms(rng, (60, 400)), "shapes": rng.random((60, 5))}
    dmn = gl.DeepMapNetwork(gl.DeepKernelNetwork(hidden=(3,), learning=None, random_state=0), 40, random_state=0).fit(X)
    gl.save(dmn, tmp_path / "m")
    np.testing.assert_array_equal(gl.load(tmp_path / "m").transform(X), dmn.transform(X))
    assert (tmp_path / "m").stat().st_size < 40 * 400 * 4


MASK, VALUES = np.packbits(np.arange(20) % 5 == 0), np.arange(1.0, 5.0)
DAMAGE = {
    "mask too short": (MASK[:-1], VALUES, [4, 5]),
    "mask too long": (np.append(MASK, MASK), VALUES, [4, 5]),
    "mask of two dimensions": (MASK[:, None], VALUES, [4, 5]),
    "mask of another type": (MASK.astype(np.int32), VALUES, [4, 5]),
    "no mask": (MASK[:0], VALUES, [4, 5]),
    "a value missing": (MASK, VALUES[:-1], [4, 5]),
    "a value too many": (MASK, np.append(VALUES, 1.0), [4, 5]),
    "values of two dimensions": (MASK, VALUES[:, None], [4, 5]),
    "another shape": (MASK, VALUES, [4, 50]),
    "a shape of terabytes": (MASK, VALUES, [10**7, 10**7]),
    "a negative shape": (MASK, VALUES, [-4, -5]),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("kind", ["$array", "$tensor"])
def test_parts_that_do_not_fit_together_are_refused(damage, kind, tmp_path):
    def write(mask, values, shape):
        layer = {"weights": {kind: ["array0", "array1", shape]}, "activation": {"$value": ["Tanh", {}]}}
        model = json.dumps({"$value": ["Layer", layer]})
        arrays = {"array0": mask, "array1": values}
        write_array_file(tmp_path / "m", FORM, FORM_VERSION, arrays, {"model": model})
        return gl.load(tmp_path / "m")

    whole = np.where(np.arange(20) % 5 == 0, np.arange(20) // 5 + 1.0, 0.0)
    np.testing.assert_array_equal(np.asarray(write(MASK, VALUES, [4, 5]).weights), whole.reshape(4, 5))
    with pytest.raises(gl.FileFormatError, match=r"the file is damaged.*Save the model again|many times its size"):
        write(*DAMAGE[damage])


@pytest.mark.parametrize(
    ("dtype", "items"),
    [("|V8", []), ("<f8,<i4", []), ("<M8[s]", []), (">f8", [1.0]), ("|S3", []), ("|O", [[1]]), ("|O", [{"a": 1}])],
    ids=str,
)
def test_lists_become_arrays_of_texts_or_of_plain_objects_and_no_others(dtype, items):
    """Whatever class the array is for."""
    with pytest.raises(gl.FileFormatError, match="unknown type"):
        Decoder({}, {}, 1000).decode({"$array": {"dtype": dtype, "items": items}})


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [
        ([0, 400_000_000], [0, 1, 2]),
        ([0, -9], [0, 1, 2]),
        ([0, 1], [0, 2, 1]),
        ([0, 1], [0, 1, 900]),
        ([0, 1], [1, 1, 2]),
    ],
    ids=["beyond", "before", "back", "end", "start"],
)
def test_a_sparse_matrix_is_checked_where_it_is_made(indices, indptr):
    """Whatever class it is for: scipy would write outside of its memory."""
    parts = {"data": np.ones(2), "indices": np.array(indices), "indptr": np.array(indptr)}
    tree = {"$csr": [*({"$array": name} for name in parts), [2, 3]]}
    with pytest.raises(ValueError, match="ind"):
        Decoder(parts, {}, 1000).decode(tree)
    good = parts | {"indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}
    assert Decoder(good, {}, 1000).decode(tree).toarray().tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
