"""Data in blocks as an estimator's input, and its answers block by block."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gramless.blocks import Block, Blocks, in_blocks, lies_elsewhere
from gramless.views import side_by_side


def blocks_to_fit(estimator: BaseEstimator, X: Any, y: Any = None) -> Blocks | None:
    """Training data in blocks, with its labels; None where X is in memory."""
    if isinstance(X, Blocks) or lies_elsewhere(X):
        return in_blocks(X, y, views=None if isinstance(X, Blocks) else estimator.views)
    return None


def blocks_to_learn(estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any) -> Blocks | None:
    """`blocks_to_fit` of an estimator that cannot do without y."""
    blocks = blocks_to_fit(estimator, X, y)
    if y is None and not (blocks and blocks.has_labels):
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    if blocks is not None and sample_weight is not None:
        raise ValueError("sample_weight is not for data in blocks: repeat rows, or weigh classes by class_weight.")
    return blocks


def blocks_to_use(estimator: BaseEstimator, X: Any) -> Blocks | None:
    """New data in blocks, as the views that the estimator was fitted on; None where X is in memory.

    An estimator that was not fitted is refused.
    """
    if not hasattr(estimator, "layout_"):  # what scikit-learn looks at would take a tenth of the time of one sample
        check_is_fitted(estimator)
    if isinstance(X, Blocks):
        return X.match(estimator.layout_)
    if not lies_elsewhere(X):
        return None
    one_array = not isinstance(X, (Mapping, list, tuple))
    columns = estimator.views or side_by_side(estimator.layout_)
    return in_blocks(X, views=columns if one_array else None).match(estimator.layout_)


def answered(estimator: Any, method: str, blocks: Blocks) -> Any:
    """What a method of a fitted estimator says of every sample: Rows, or a Dask array; the estimator travels."""
    answer = _array(getattr(estimator, method)(estimator.known_samples()[:1]))  # what its answers look like
    width = answer.shape[1] if answer.ndim == 2 else None
    return blocks.mapped(partial(_answer, estimator, method), width, answer.dtype, method.replace("_", " "))


def _answer(estimator: BaseEstimator, method: str, block: Block) -> np.ndarray:
    return _array(getattr(estimator, method)(block.views))


def _array(answer: Any) -> np.ndarray:
    """Samples that lie on a GPU have answers that do."""
    return answer.numpy(force=True) if isinstance(answer, Tensor) else np.asarray(answer)
