"""The copiers of a process share the memory for what is on its way."""

import pytest

from jobs.replication.copy.batches.outgoing import (
    BUDGET_BYTES,
    LEAST_BYTES,
    MOST_BYTES,
    Memory,
    in_flight,
)

MIB = 1024 * 1024


@pytest.fixture
def copiers():
    made = [Memory(f"flow {number}") for number in range(100)]
    yield made
    for memory in made:
        memory.close()


def hold(memory, size_bytes):
    held = memory.hold(size_bytes)
    held.use()
    return held


@pytest.mark.parametrize(
    ("others", "room"),
    [
        pytest.param(0, MOST_BYTES, id="alone"),
        pytest.param(1, MOST_BYTES, id="beside one"),
        pytest.param(5, BUDGET_BYTES // 6, id="beside five"),
        pytest.param(99, LEAST_BYTES, id="never less than that"),
    ],
)
def test_a_copier_may_hold_a_fair_share_of_what_all_may(copiers, others, room):
    for memory in copiers[1 : others + 1]:
        hold(memory, 3 * MIB)
    assert copiers[0].room_bytes == room


def test_copiers_that_hold_little_take_nothing_from_others(copiers):
    for memory in copiers[1:]:
        hold(memory, 1000)
    assert copiers[0].room_bytes == MOST_BYTES


def test_each_flow_tells_what_it_holds_until_it_is_acknowledged(copiers):
    first, second = hold(copiers[1], 10), hold(copiers[2], 20)
    assert in_flight() == {"flow 1": 10, "flow 2": 20}
    first.release()
    assert in_flight() == {"flow 2": 20}
    second.release()
    assert in_flight() == {}


def test_a_session_that_ends_holds_nothing_any_more(copiers):
    hold(copiers[1], 10)
    copiers[1].close()
    assert in_flight() == {}
