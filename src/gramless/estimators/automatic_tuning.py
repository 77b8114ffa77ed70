"""tuning="auto": a compiled map is fine-tuned where that can be judged and afforded."""

from __future__ import annotations

import warnings

from gramless.dmn import CollapsedMap
from gramless.errors import MemoryBudgetError
from gramless.estimators.deep_map_network import DeepMapNetwork
from gramless.tuning.pairs import fresh_rows
from gramless.views import Views

FEWEST_JUDGES = 50  # samples besides the landmarks: their 1,225 pairs put six maps in order, far fewer would guess


def tune_if_possible(network: DeepMapNetwork, views: Views) -> None:
    """tuning="exact" for the compiled map, if there are samples to choose by and the memory budget has room.

    A budget without room is said: by default it is a share of what is free, and another day there may be more.
    """
    compiled = network.map_
    if not isinstance(compiled, CollapsedMap):
        return
    if len(fresh_rows(views, compiled.landmarks, compiled.dtype)) < FEWEST_JUDGES:
        return
    try:
        network.set_params(tuning="exact").fine_tune(views)
    except MemoryBudgetError as error:
        warnings.warn(f"tuning='auto' leaves the map as it is compiled: {error}", stacklevel=6)
        network.set_params(tuning=None)
