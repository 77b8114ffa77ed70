"""Evaluating networks at the speed of the machine, within a memory budget."""

from gramless.engine.backends import network_gradients, network_values
from gramless.engine.device import Precision, choose_device, choose_precision, settle
from gramless.engine.differentiable import FeaturewiseSum, differentiable_block, differentiable_values, is_movable
from gramless.engine.evaluator import Evaluator, make_evaluator
from gramless.engine.limits import on_view
from gramless.engine.matrix import Overflow, finite, kernel_matrix, projected_blocks
from gramless.engine.plan import Plan, compute_budget, make_plan
from gramless.engine.samples import RootedBlock, SampleBlock
from gramless.engine.streaming import RowSink, new_rows, on_device

__all__ = [
    "Evaluator",
    "FeaturewiseSum",
    "Overflow",
    "Plan",
    "Precision",
    "RootedBlock",
    "RowSink",
    "SampleBlock",
    "choose_device",
    "choose_precision",
    "compute_budget",
    "differentiable_block",
    "differentiable_values",
    "finite",
    "is_movable",
    "kernel_matrix",
    "make_evaluator",
    "make_plan",
    "network_gradients",
    "network_values",
    "new_rows",
    "on_device",
    "on_view",
    "projected_blocks",
    "settle",
]
