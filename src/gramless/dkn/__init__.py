"""The deep kernel network as a value."""

from gramless.dkn.deep_kernel import DeepKernel, choose_device

__all__ = ["DeepKernel", "choose_device"]
