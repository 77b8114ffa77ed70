"""Files that arrive, grow, change and go."""

import os

from gramless.cli.annotate_watch import Arrivals


def write(path, content, at):
    path.write_bytes(content)
    os.utime(path, ns=(at, at))


def test_a_file_is_given_once_when_it_has_stopped_growing(tmp_path):
    arrivals, a, b = Arrivals(), tmp_path / "a", tmp_path / "b"
    write(a, b"x", 1)
    assert arrivals.look([a]) == []
    write(a, b"xx", 2)
    assert arrivals.look([a]) == []
    write(b, b"y", 3)
    assert arrivals.look([a, b]) == [a]
    assert arrivals.look([a, b]) == [b]
    assert arrivals.look([a, b]) == []


def test_a_changed_file_arrives_anew_and_so_does_one_that_was_away(tmp_path):
    arrivals, a = Arrivals(), tmp_path / "a"
    write(a, b"x", 1)
    arrivals.pass_over([a])
    assert [arrivals.look([a]) for _ in range(3)] == [[], [], []]
    write(a, b"x", 2)
    assert [arrivals.look([a]) for _ in range(3)] == [[], [a], []]
    a.unlink()
    assert arrivals.look([a]) == []
    write(a, b"x", 2)
    assert [arrivals.look([a]) for _ in range(3)] == [[], [a], []]


def test_a_file_that_is_gone_between_finding_and_looking_is_no_error(tmp_path):
    assert Arrivals().look([tmp_path / "gone", tmp_path]) == []
