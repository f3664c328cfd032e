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
    assert answer_bytes(brokers) == each
