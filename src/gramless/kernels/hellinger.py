"""k(x, z) = sum_d (x_d z_d)^(1 / root)."""

from dataclasses import dataclass

from gramless.kernels.base import Domain, Kernel, registered
from gramless.kernels.features import check_root, roots
from gramless.kernels.formula import Formula
from gramless.kernels.statistics import Statistic


@registered("hellinger", variants={"hellinger4": {"root": 4}})
@dataclass(frozen=True)
class Hellinger(Kernel):
    """The Bhattacharyya coefficient of histograms: the inner product of their square roots.

    With `root=4` of their fourth roots: how often something occurs matters less beside whether it does.
    """

    root: int = 2

    domain = Domain.NONNEGATIVE

    def __post_init__(self) -> None:
        check_root(self.root, smallest=2)

    @property
    def name(self) -> str:  # type: ignore[override]
        return "hellinger" if self.root == 2 else "hellinger4"

    def declare(self) -> Formula:
        return Formula(Statistic.INNER_PRODUCT, features=roots(self.root))
