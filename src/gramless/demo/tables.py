"""The demo's numbers as tables for the terminal."""

from __future__ import annotations

from collections import Counter

from rich import box
from rich.table import Table

from gramless.demo.experiment import Part
from gramless.demo.result import DemoResult, growth, summarise


def table_of(part: Part, result: DemoResult) -> Table:
    """The table of one part of the demo, once it is measured."""
    tables = {Part.ACCURACY: accuracy_table, Part.ERROR: error_table, Part.TIME: time_table}
    return tables[part](result)


def accuracy_table(result: DemoResult) -> Table:
    sizes = result.sizes
    table = _table(
        f"Accuracy on {result.accuracies[0].n_tested:,} held-out digits",
        f"Mean and standard deviation over {sizes.n_splits} splits. {sizes.n_labelled} digits have labels; settings "
        f"are cross-validated on them. {sizes.n_unlabelled} digits without labels help with kernel widths and the "
        f"{sizes.n_landmarks} landmarks.",
    )
    table.add_column("method")
    table.add_column("accuracy, %", justify="right")
    table.add_column("chosen on labelled digits (splits)")
    for summary in summarise(result.accuracies):
        chosen = "; ".join(f"{setting} ({count})" for setting, count in Counter(summary.settings).items())
        table.add_row(summary.method, f"{summary.mean_percent:.1f} ± {summary.spread_percent:.1f}", chosen)
    return table


def error_table(result: DemoResult) -> Table:
    table = _table(
        "Relative error of the map (DMN) against its kernel (DKN)",
        "Mean over all pairs of |a - b| / (|a| + |b|), a the inner product of two vectors, b the kernel's value. "
        "Between a landmark and any digit the map is exact but for rounding.",
    )
    for heading in ("landmarks", "all digits, %", "digits outside landmarks, %"):
        table.add_column(heading, justify="right")
    for error in result.approximations:
        table.add_row(
            f"{error.n_landmarks:,}", f"{error.percent_all:.3f}", f"{error.percent_outside:.3f} ({error.n_outside:,})"
        )
    return table


def time_table(result: DemoResult) -> Table:
    slopes = growth(result.timings)
    table = _table(
        "Time against number of samples n",
        f"Time grows as n^{slopes.kernel:.2f} (DKN) and n^{slopes.map:.2f} (DMN, {result.sizes.n_landmarks} "
        "landmarks). Medians; samples are digits drawn with replacement. A linear classifier needs the vectors alone, "
        "never their n x n inner products.",
    )
    for heading in ("n", "runs", "DKN: n x n kernel values, s", "DMN: n vectors, s", "DKN / DMN"):
        table.add_column(heading, justify="right")
    for timing in result.timings:
        table.add_row(
            f"{timing.n_samples:,}",
            str(timing.n_runs),
            f"{timing.kernel_seconds:.3f}",
            f"{timing.map_seconds:.3f}",
            f"{timing.ratio:.1f}",
        )
    return table


def _table(title: str, caption: str) -> Table:
    return Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
