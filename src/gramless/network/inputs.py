"""An input of a deep kernel network."""

from dataclasses import dataclass

from gramless.kernels import Kernel


@dataclass(frozen=True)
class ViewKernel:
    """An elementary kernel on one view."""

    view: str
    kernel: Kernel
