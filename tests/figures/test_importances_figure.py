"""The picture of what matters: what is drawn where, for one label and for hundreds, and names of any kind."""

from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
from matplotlib import rc_context
from PIL import Image

import gramless as gl
from gramless.estimators.importances import Importances
from gramless.estimators.permutation import PermutationImportances
from gramless.figures.drawing import (
    MOST_LABELS,
    STYLE,
    by_kernels,
    draw_importances,
    drawn_labels,
    save_importances_figure,
)


def made_up(n_labels, views=("a", "b", "c"), seed=0):
    inputs = tuple((view, kernel) for view in views[:2] for kernel in ("distance", "cosine-distance"))
    shares = np.random.default_rng(seed).dirichlet(np.ones(len(inputs)), n_labels)
    return Importances(np.arange(n_labels), tuple(views), inputs, shares)


def drops(views, n_repeats=3):
    return PermutationImportances(tuple(views), 0.9, np.random.default_rng(1).normal(0.1, 0.1, (len(views), n_repeats)))


def texts(axes):
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("n_labels", [1, 3, 300])
def test_every_share_is_written_where_it_belongs(n_labels):
    found = made_up(n_labels)
    shuffled = drops(found.views)
    with rc_context(STYLE):
        *maps, bars, lost = draw_importances(found, shuffled).axes
    order = np.argsort(-found.of_views.mean(0))
    assert [label.get_text() for label in maps[0].get_yticklabels()] == [found.views[view] for view in order]
    shown = by_kernels(found)[order].ravel()
    assert texts(maps[0]) == ["" if np.isnan(share) else f"{share:.1f}" for share in shown]
    assert texts(bars) == [f"{100 * share:.1f}" for share in found.of_views.mean(0)[order]]
    assert texts(lost) == [f"{drop:.3f}" for drop in shuffled.mean[order]]
    assert len(maps) == (1 if n_labels == 1 else 2)
    if n_labels > 1:
        labels = drawn_labels(found.of_views)
        assert len(labels) == min(n_labels, MOST_LABELS)
        assert [label.get_text() for label in maps[1].get_xticklabels()] == [str(label) for label in labels]
        assert texts(maps[1]) == [f"{100 * share:.1f}" for share in found.of_views[labels][:, order].T.ravel()]


def test_of_many_labels_the_most_peculiar_are_drawn():
    of_views = np.full((100, 2), 0.5)
    of_views[[3, 77]] = [1.0, 0.0]
    assert {3, 77} <= set(drawn_labels(of_views).tolist())


def test_a_kernel_that_a_view_has_twice_is_one_column():
    found = Importances(np.array([0]), ("a", "b"), (("a", "linear"), ("a", "linear")), np.array([[0.25, 0.75]]))
    np.testing.assert_array_equal(by_kernels(found), [[100.0], [np.nan]])


@pytest.mark.parametrize("n_labels", [1, 12])
@pytest.mark.parametrize("names", [("$\\no{TeX$", "\x1b[31m", "x" * 300), ("", " ", "<b>")])
def test_names_of_any_kind_stay_within_a_png(n_labels, names):
    found = made_up(n_labels, names)
    found = Importances(
        np.array([f"class $x_{i} " + "y" * i for i in range(n_labels)]), *list(vars(found).values())[1:]
    )
    file = BytesIO()
    save_importances_figure(found, file, drops(names))
    assert Image.open(file).format == "PNG"
    with rc_context(STYLE):
        figure = draw_importances(found, drops(names))
        for axes in figure.axes:
            ticks = [*axes.get_xticklabels(), *axes.get_yticklabels()]
            boxes = [tick.get_window_extent() for tick in ticks if tick.get_text().strip()]
            assert all(box.x0 >= 0 and box.y0 >= 0 for box in boxes)
        columns = [tick.get_window_extent() for tick in figure.axes[0].get_xticklabels()]
    assert all(one.x1 < other.x0 for one, other in pairwise(columns))


@pytest.mark.filterwarnings("error")
def test_decisions_that_never_vary_and_drops_that_are_all_zero_or_negative():
    found = Importances(np.array([0]), ("a",), (("a", "linear"),), np.zeros((1, 1)))
    for drop in (0.0, -0.1):
        save_importances_figure(found, BytesIO(), PermutationImportances(("a",), 0.5, np.full((1, 2), drop)))


def test_shares_and_shuffling_of_other_views_are_refused():
    with pytest.raises(gl.DataError, match="same model"):
        save_importances_figure(made_up(1), BytesIO(), drops(("a", "b")))
