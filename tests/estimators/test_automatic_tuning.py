"""tuning="auto": by default a linear head must not see of a landmark what no new sample shows."""

import numpy as np
import pytest
from sklearn.base import clone

import gramless as gl
from gramless.kernels import Custom, Precomputed

pytestmark = pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")


@pytest.fixture(scope="module")
def tailed():
    """A p.s.d. kernel with a heavy tail: every sample is mostly like itself alone."""
    X = np.random.default_rng(0).random((160, 40))
    Y = X[:, :12] + 0.2 * np.random.default_rng(1).normal(size=(160, 12)) > 0.5
    return X, Y.astype(int)


class TestAutomaticTuning:
    def classifier(self, **parameters):
        network = gl.DeepKernelNetwork(("gaussian",), learning=None)
        return gl.DeepMapClassifier(**({"kernel": network, "n_landmarks": 60, "random_state": 0} | parameters))

    def missing(self, clf, X):
        """kappa(x, x) - |phi(x)|^2 of every sample, and which of them are landmarks."""
        dmn = clf.map_network_
        missing = dmn.kernel_.diagonal(X) - np.square(dmn.transform(X)).sum(1)
        return missing, np.isin(np.arange(len(X)), dmn.landmark_indices_)

    def test_by_default_a_landmark_lacks_its_private_share_as_everybody_does(self, tailed, monkeypatch):
        monkeypatch.setattr("gramless.maps.tuning.landmark_descent.STEPS", 400)  # as they are outside tests
        monkeypatch.setattr("gramless.maps.tuning.supervised_finish.MAX_STEPS", 120)
        missing, landmark = self.missing(self.classifier().fit(*tailed), tailed[0])
        assert missing[landmark].mean() > 0.5 * missing[~landmark].mean()
        missing, landmark = self.missing(self.classifier(tuning=None).fit(*tailed), tailed[0])
        assert missing[landmark].mean() < 1e-3 * missing[~landmark].mean()

    def test_moves_landmarks_without_labels_and_then_with(self, tailed):
        auto = self.classifier().fit(*tailed)
        network = auto.map_network_
        assert network.tuning == "landmarks"
        assert auto.get_params()["tuning"] == "auto"
        assert auto.finishing_curve_[0][0] == 0
        moved = clone(network).set_params(tuning=None).fit(tailed[0]).fine_tune(tailed[0])
        assert network.tuning_errors_ == moved.tuning_errors_
        n_steps = max(auto.finishing_curve_, key=lambda point: (point[1], -point[0]))[0]
        same = np.array_equal(network.landmarks_["view0"], moved.landmarks_["view0"])
        assert same == (n_steps == 0)

    @pytest.mark.parametrize("head", ["ridge", "squared_hinge"])
    def test_scores_are_calibrated_in_the_units_that_new_samples_get(self, head, monkeypatch):
        """Labels shape the vectors; the spread of scores before and after differs by a quarter here and more."""
        monkeypatch.setattr("gramless.maps.tuning.supervised_finish.MAX_STEPS", 60)
        rng = np.random.default_rng(0)
        X = rng.random((2400, 20))
        Y = (X[:, :6] - X[:, 6:12] + 0.1 * rng.normal(size=(2400, 6)) > 0.4).astype(int)
        clf = self.classifier(n_landmarks=40, head=head, C=1.0).fit(X[:400], Y[:400])
        assert max(clf.finishing_curve_, key=lambda point: point[1])[0] > 0, "nothing was shaped"
        new = clf.decision_function(X[400:])
        np.testing.assert_allclose(clf.calibration_.scale, new.std(0), rtol=0.15)  # by a standard error of 0.04 each
        np.testing.assert_allclose(clf.calibration_.shift, new.mean(0), atol=0.15 * new.std())

    @pytest.mark.parametrize("kernel", ["precomputed", "custom"])
    def test_kernels_without_a_slope_leave_landmarks_where_they_are(self, tailed, kernel):
        X, Y = tailed
        if kernel == "precomputed":
            X, given = np.arange(160.0)[:, None], Precomputed(np.exp(X @ X.T / 40))
        else:
            given = Custom(lambda x, z: np.exp(x @ z.T))
        network = gl.DeepKernelNetwork((given,), output_activation="identity", learning=None)
        clf = self.classifier(kernel=network).fit(X, Y)
        assert clf.finishing_curve_ is None
        assert clf.map_network_.tuning is None
        with pytest.raises(gl.DataError, match=f"the {kernel} kernel on view 'view0' has no gradient"):
            self.classifier(kernel=network, tuning="landmarks").fit(X, Y)

    @pytest.mark.parametrize(("n_landmarks", "tuning"), [(110, "landmarks"), (111, None), (160, None)])
    def test_needs_fifty_samples_besides_the_landmarks(self, tailed, n_landmarks, tuning):
        clf = self.classifier(n_landmarks=n_landmarks).fit(*tailed)
        assert clf.map_network_.tuning == tuning
        assert (clf.map_network_.tuning_errors_ is None) == (tuning is None)

    @pytest.mark.parametrize(("n_labelled", "finished"), [(49, False), (50, True)])
    def test_samples_without_a_label_move_landmarks_and_finish_nothing(self, tailed, n_labelled, finished):
        X, Y = tailed
        marked = np.where(np.arange(160)[:, None] < n_labelled, Y, -1)
        semi_supervised = gl.DeepKernelNetwork(("gaussian",), learning=gl.SemiSupervised(n_steps=1))
        clf = self.classifier(kernel=semi_supervised).fit(X, marked)
        network = clf.map_network_
        moved = clone(network).set_params(tuning=None).fit(X).fine_tune(X)
        assert network.tuning_errors_ == moved.tuning_errors_
        assert (clf.finishing_curve_ is not None) == finished

    def test_repeated_samples_do_not_count(self, tailed):
        X, Y = tailed
        clf = self.classifier(landmarks=np.arange(60)).fit(np.tile(X[:100], (3, 1)), np.tile(Y[:100], (3, 1)))
        assert clf.map_network_.tuning is None

    def test_more_landmarks_than_samples_is_what_it_was(self, tailed):
        X, Y = tailed
        clf = self.classifier(n_landmarks=500).fit(X, Y)
        plain = self.classifier(n_landmarks=160, tuning=None).fit(X, Y)
        np.testing.assert_array_equal(clf.decision_function(X), plain.decision_function(X))

    def test_a_budget_without_room_for_it_leaves_the_map_as_it_is_and_says_so(self, tailed):
        X, Y = tailed
        with gl.config_context(memory_budget="400 KiB"):
            with pytest.raises(gl.MemoryBudgetError, match="moving 100 landmarks"):
                self.classifier(tuning="landmarks", n_landmarks=100).fit(X, Y)
            with pytest.warns(UserWarning, match=r"'auto' moves the landmarks no further: .* raise memory_budget"):
                clf = self.classifier(n_landmarks=100).fit(X, Y)
            plain = self.classifier(tuning=None, n_landmarks=100).fit(X, Y)
        assert clf.map_network_.tuning is None
        np.testing.assert_array_equal(clf.decision_function(X), plain.decision_function(X))

    def test_survives_a_file(self, tailed, tmp_path):
        X, Y = tailed
        clf = self.classifier().fit(X, Y)
        gl.save(clf, tmp_path / "clf.gramless")
        np.testing.assert_array_equal(gl.load(tmp_path / "clf.gramless").decision_function(X), clf.decision_function(X))

    def test_a_way_of_tuning_that_is_not_there(self, tailed):
        with pytest.raises(ValueError, match=r"'tuning' parameter .* Got 'best'"):
            self.classifier(tuning="best").fit(*tailed)
