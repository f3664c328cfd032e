"""What rounds remember of groups: samples of their lag, and when members were gone."""

import json

import pytest

from jobs.checks.group_memory import GroupMemory, Seen
from jobs.checks.groups import Sample


def remembered(*rounds, every_s=90, unread=()):
    """Return the memory after rounds, each with the lag (or lag and known partitions) of one group."""
    memory = GroupMemory()
    for i, one in enumerate(rounds):
        lag, known = one if isinstance(one, tuple) else (one, 10)
        memory.add(i * every_s, i + 1, [] if unread else [Seen("7", 1, lag, known)], unread)
    return memory


@pytest.mark.parametrize(
    ("rounds", "lags"),
    [
        pytest.param((5, 6, 7), [5, 6, 7], id="one after the other"),
        pytest.param((5, 0, 7), [7], id="begins again after no lag"),
        pytest.param((5, None, 7), [7], id="begins again after an unknown lag"),
        pytest.param((5, (6, 9), (7, 9)), [6, 7], id="begins again with other partitions"),
        pytest.param(range(1, 31), list(range(20, 31)), id="the last ones are kept"),
    ],
)
def test_samples_of_a_group(rounds, lags):
    assert [one.lag for one in remembered(*rounds).samples("7")] == lags


def test_samples_have_the_distance_that_keeps_them_few():
    memory = remembered(*range(1, 40), every_s=5)
    assert memory.samples("7") == [Sample(0, 1), Sample(90, 19), Sample(180, 37)]


def test_a_round_that_was_remembered_is_no_second_sample():
    memory = remembered(5)
    memory.add(1000, 1, [Seen("7", 1, 5, 10)], ())
    assert len(memory.samples("7")) == 1


def test_a_group_that_could_not_be_read_keeps_its_samples_and_one_that_is_gone_does_not():
    memory = remembered(5, 6)
    memory.add(180, 3, [], {"7"})
    memory.add(270, 4, [Seen("7", 1, 8, 10)], ())
    assert memory.samples("7") == [Sample(0, 5), Sample(90, 6), Sample(270, 8)]
    memory.add(360, 5, [], ())
    assert (memory.samples("7"), memory.members) == ([], set())


def test_a_trend_is_covered_after_ten_minutes():
    assert not remembered(*range(1, 8)).is_covered
    assert remembered(*range(1, 9)).is_covered


def test_members_that_are_gone_are_dated_until_they_are_back():
    memory = GroupMemory()
    for i, members in enumerate((2, 0, None, 0)):
        memory.add(i * 90, i + 1, [Seen("7", members, 5, 1)], ())
    assert (memory.gone, memory.back) == ({"7": 90}, {})
    memory.add(360, 9, [Seen("7", 1, 5, 1)], ())
    assert (memory.gone, memory.back) == ({}, {"7": 360})


def test_a_restart_of_the_members_is_no_absence():
    memory = GroupMemory()
    for i, members in enumerate((2, 0, 2)):
        memory.add(i * 10, i + 1, [Seen("7", members, 5, 1)], ())
    assert (memory.gone, memory.back) == ({}, {})


def test_a_group_that_was_never_seen_with_members_is_not_gone():
    memory = GroupMemory()
    memory.add(0, 1, [Seen("7", 0, 5, 1)], ())
    assert memory.gone == {}


def test_the_memory_of_5000_groups_is_less_than_a_megabyte_of_json():
    memory = GroupMemory()
    for i in range(20):
        seen = [Seen(str(pk), 3, 10_000_000 + pk + i, 10) for pk in range(100_000, 105_000)]
        memory.add(i * 90, i + 1, seen, ())
    text = json.dumps(memory.to_mapping())
    assert len(text) < 1_000_000
    assert GroupMemory.from_mapping(json.loads(text)).to_mapping() == memory.to_mapping()
