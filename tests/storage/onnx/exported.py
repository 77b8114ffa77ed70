"""Exported files in onnxruntime, and how close they have to be to the package."""

from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import torch

import gramless as gl
from gramless.network import Layer, ViewKernel, make_activation
from gramless.storage.onnx import export_onnx

ACCURACY = 1e-4  # of the largest value
ROWS = 4  # at once, so that small batches take several blocks


def run(path, X):
    """All outputs of a file by their names; views that it does not ask for are left out."""
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given = {each.name: np.asarray(X[each.name], dtype=np.float32) for each in session.get_inputs()}
    outputs = [each.name for each in session.get_outputs()]
    return dict(zip(outputs, session.run(outputs, given), strict=True))


def answers(model, X, folder, rows_at_once=ROWS):
    """What the exported model says about X."""
    path = folder / "model.onnx"
    export_onnx(model, path, rows_at_once=rows_at_once)
    return run(path, X)


def check_vectors(network, X, folder, *, rows_at_once=ROWS):
    """The file's vectors and their inner products are the network's.

    To ACCURACY, and beyond that to a few times what the network's own float32 loses against float64: columns of small
    eigenvalues and angles of coinciding samples are mostly rounding, and the file rounds in another order.
    """
    found = answers(network, X, folder, rows_at_once)["vectors"]
    expected = np.asarray(network.transform(X))
    assert (found.dtype, found.shape) == (np.float32, expected.shape)
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    exact = replace(network.map_, dtype=torch.float64).transform(gl.Views(X).match(network.kernel_.layout)).numpy()
    for f, e, own in ((found, expected, exact), (found @ found.T, expected @ expected.T, exact @ exact.T)):
        allowed = ACCURACY * np.abs(e).max(initial=0.0) + 4 * np.abs(e - own).max(initial=0.0)
        assert np.abs(f - e).max(initial=0.0) <= allowed


def kernel_values(kernel, X, Z, folder, dtype=np.float32, activation="identity"):
    """k(x, z), activated, as a file computes it, through a map whose projection is the identity: (n, m)."""
    views = gl.Views({"v": Z.astype(dtype)})
    deep = gl.DeepKernel((ViewKernel("v", kernel),), (Layer([[1.0]], make_activation(activation)),), views.layout)
    network = gl.DeepMapNetwork(deep, landmarks=np.arange(len(Z))).fit(views)
    identity = torch.eye(len(Z), dtype=torch.float64)
    projection = replace(network.map_.projection, matrix=identity, eigenvalues=identity.diagonal())
    network.map_ = replace(network.map_, projection=projection)
    return answers(network, {"v": X}, folder)["vectors"]
