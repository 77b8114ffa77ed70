"""How the weights of a network are learned: the choices, as values that a grid search can list."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar

from gramless.support.checks import NOT_NEGATIVE, POSITIVE, Constraints, Interval, check_parameters, whole


@dataclass(frozen=True)
class Supervised:
    """Learning from labelled samples.

    C : penalty of the SVMs whose dual is minimised; the kernel is scaled to a unit spread
    n_steps, step_size : of Adam on the logits of the weights
    validation : share of the labelled samples that is held out to choose the step to stop at; 0 for none
    evaluate_every, patience : look at the held-out part so often, and stop after so many looks without a gain
    gap : relative duality gap to which the SVMs are solved in each step
    max_samples : learn from at most so many samples, drawn at random; cost is quadratic in their number
    checkpoint : a file that an interrupted run continues from
    """

    C: float = 1.0
    n_steps: int = 80
    step_size: float = 0.1
    validation: float = 0.2
    evaluate_every: int = 5
    patience: int = 4
    gap: float = 0.02
    max_samples: int = 5_000
    checkpoint: str | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "C": [POSITIVE],
        "n_steps": [whole(0)],
        "step_size": [POSITIVE],
        "validation": [Interval(Real, 0, 1, closed="left")],
        "evaluate_every": [whole(1)],
        "patience": [whole(1)],
        "gap": [POSITIVE],
        "max_samples": [whole(2)],
        "checkpoint": [str, None],
    }

    def __post_init__(self) -> None:
        check_parameters(self)
        for field in fields(self):
            if field.type == "float":  # a whole number may be longer than tensors hold
                object.__setattr__(self, field.name, float(getattr(self, field.name)))


@dataclass(frozen=True)
class SemiSupervised(Supervised):
    """Learning from labelled and unlabelled samples with a Laplacian SVM.

    n_neighbours : of the graph on all samples
    strength : of the graph's smoothness term beside the norm of the classifier
    """

    n_neighbours: int = 10
    strength: float = 0.01

    _parameter_constraints = Supervised._parameter_constraints | {
        "n_neighbours": [whole(1)],
        "strength": [NOT_NEGATIVE],
    }


@dataclass(frozen=True)
class LeaveOneOut:
    """Learning by the leave-one-out error of ridge regression: weights, gains and the ridge itself.

    max_evaluations : of the error, on the first thousand samples and again on all of them
    max_samples : learn from at most so many samples, drawn at random; cost is cubic in their number
    """

    max_evaluations: int = 40
    max_samples: int = 5_000

    _parameter_constraints: ClassVar[Constraints] = {"max_evaluations": [whole(1)], "max_samples": [whole(2)]}

    def __post_init__(self) -> None:
        check_parameters(self)


Learning = Supervised | LeaveOneOut

NAMED: dict[str, Learning] = {
    "leave-one-out": LeaveOneOut(),
    "supervised": Supervised(),
    "semi-supervised": SemiSupervised(),
}


def make_learning(spec: Any) -> Learning | None:
    """Settings from a name, from themselves, or None for weights as they are initialised."""
    if spec is None or isinstance(spec, Learning):
        return spec
    if isinstance(spec, str) and spec in NAMED:
        return NAMED[spec]
    raise ValueError(
        f"learning={spec!r}: give {', '.join(map(repr, NAMED))}, LeaveOneOut(...), "
        "Supervised(...), SemiSupervised(...) or None."
    )
