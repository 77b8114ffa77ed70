"""What matters to a model: shares of views in its decisions, and what shuffling a view costs."""

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import gramless as gl
from gramless.figures.drawing import save_importances_figure

digits = load_digits()
images = digits.images.astype(np.float32)
views = gl.Views(
    {
        "pixels": images.reshape(len(images), -1),
        "sums": np.hstack([images.sum(1), images.sum(2)]),
        "noise": np.random.default_rng(0).random((len(images), 20)).astype(np.float32),
    }
)
train, test = train_test_split(np.arange(len(images)), train_size=300, random_state=0)
model = gl.DeepKernelClassifier(random_state=0).fit(views[train], digits.target[train])
print(model.importances_)
for digit, shares in zip(model.importances_.labels, model.importances_.of_views, strict=True):
    print(digit, ", ".join(f"{name} {share:.0%}" for name, share in zip(views.names, shares, strict=True)))

shuffled = gl.permutation_importances(model, views[test], digits.target[test], random_state=0)
for name, mean, spread in zip(shuffled.views, shuffled.mean, shuffled.std, strict=True):
    print(f"shuffling {name} costs {100 * mean:.1f} +- {100 * spread:.1f} points of accuracy")
if len(sys.argv) > 1:
    with open(sys.argv[1], "wb") as file:
        save_importances_figure(model.importances_, file, shuffled)
    print(f"drawn: {sys.argv[1]}")
