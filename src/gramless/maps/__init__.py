"""The deep map network: layered as in the paper, and collapsed into one projection."""

from typing import Protocol, runtime_checkable

from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.maps.collapsed import CollapsedMap, collapse
from gramless.maps.layered import LayeredMap, layered_map
from gramless.views import Views


@runtime_checkable
class DeepMap(Protocol):
    """What the layered and the collapsed map have in common."""

    @property
    def kernel(self) -> DeepKernel: ...

    @property
    def n_components(self) -> int: ...

    @property
    def clipped_mass(self) -> list[list[float]]: ...

    def transform(self, X: Views) -> Tensor: ...


__all__ = [
    "CollapsedMap",
    "DeepMap",
    "LayeredMap",
    "collapse",
    "layered_map",
]
