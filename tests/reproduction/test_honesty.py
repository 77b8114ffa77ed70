"""The last section: it counts by table and head, and names what is farthest behind in each."""

from dataclasses import replace

from reproduction import honesty
from reproduction.report import Entry, Row, Table


def table(*rows, groups=(("theirs", 1), ("ours", 1))):
    return Table("Numbers", "caption", groups, ("R", "time"), rows)


ROWS = (
    Row("a", (Entry((50.0, 52.0), 40.0, "higher", 1), Entry((1.0,), 2.0, "lower", 1))),
    Row("b", (Entry((30.0,), 40.0, "higher", 1), Entry((9.0,), 2.0, "lower", 1))),
    Row("c", (Entry((38.0, 41.0), 40.0, "higher", 1), Entry((3.0,), 2.0, "lower", 1))),
    Row("d", (Entry((), 40.0, "higher", 1), Entry((2.0,), 2.0, "lower", 1))),
)


def test_every_group_is_counted_and_its_farthest_is_named():
    found = honesty.section([table(*ROWS)], ("something",), 0, ("a remark",))
    assert found.paragraphs == (
        "Figures of keywords against the published: 2 ahead, 4 behind.",
        "1 of these differences are smaller than the standard deviation over seeds.",
    )
    assert found.points == (
        "Numbers, theirs: 1 ahead, 2 behind; farthest: b, R: 30.0, published 40.0.",
        "Numbers, ours: 1 ahead, 2 behind; farthest: b, time: 9.0, published 2.0.",
        "a remark",
        "What differs: something",
    )


def test_what_is_of_another_kernel_or_machine_is_counted_by_itself():
    unlike = replace(table(ROWS[0], ROWS[0], ROWS[1]), like_for_like=False)
    found = honesty.facts([table(*ROWS), unlike], 1_200, 200)
    assert found == (
        ("cells computed", "1,000 of 1,200"),
        (honesty.LIKE, "2 ahead, 4 behind"),
        (honesty.UNLIKE, "4 ahead, 2 behind"),
    )
    assert honesty.facts([], 1, 0) == (("cells computed", "1 of 1"),)


def test_a_table_without_groups_is_one_part():
    found = honesty.section([table(*ROWS, groups=())], (), 3)
    assert found.points == ("Numbers: 2 ahead, 4 behind; farthest: b, time: 9.0, published 2.0.",)
    assert found.paragraphs[-1].startswith("3 cells are not computed yet")


def test_what_is_ahead_everywhere_names_nothing():
    found = honesty.section([table(ROWS[0])], (), 0)
    assert found.points == ("Numbers, theirs: 1 ahead, 0 behind.", "Numbers, ours: 1 ahead, 0 behind.")


def test_one_seed_has_no_spread_to_speak_of():
    alone = Row("a", (Entry((50.0,), 40.0, "higher", 1), Entry(None, None, None, 1)))
    found = honesty.section([table(alone)], (), 0)
    assert len(found.paragraphs) == 1
    assert found.points == ("Numbers, theirs: 1 ahead, 0 behind.",)
