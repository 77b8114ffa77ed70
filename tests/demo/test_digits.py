"""The views of the digits against descriptions written picture by picture, pixel by pixel."""

import cmath
import math

import numpy as np
import pytest

from gramless.demo.digits import DESCRIPTIONS, describe_pictures, load_digits_views

WIDTHS = {
    "pixels": 64,
    "fourier": 40,
    "gradients": 72,
    "projections": 46,
    "binary patterns": 64,
    "borders": 32,
    "co-occurrences": 64,
}


def slow_pixels(ink):
    return [ink[i][j] for i in range(8) for j in range(8)]


def slow_fourier(ink):
    magnitudes = []
    for u in range(8):
        for v in range(5):
            terms = (ink[i][j] * cmath.exp(-2j * cmath.pi * (u * i + v * j) / 8) for i in range(8) for j in range(8))
            magnitudes.append(abs(sum(terms)) / 8)
    return magnitudes


def slope(before, here, after):
    """Central difference, one-sided at the edge of the picture."""
    if before is None:
        return after - here
    return here - before if after is None else (after - before) / 2


def slow_gradients(ink):
    def at(i, j):
        return ink[i][j] if 0 <= i < 8 and 0 <= j < 8 else None

    features = []
    for top in (0, 2, 4):
        for left in (0, 2, 4):
            histogram = [0.0] * 8
            for i in range(top, top + 4):
                for j in range(left, left + 4):
                    down = slope(at(i - 1, j), at(i, j), at(i + 1, j))
                    right = slope(at(i, j - 1), at(i, j), at(i, j + 1))
                    degrees = math.degrees(math.atan2(down, right)) % 360
                    histogram[round(degrees / 45) % 8] += math.hypot(down, right)
            features += [math.sqrt(mass) for mass in histogram]
    return features


def slow_projections(ink):
    rows = [sum(ink[i][j] for j in range(8)) / 8 for i in range(8)]
    columns = [sum(ink[i][j] for i in range(8)) / 8 for j in range(8)]
    falling = [sum(ink[i][j] for i in range(8) for j in range(8) if j - i == k) / 8 for k in range(-7, 8)]
    rising = [sum(ink[i][j] for i in range(8) for j in range(8) if j + i - 7 == k) / 8 for k in range(-7, 8)]
    return rows + columns + falling + rising


def slow_binary_patterns(ink):
    def at(i, j):
        return ink[i][j] if 0 <= i < 8 and 0 <= j < 8 else 0.0

    features = []
    for top in (0, 4):
        for left in (0, 4):
            histogram = [0.0] * 16
            for i in range(top, top + 4):
                for j in range(left, left + 4):
                    neighbours = (at(i - 1, j), at(i + 1, j), at(i, j - 1), at(i, j + 1))
                    code = sum(2**bit for bit, neighbour in enumerate(neighbours) if neighbour > ink[i][j])
                    histogram[code] += 1 / 16
            features += histogram
    return features


def slow_borders(ink):
    def distance(line):
        for step, value in enumerate(line):
            if value >= 0.25:
                return step / 8
        return 1.0

    rows = [[ink[i][j] for j in range(8)] for i in range(8)]
    columns = [[ink[i][j] for i in range(8)] for j in range(8)]
    lines = rows + [row[::-1] for row in rows] + columns + [column[::-1] for column in columns]
    return [distance(line) for line in lines]


def slow_co_occurrences(ink):
    def grey(value):
        return 3 if value >= 0.75 else 2 if value >= 0.5 else 1 if value >= 0.25 else 0

    features = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        pairs = [
            (grey(ink[i][j]), grey(ink[i + down][j + right]))
            for i in range(8)
            for j in range(8)
            if 0 <= i + down < 8 and 0 <= j + right < 8
        ]
        features += [pairs.count((a, b)) / len(pairs) for a in range(4) for b in range(4)]
    return features


ORACLES = {
    "pixels": slow_pixels,
    "fourier": slow_fourier,
    "gradients": slow_gradients,
    "projections": slow_projections,
    "binary patterns": slow_binary_patterns,
    "borders": slow_borders,
    "co-occurrences": slow_co_occurrences,
}


@pytest.fixture(scope="module")
def digits():
    return load_digits_views()


@pytest.fixture(scope="module")
def pictures(digits):
    """Some digits, sixteenths drawn at random, a blank picture, a full one, and one with a single dot."""
    drawn = np.random.default_rng(0).integers(0, 17, size=(10, 8, 8)) / 16
    dot = np.zeros((8, 8))
    dot[7, 0] = 1.0
    return np.concatenate([digits.images[:20], drawn, [np.zeros((8, 8)), np.ones((8, 8)), dot]]).astype(np.float32)


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_view_equals_its_slow_description(name, pictures):
    expected = [ORACLES[name](picture.astype(float).tolist()) for picture in pictures]
    np.testing.assert_allclose(DESCRIPTIONS[name](pictures), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", DESCRIPTIONS)
@pytest.mark.parametrize("ink", [0.0, 1.0], ids=["blank", "full"])
def test_blank_and_full_pictures_have_finite_nonnegative_views(name, ink):
    features = DESCRIPTIONS[name](np.full((2, 8, 8), ink, dtype=np.float32))
    assert np.isfinite(features).all()
    assert features.min() >= 0


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_picture_is_described_alike_alone_and_among_others(name, pictures):
    alone = np.concatenate([DESCRIPTIONS[name](picture[None]) for picture in pictures])
    np.testing.assert_allclose(alone, DESCRIPTIONS[name](pictures), rtol=1e-6, atol=1e-6)


def test_fourier_magnitudes_do_not_see_where_the_digit_stands(pictures):
    shifted = np.roll(pictures, (3, 5), axis=(1, 2))
    np.testing.assert_allclose(DESCRIPTIONS["fourier"](shifted), DESCRIPTIONS["fourier"](pictures), atol=1e-5)


def test_describing_changes_nothing_of_the_callers(pictures):
    before = pictures.copy()
    describe_pictures(pictures)
    np.testing.assert_array_equal(pictures, before)


def test_digits_have_seven_nonnegative_float32_views(digits):
    assert digits.views.layout == WIDTHS
    assert len(digits.views) == len(digits.target) == len(digits.images) == 1797
    assert {digits.views[name].dtype for name in WIDTHS} == {np.dtype(np.float32)}
    assert min(digits.views[name].min() for name in WIDTHS) >= 0
    assert sorted(set(digits.target.tolist())) == list(range(10))


def test_rows_of_pictures_views_and_targets_belong_together(digits):
    rows = [3, 1000, 1796]
    again = describe_pictures(digits.images[rows])
    for name in WIDTHS:
        np.testing.assert_allclose(digits.views[name][rows], again[name], rtol=1e-6, atol=1e-6)
