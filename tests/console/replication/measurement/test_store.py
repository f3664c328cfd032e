"""What a flow counts over all its runs never falls."""

import pytest

from console.replication.measurement.store import count_on


def progress(*rows):
    names = ("records", "bytes", "commits", "retries")
    return {"partitions": [dict(zip(names, row, strict=True)) for row in rows]}


def totals(*looks):
    """What is counted after each look: pairs of a run and its progress."""
    counted, found = {}, []
    for run, told in looks:
        counted = count_on(counted, run, told)
        found.append(counted["total"]["records"])
    return found


ONE, TWO = progress((10, 100, 1, 0)), progress((10, 100, 1, 0), (5, 50, 1, 0))
MORE = progress((25, 250, 3, 1))


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        pytest.param([("a", ONE), ("a", MORE)], [10, 25], id="a run continues"),
        pytest.param([("a", MORE), ("a", MORE)], [25, 25], id="nothing new"),
        pytest.param([("a", MORE), ("b", ONE)], [25, 35], id="a new run counts from 0"),
        pytest.param([("a", ONE), ("b", MORE)], [10, 35], id="a new run that is further already"),
        pytest.param([("a", TWO), ("a", ONE)], [15, 15], id="a partition left"),
        pytest.param(
            [("a", TWO), ("a", ONE), ("a", MORE)], [15, 15, 30], id="a partition left, one stays"
        ),
        pytest.param([("a", progress())], [0], id="a run without partitions"),
    ],
)
def test_records_are_counted_once(looks, expected):
    assert totals(*looks) == expected


def test_everything_is_counted():
    assert count_on({}, "a", MORE)["total"] == {
        "records": 25,
        "bytes": 250,
        "commits": 3,
        "retries": 1,
    }


def test_a_run_of_an_earlier_version_tells_no_commits():
    told = {"partitions": [{"records": 1, "bytes": 1, "retries": 0}]}
    assert count_on({}, "a", told)["total"]["commits"] == 0
