"""The demo in one picture: digits and their views, accuracies, and time against number of samples."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import BinaryIO

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from PIL import Image

from gramless.demo.digits import DigitsViews, load_digits_views
from gramless.demo.result import Accuracy, DemoResult, Example, Timing, growth, summarise
from gramless.figures.drawing import BLUE, INK, PALE, QUIET, VERMILION, axes_style

INCHES, DOTS_PER_INCH = (8.0, 4.5), 200
BOTTOM, TOP = 0.2, 0.8
N_COLOURS = 128  # a third of the file size, and no visible difference
VIEW_HEIGHTS = {
    "pixels": 8,
    "fourier": 8,
    "gradients": 9,
    "projections": 2,
    "binary patterns": 4,
    "borders": 4,
    "co-occurrences": 4,
}
"""The views, and in how many rows each is drawn: cells, sides or directions under each other."""
STYLE = axes_style(INK, QUIET, 0.6) | {"font.family": "DejaVu Sans", "font.size": 7.5}


def save_figure(result: DemoResult, file: BinaryIO) -> None:
    """Write the picture of a complete result as PNG, 1600 x 900 pixels."""
    with rc_context(STYLE):
        figure = draw(result, load_digits_views())
        pixels = BytesIO()
        figure.savefig(pixels, format="png", dpi=DOTS_PER_INCH)
    picture = Image.open(pixels).convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE)
    picture.save(file, format="png", optimize=True)


def draw(result: DemoResult, digits: DigitsViews) -> Figure:
    figure = Figure(INCHES, facecolor="white")
    draw_examples(figure, result.examples, digits)
    draw_accuracies(_panel(figure, left=0.385, right=0.64), result.accuracies)
    draw_times(_panel(figure, left=0.735, right=0.985), result.timings)
    draw_words(figure, result)
    return figure


def draw_examples(figure: Figure, examples: Sequence[Example], digits: DigitsViews) -> None:
    """One column per digit: its picture, each other view as a pattern, and the answer."""
    rows = len(VIEW_HEIGHTS)
    grid = figure.add_gridspec(
        rows, len(examples), left=0.127, right=0.337, top=TOP, bottom=0.215, wspace=0.12, hspace=0.16
    )
    for row, (name, height) in enumerate(VIEW_HEIGHTS.items()):
        features = digits.views[name]
        for column, example in enumerate(examples):
            axes = figure.add_subplot(grid[row, column], xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
            pattern = features[example.row].reshape(height, -1)
            axes.imshow(
                pattern, cmap="gray_r" if row == 0 else "Purples", vmin=0, aspect="auto", interpolation="nearest"
            )
            if column == 0:
                axes.set_ylabel(name, rotation=0, ha="right", va="center", labelpad=5)
            if row == rows - 1:
                right = example.predicted == example.truth
                axes.set_xlabel(
                    str(example.predicted) if right else f"{example.predicted}\nnot {example.truth}",
                    color=BLUE if right else INK,
                    weight="bold",
                    labelpad=4,
                )
    figure.text(0.121, 0.1915, "DMN says", ha="right", va="center", color=BLUE, weight="bold")


def draw_accuracies(axes: Axes, accuracies: Sequence[Accuracy]) -> None:
    """A bar from mean - spread to mean + spread per method, a line at the mean, and a dot per split."""
    summaries = summarise(accuracies)
    for height, summary in enumerate(reversed(summaries)):
        colour = {"DKN": VERMILION, "DMN": BLUE}.get(summary.method[:3], QUIET)
        percents = [accuracy.percent for accuracy in accuracies if accuracy.method == summary.method]
        mean, spread = summary.mean_percent, summary.spread_percent
        axes.barh(height, 2 * spread, left=mean - spread, height=0.26, color=colour, alpha=0.3, linewidth=0)
        axes.plot([mean, mean], [height - 0.13, height + 0.13], color=colour, linewidth=2)
        axes.plot(percents, [height] * len(percents), "o", color=colour, markersize=3, markeredgewidth=0)
        axes.text(0.0, height + 0.24, summary.method, transform=axes.get_yaxis_transform(), va="bottom")
        axes.text(
            1.0,
            height + 0.24,
            f"{mean:.1f} ± {spread:.1f} %",
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="bottom",
            color=colour,
            weight="bold",
        )
    axes.set_ylim(-0.4, len(summaries) - 0.4)
    axes.yaxis.set_major_locator(NullLocator())
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("held-out digits recognised, %")


def draw_times(axes: Axes, timings: Sequence[Timing]) -> None:
    """Seconds over samples, both on logarithmic scales: the slope of a line is the exponent of the growth."""
    samples = [timing.n_samples for timing in timings]
    slopes, last = growth(timings), timings[-1]
    beside, below = (-9, -8), (22, -82)
    curves = (
        ("DKN: kernel values", [timing.kernel_seconds for timing in timings], slopes.kernel, VERMILION, "s", beside),
        ("DMN: vectors", [timing.map_seconds for timing in timings], slopes.map, BLUE, "o", below),
    )
    for label, seconds, slope, colour, marker, place in curves:
        axes.loglog(samples, seconds, marker=marker, color=colour, linewidth=1.5, markersize=4)
        axes.annotate(
            f"{label}\ntime ~ $n^{{{slope:.1f}}}$",
            (samples[-1], seconds[-1]),
            place,
            textcoords="offset points",
            ha="right",
            color=colour,
            weight="bold",
        )
    axes.vlines(samples[-1], last.map_seconds, last.kernel_seconds, color=PALE, linewidth=1, zorder=0)
    middle = (last.map_seconds * last.kernel_seconds) ** 0.5
    axes.annotate(f"{last.ratio:.1f} x", (samples[-1], middle), (4, 0), textcoords="offset points", va="center")
    axes.set_xlim(samples[0] * 0.85, samples[-1] * 1.5)
    axes.set_xticks(samples, [f"{n:,}" for n in samples])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("samples n")
    axes.set_ylabel("seconds")


def draw_words(figure: Figure, result: DemoResult) -> None:
    """Titles above, what the numbers rest on below."""
    sizes = result.sizes
    figure.text(0.015, 0.955, "Deep kernels without the Gram matrix", size=12, weight="bold", va="center")
    last = result.examples[-1]
    ending = "" if last.predicted == last.truth else "; the last one is a mistake"
    titles = (
        (0.015, "Seven views of held-out digits", f"darker is more{ending}"),
        (0.385, "Accuracy", f"mean and standard deviation of {sizes.n_splits} splits; dots: splits"),
        (0.70, "Time", "kernel and map in turn on the same samples"),
    )
    for x, title, explanation in titles:
        figure.text(x, 0.885, title, size=9, weight="bold", va="center")
        figure.text(x, 0.845, explanation, size=6.5, color=QUIET, va="center")
    errors = ", ".join(f"{error.percent_all:.2g} % with {error.n_landmarks}" for error in result.approximations)
    note = (
        f"{sizes.n_labelled} labelled digits, {result.accuracies[0].n_tested:,} held out. DKN: deep kernel network. "
        f"DMN: the map of the learned one, with {sizes.n_landmarks} landmarks.\n"
        f"Relative error of the DMN against the DKN over all digits: {errors} landmarks. "
        f"Seed {result.seed}, {result.environment['cores']} cores, gramless {result.environment['gramless']}."
    )
    figure.text(0.015, 0.045, note, size=6.5, color=QUIET, va="center", linespacing=1.5)


def _panel(figure: Figure, *, left: float, right: float) -> Axes:
    return figure.add_axes((left, BOTTOM, right - left, TOP - BOTTOM))
