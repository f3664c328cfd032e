"""How much a task asks of its source brokers at once."""

import pytest

from jobs.replication.copy.batches.fetch import answer_bytes

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("brokers", "each"),
    [
        pytest.param(0, 16 * MIB, id="none is known yet"),
        pytest.param(1, 16 * MIB, id="one has everything"),
        pytest.param(4, 4 * MIB, id="four share it"),
        pytest.param(100, MIB, id="never less than one partition may answer"),
    ],
)
def test_brokers_that_answer_at_once_share_the_memory_for_answers(brokers, each):
    assert answer_bytes(48 * MIB, brokers, 16 * MIB) == each


def test_a_copier_with_little_room_asks_for_little():
    assert answer_bytes(6 * MIB, 1, 16 * MIB) == 2 * MIB


@pytest.mark.parametrize(
    ("last", "next_one"), [(0, 2 * MIB), (100, 2 * MIB), (2 * MIB, 8 * MIB), (8 * MIB, 16 * MIB)]
)
def test_a_broker_is_asked_for_more_when_its_last_answer_was_large(last, next_one):
    assert answer_bytes(48 * MIB, 1, last) == next_one
