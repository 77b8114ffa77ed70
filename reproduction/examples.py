"""Pictures with their true keywords, the DKN's and the DMN's (the paper's figure of annotated examples)."""

from __future__ import annotations

import itertools
from pathlib import Path

from gramless.pictures.features import PictureError, make_thumbnail
from gramless.pictures.features.pictures import data_uri
from reproduction import discrimination
from reproduction.cells import Computed
from reproduction.collection import Collection
from reproduction.keywords import example_rows
from reproduction.report import Answer, Example, Section

THUMBNAIL_SIDE = 320


def section(
    computed: Computed, pictures: Collection, features: str, plan: discrimination.Plan, images: Path | None
) -> Section:
    """images : the folder that the names of pictures are in; None where it is not on this machine"""
    n_landmarks = max(plan.n_landmarks)
    kernel = computed.runs(
        discrimination.TABLE, model=discrimination.kernel_model("supervised", 3), features=features, seed=0
    )
    fine_tuned = computed.runs(
        discrimination.TABLE,
        **{
            "model": discrimination.MAP_MODELS["landmarks"],
            "features": features,
            "S": n_landmarks,
            "S'": max(plan.n_tuning),
            "seed": 0,
        },
    )
    found = []
    for row in example_rows(len(pictures.test)):
        position = pictures.n_train + row
        answers = tuple(
            Answer(method, tuple(runs[0]["ours"]["examples"][str(row)]))
            for method, runs in (("DKN", kernel), (f"DMN, S = {n_landmarks:,}", fine_tuned))
            if runs
        )
        truth = tuple(itertools.compress(pictures.keywords, pictures.labels[position]))
        name = pictures.names[position]
        found.append(Example(name, _thumbnail(images, name), truth, answers))
    told = f"Test pictures, evenly spread over all; {features} features, our heads, one seed. * marks right keywords."
    return Section("Annotated examples", (told,), examples=tuple(found) if kernel or fine_tuned else ())


def _thumbnail(images: Path | None, name: str) -> str:
    if images is None:
        return ""
    try:
        return data_uri(make_thumbnail(images / name, THUMBNAIL_SIDE))
    except PictureError:
        return ""
