"""Export a classifier, and run it where there is no Gramless: with onnxruntime alone."""

import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

import gramless as gl

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 300)
views = {name: (y[:, None] + rng.standard_normal((300, 8))).astype(np.float32) for name in ("left", "right")}
classifier = gl.DeepMapClassifier(n_landmarks=40, random_state=0).fit(views, y)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.onnx"
    gl.export_onnx(classifier, path)
    session = onnxruntime.InferenceSession(path.read_bytes())
    wanted = [output.name for output in session.get_outputs()]
    answers = dict(zip(wanted, session.run(wanted, views), strict=True))
    print("outputs:", ", ".join(wanted))
    print("the same scores:", np.allclose(np.ravel(answers["scores"]), classifier.decision_function(views), atol=1e-3))
