"""The last section: it counts, names what is behind, and begins with the worst."""

from gramless.report.reproduction import Entry, Row, Table
from gramless.reproduce import honesty


def table(*rows):
    return Table("Numbers", "caption", (("ours", 2),), ("R", "time"), rows)


def test_what_is_behind_is_named_worst_first():
    found = honesty.section(
        [
            table(
                Row("a", (Entry((50.0, 52.0), 40.0, "higher", 1), Entry((1.0,), 2.0, "lower", 1))),
                Row("b", (Entry((30.0,), 40.0, "higher", 1), Entry((9.0,), 2.0, "lower", 1))),
                Row("c", (Entry((), 40.0, "higher", 1), Entry((2.0,), 2.0, "lower", 1))),
            )
        ],
        ("something",),
        0,
    )
    assert found.paragraphs == ("2 figures are ahead of the published ones, 2 behind.",)
    assert found.points == (
        "Numbers: 2 ahead, 2 behind.",
        "Behind: Numbers, b, time, ours: 9.0, published 2.0.",
        "Behind: Numbers, b, R, ours: 30.0, published 40.0.",
        "What differs: something",
    )


def test_of_many_only_the_worst_are_listed():
    rows = [Row(str(i), (Entry((float(i),), 100.0, "higher", 0), Entry((), None, None, 0))) for i in range(30)]
    points = honesty.section([table(*rows)], (), 0).points
    assert points[1].startswith("Behind: Numbers, 0,")
    assert points[-1] == "And 18 more that are behind by less; the tables mark them."
    assert len(points) == 1 + honesty.MOST_LISTED + 1
