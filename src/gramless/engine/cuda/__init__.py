"""The fused evaluators on CUDA tensors, in Triton: the only package that imports it."""

from gramless.engine.cuda.given_values import network_gradients, network_values
from gramless.engine.cuda.network import elementary_values, evaluate
from gramless.engine.cuda.slopes import feature_slopes
from gramless.engine.cuda.sums import feature_sums

__all__ = ["elementary_values", "evaluate", "feature_slopes", "feature_sums", "network_gradients", "network_values"]
