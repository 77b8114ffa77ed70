"""Dates are no numbers, whatever NumPy makes of them."""

import numpy as np
import pandas as pd
import pytest

import gramless as gl

DAYS = pd.date_range("2020-02-27", periods=12)
TABLES = {
    "a column": pd.DataFrame({"length": np.arange(12.0), "seen": DAYS}),
    "all columns": pd.DataFrame({"seen": DAYS.where(DAYS.day != 1)}),
    "durations": pd.DataFrame({"seen": DAYS - DAYS[0]}),
    "with a time zone": pd.DataFrame({"seen": DAYS.tz_localize("UTC")}),
    "array": DAYS.to_numpy()[:, None],
}


@pytest.mark.parametrize("kind", [gl.DeepMapClassifier, gl.DeepKernelRegressor, gl.DeepKernelNetwork])
@pytest.mark.parametrize("made", TABLES)
def test_dates_are_refused_by_the_name_of_their_column(kind, made):
    with pytest.raises(ValueError, match=f"'{'X' if made == 'array' else 'seen'}' holds dates or times"):
        kind(random_state=0).fit(TABLES[made], np.arange(12) % 2)


def test_numbers_made_of_dates_are_taken():
    table = pd.DataFrame({"day": (DAYS - DAYS[0]).days, "month": DAYS.month})
    assert gl.DeepMapClassifier(random_state=0).fit(table, np.arange(12) // 6).predict(table).shape == (12,)


def test_dates_as_targets_are_told_as_such():
    with pytest.raises(ValueError, match=r"datetime64.*real numbers, \(n,\) or \(n, n_targets\)\.$"):
        gl.DeepKernelRegressor().fit(np.arange(12.0)[:, None], DAYS)
