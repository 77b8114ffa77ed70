"""Claim: all 260 SVM duals of COREL5k at once, to LIBSVM's values, several times faster than 260 fits of SVC.

The rival is scikit-learn's SVC(kernel="precomputed") label by label, two at a time on two threads (LIBSVM lets go of
Python's lock), timed in full, on the same float32 values (handed over as the float64 that it works in), same C, same
free bias, default tolerance.
"""

from __future__ import annotations

import argparse
import time

import numba
import numpy as np
import torch
from corel5k import N_TRAIN, ElementaryBank, add_options, load
from harness import report, time_rivals
from joblib import Parallel, delayed
from sklearn.svm import SVC
from torch import Tensor

import gramless as gl
from gramless.estimators.deep_kernel_network import PAPERS_KERNELS
from gramless.learning import DualSolution, box, solve_svm_duals

THREADS = 2


def svc_values(gram: np.ndarray, signs: np.ndarray, C: float) -> tuple[np.ndarray, float]:
    """Dual values of SVC, and the seconds that all fits took."""

    def fit(y: np.ndarray) -> SVC:
        return SVC(kernel="precomputed", C=C).fit(gram, y)

    started = time.perf_counter()
    machines = Parallel(n_jobs=THREADS, backend="threading")(delayed(fit)(y) for y in signs)
    seconds = time.perf_counter() - started
    values = []
    for machine in machines:
        v = np.zeros(len(gram))
        v[machine.support_] = machine.dual_coef_[0]
        values.append(np.abs(v).sum() - 0.5 * v @ gram @ v)
    return np.array(values), seconds


def compare(gram: Tensor, labels: np.ndarray, C: float, gap: float, repeats: int) -> None:
    signs = torch.from_numpy(2.0 * labels.T - 1.0).float()
    upper = box(signs, C)
    exact, svc_seconds = svc_values(gram.double().cpu().numpy(), signs.numpy(), C)
    torch.set_num_threads(THREADS)
    numba.set_num_threads(THREADS)
    gram_cpu = gram.cpu().contiguous()
    solutions: dict[str, DualSolution] = {}

    def solve(name: str, *problem: Tensor) -> None:
        solutions[name] = solve_svm_duals(*problem, gap=gap)
        if problem[0].is_cuda:
            torch.cuda.synchronize()

    rivals = {"CPU, two threads": lambda: solve("CPU, two threads", gram_cpu, signs, upper)}
    if torch.cuda.is_available():
        on_device = [t.cuda() for t in (gram_cpu, signs, upper)]
        rivals["GPU"] = lambda: solve("GPU", *on_device)
    seconds = time_rivals(rivals, repeats)
    figures = {"C": C, "gap": gap, "n_labels": len(signs), "svc_seconds": svc_seconds, "ours": {}}
    rows = [["260 x SVC, two threads", f"{svc_seconds:.2f}", "1.0", "", ""]]
    for name, taken in seconds.items():
        off = np.abs(solutions[name].values.cpu().numpy() - exact) / exact
        gaps = solutions[name].gaps.max().item()
        rows.append([f"ours, {name}", f"{taken:.3f}", f"{svc_seconds / taken:.1f}", f"{off.max():.1e}", f"{gaps:.1e}"])
        figures["ours"][name] = {
            "seconds": taken,
            "ratio": svc_seconds / taken,
            "largest_relative_difference": float(off.max()),
            "largest_gap": gaps,
            "pair_steps": solutions[name].n_steps,
        }
    report(
        "svm_dual",
        f"{len(signs)} SVM duals on {len(gram)} samples, C = {C:g}",
        ["", "seconds", "times faster", "largest difference of dual values", "largest relative gap"],
        rows,
        figures,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    corel = load(chosen.features)
    train = corel.views[corel.train]
    gl.set_config(device=chosen.device)
    network = gl.DeepKernelNetwork(PAPERS_KERNELS, (80,), learning=None, random_state=0).fit(train)
    values = ElementaryBank(network.kernel_, train).gram(network.kernel_.layers) * network.kernel_.scale
    compare(values, corel.labels[:N_TRAIN], chosen.C, chosen.gap, chosen.repeats)
