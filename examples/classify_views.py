"""Classify samples that are described in several ways: here digits, by their pixels, rows and columns."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import gramless as gl

digits = load_digits()
pictures = digits.images[:600]
views = gl.Views(
    {
        "pixels": pictures.reshape(len(pictures), -1),
        "rows": pictures.sum(axis=2),
        "columns": pictures.sum(axis=1),
    }
)
train, test = train_test_split(np.arange(len(views)), random_state=0)

classifier = gl.DeepMapClassifier(n_landmarks=60, random_state=0)
classifier.fit(views[train], digits.target[train])
right = float((classifier.predict(views[test]) == digits.target[test]).mean())
print(f"{right:.1%} of {len(test)} digits recognised")
