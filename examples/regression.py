"""Numbers with error bars: the progress of diabetes from ten measurements, and two targets at once."""

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.model_selection import train_test_split

import gramless as gl

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = gl.DeepKernelRegressor(random_state=0).fit(X_train, y_train)
means, deviations = model.predict(X_test, return_std=True)
inside = np.mean(np.abs(y_test - means) < 1.645 * deviations)
print(f"diabetes: R2 {model.score(X_test, y_test):.2f}, {inside:.0%} of the test samples within 90 % intervals")

X, y = make_friedman1(600, noise=1.0, random_state=0)
both = np.column_stack([y, X[:, 0] * X[:, 1]])
model = gl.DeepMapRegressor(n_landmarks=200, random_state=0).fit(X[:400], both[:400])
print(f"two targets: R2 {model.score(X[400:], both[400:]):.2f}, strengths of the ridge {model.alpha_}")
