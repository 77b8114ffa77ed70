"""SVM values and objectives of learning, naively: scikit-learn's SVC, dense matrices, finite differences."""

import numpy as np
from sklearn.svm import SVC


def svm_dual(gram, signs, upper):
    """LIBSVM's solution of one label with a box per sample: coefficients, bias, dual value."""
    machine = SVC(kernel="precomputed", C=1.0, tol=1e-6).fit(gram, signs, sample_weight=upper)
    coefficients = np.zeros(len(gram))
    coefficients[machine.support_] = machine.dual_coef_[0]
    value = np.abs(coefficients).sum() - 0.5 * coefficients @ gram @ coefficients
    return coefficients, machine.intercept_[0], value


def svm_primal(gram, signs, upper, coefficients, bias):
    """The objective of the hinge loss with a free bias, whose minimum is the dual's maximum."""
    outputs = gram @ coefficients
    return 0.5 * coefficients @ outputs + upper @ np.maximum(0.0, 1.0 - signs * (outputs + bias))


def learning_objective(gram, signs, C):
    """Sum over labels of the optimal dual value on the kernel scaled to a unit spread."""
    scaled = gram / (np.trace(gram) / len(gram) - gram.mean())
    return sum(svm_dual(scaled, y, np.full(len(y), C))[2] for y in signs)


def laplacian_svm_primal(gram, signs, C, laplacian, strength, expansion, bias):
    """The Laplacian SVM's primal objective of one label at f = K v + bias; labelled samples come first."""
    f = gram @ expansion
    smooth = 0.5 * expansion @ gram @ expansion + 0.5 * strength * f @ laplacian @ f
    margins = signs * (f[: len(signs)] + bias)
    return smooth + C * np.maximum(0.0, 1.0 - margins).sum()


def neighbour_laplacian(squared_distances, k):
    """Pair by pair."""
    n = len(squared_distances)
    distances = np.sqrt(squared_distances)
    neighbours = [sorted((j for j in range(n) if j != i), key=lambda j: distances[i, j])[:k] for i in range(n)]
    width = np.mean([distances[i, j] for i in range(n) for j in neighbours[i]])
    weights = np.zeros((n, n))
    for i in range(n):
        for j in neighbours[i]:
            weights[i, j] = weights[j, i] = np.exp(-squared_distances[i, j] / width**2)
    degrees = weights.sum(1)
    return np.eye(n) - weights / np.sqrt(np.outer(degrees, degrees))
