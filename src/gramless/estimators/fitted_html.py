"""What was fitted, for notebooks: views, their kernels and shares, landmarks, settings and what they were chosen by.

Names of views and classes are anybody's texts: all texts are escaped here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from gramless.deep_kernel import DeepKernel
from gramless.kernels import Distance, Kernel, kernel_name
from gramless.support.pages import printable

MOST_NAMES = 12  # of classes that are listed

HEADS = {
    "ridge": "ridge regression of signs",
    "discriminant": "ridge regression of signs, and discriminant analysis of its scores",
    "squared_hinge": "SVM, squared hinge",
    "hinge": "SVM, hinge",
}
LEFT_OUT = {"leave-one-out": "each sample left out in turn", "folds": "left out by folds"}
ROOTS = {1: "", 2: "square roots, ", 4: "fourth roots, "}
SCALINGS = {"columns": "standardised columns", "rows": "rows of length 1", "none": "as given"}

STYLE = """<style>
.gramless-fitted {display: inline-block; margin: 0.6em 0 0.4em 0; font-size: 0.92em; line-height: 1.35}
.gramless-fitted .parts {display: flex; flex-wrap: wrap; gap: 0.5em 2em; align-items: flex-start}
.gramless-fitted table {border-collapse: collapse; margin: 0 0 0.4em 0}
.gramless-fitted th, .gramless-fitted td {text-align: left; vertical-align: top; padding: 0.15em 0.8em 0.15em 0;
  border: 0; background: none; overflow-wrap: anywhere; max-width: 34em}
.gramless-fitted th {font-weight: 600}
.gramless-fitted tr.first td, .gramless-fitted tr.first th {border-top: 1px solid rgba(128, 128, 128, 0.35)}
.gramless-fitted td.number, .gramless-fitted th.number {text-align: right; white-space: nowrap}
.gramless-fitted .scroll {max-height: 26em; overflow: auto}
.gramless-fitted .bar {display: inline-block; height: 0.65em; margin-right: 0.4em; background: #0072B2}
.gramless-fitted summary {cursor: pointer}
</style>"""

SEEN = ", the network knew all"  # learned with labels or not, it is not learned anew for every sample

Fact = tuple[str, str]
"""What it is about, and what there is to say."""


@dataclass(frozen=True)
class Tried:
    """The settings that one was chosen from: names of columns, and rows of texts."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def fitted_html(
    kernel: DeepKernel, layout: dict[str, int], shares: np.ndarray | None, facts: Sequence[Fact], curve: Tried | None
) -> str:
    """shares : (n_kernels,), on average over labels; None where there are none"""
    parts = f'<div class="scroll">{_views_table(kernel, layout, shares)}</div><div>{_facts_table(facts)}'
    parts += f"<details><summary>{_text(curve.title)}</summary>{_curve_table(curve)}</details>" if curve else ""
    return f'{STYLE}<div class="gramless-fitted"><div class="parts">{parts}</div></div></div>'


def scaling_of(kernel: Kernel) -> str:
    """What a kernel compares instead of the rows as they come."""
    if isinstance(kernel, Distance):
        return ROOTS[kernel.root] + SCALINGS[kernel.scaling]
    return "unit diagonal" if kernel.normalize else SCALINGS["none"]


def classifier_facts(model: Any) -> tuple[list[Fact], Tried | None]:
    """Of a fitted classifier."""
    names = [str(name) for name in model.classes_[:MOST_NAMES]]
    some = ", ".join(names) + (", ..." if len(model.classes_) > MOST_NAMES else "")
    what = "labels" if model.labels_.multilabel else "classes"
    facts = [(what, f"{len(model.classes_):,}" + ("" if model.labels_.multilabel else f": {some}"))]
    points = model.settings_curve_
    how = f", the best of {len(points)} settings on left-out samples" if points else ", as given"
    facts.append(("head", f"{HEADS[model.head_kind_]}, C = {model.C_:.3g}{how}"))
    chosen = [point for point in points if (point.head, point.C) == (model.head_kind_, model.C_)]
    if not chosen:
        facts.append(("left-out score", "none: head and C were given"))
        return facts, None
    measure = "average precision" if model.labels_.multilabel else "mean of accuracy and probability of the right class"
    facts.append(("left-out score", f"{chosen[0].score:.1f} % ({measure}; {LEFT_OUT[chosen[0].by]}{SEEN})"))
    rows: list[tuple[str, ...]] = [(point.head, f"{point.C:.3g}", f"{point.score:.1f}", point.by) for point in points]
    return facts, Tried(f"{len(points)} settings that were compared", ("head", "C", "score, %", "left out"), rows)


def regressor_facts(model: Any) -> tuple[list[Fact], Tried]:
    """Of a fitted regressor; its curve has errors of standardised targets, whose variance is 1."""
    alphas, errors = model.alpha_curve_[:, 0], model.alpha_curve_[:, 1:]
    how = f", the best of {len(alphas)} strengths" if len(alphas) > 1 else ", as given"
    found = [errors[int(np.abs(alphas - alpha).argmin()), t] for t, alpha in enumerate(model.alpha_)]
    facts = [
        ("targets", f"{len(found):,}"),
        ("head", f"ridge regression, alpha = {_listed(model.alpha_, '{:.3g}')}{how}"),
        ("left-out R2", f"{_listed(1.0 - np.array(found), '{:.3f}')} (each sample left out in turn{SEEN})"),
    ]
    shown = errors[:, :MOST_NAMES]
    names = ("R2",) if shown.shape[1] == 1 else tuple(f"R2 of target {t}" for t in range(shown.shape[1]))
    rows = [
        (f"{a:.3g}", *(f"{1.0 - error:.3f}" for error in line)) for a, line in zip(alphas.tolist(), shown, strict=True)
    ]
    return facts, Tried(f"{len(alphas)} strengths that were compared", ("alpha", *names), rows)


def landmark_facts(network: Any, finishing: Sequence[tuple[int, float]] | None = None) -> list[Fact]:
    """Of a fitted map, and how it was finished with labels."""
    how = network.landmarks if isinstance(network.landmarks, str) else "given"
    facts = [("landmarks", f"{network.n_landmarks_:,}, {how}; {network.map_.n_components:,} components")]
    if network.landmark_curve_:
        errors = ", ".join(f"{error:.3g} % with {number:,}" for number, error, _ in network.landmark_curve_)
        facts.append(("their number", f"chosen by errors on held-out samples: {errors}"))
    if network.tuning_errors_ is not None:
        before, after = network.tuning_errors_
        facts.append(("tuning", f"error on held-out samples {before:.3g} % before, {after:.3g} % after"))
    if finishing:
        n_steps, best = max(finishing, key=lambda point: (point[1], -point[0]))
        facts.append(
            ("with labels", f"ranking of held-out samples {finishing[0][1]:.1f}, {best:.1f} at step {n_steps}")
        )
    return facts


def _listed(numbers: np.ndarray, form: str) -> str:
    more = f", ... ({len(numbers)} in all)" if len(numbers) > MOST_NAMES else ""
    return ", ".join(form.format(number) for number in numbers[:MOST_NAMES]) + more


def _views_table(kernel: DeepKernel, layout: dict[str, int], shares: np.ndarray | None) -> str:
    heads = ["view", "columns", *(["share in decisions"] if shares is not None else []), "kernel", "scaling"]
    rows = [_row("th", [*heads, *(["share"] if shares is not None else [])])]
    for view, width in layout.items():
        inputs = [q for q, entry in enumerate(kernel.inputs) if entry.view == view]
        span = f'rowspan="{max(1, len(inputs))}"'
        left = f'<th {span}>{_text(view)}</th><td class="number" {span}>{width:,}</td>'
        if shares is not None:
            share = shares[inputs].sum()
            bar = f'<span class="bar" style="width: {8 * share:.2f}em"></span>'
            left += f"<td {span}>{bar}{100 * share:.1f} %</td>"
        if not inputs:
            rows.append(f'<tr class="first">{left}<td colspan="3">none: not needed</td></tr>')
        for q in inputs:
            own = kernel.inputs[q].kernel
            cells = f"<td>{_text(kernel_name(own))}</td><td>{_text(scaling_of(own))}</td>"
            cells += "" if shares is None else f'<td class="number">{100 * shares[q]:.1f} %</td>'
            rows.append(f'<tr class="first">{left}{cells}</tr>' if q == inputs[0] else f"<tr>{cells}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _facts_table(facts: Sequence[Fact]) -> str:
    rows = (f'<tr class="first"><th>{_text(name)}</th><td>{_text(said)}</td></tr>' for name, said in facts)
    return f"<table>{''.join(rows)}</table>"


def _curve_table(curve: Tried) -> str:
    rows = [_row("th", curve.columns), *(_row("td", row) for row in curve.rows)]
    return f'<div class="scroll"><table>{"".join(rows)}</table></div>'


def _row(tag: str, texts: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_text(text)}</{tag}>' for text in texts)}</tr>"


def _text(text: str) -> str:
    return escape(printable(text))
