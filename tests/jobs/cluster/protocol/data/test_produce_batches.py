"""What a Produce request takes: one batch, and none of those that brokers accept to everybody's harm."""

import pytest

from jobs.cluster.protocol.data.produce import HEADER_BYTES, BatchBytes
from tests.jobs.cluster.protocol.batches import CONTROL, TRANSACTIONAL, batch, header

OWN = {"producer_id": 5, "producer_epoch": 0, "sequence": 0}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param({"magic": 1}, "format is 1", id="an older format"),
        pytest.param({"length": 60}, "its length", id="shorter than it says"),
        pytest.param({"length": 50}, "its length", id="two batches"),
        pytest.param({"base_offset": 7}, "base offset is 7", id="the source's offset"),
        pytest.param({"attributes": CONTROL}, "control", id="a transaction marker"),
        pytest.param({"last_offset_delta": 5}, "at 6 offsets", id="compacted, or a faked end"),
        pytest.param({"records": 0, "last_offset_delta": -1}, "0 records", id="no record"),
        pytest.param({"producer_id": 5}, "sequence -1", id="an id without a sequence"),
        pytest.param({"sequence": 0}, "sequence 0", id="a sequence without an id"),
        pytest.param(
            {"attributes": TRANSACTIONAL}, "transactional", id="transaction of no producer"
        ),
    ],
)
def test_a_batch_that_would_do_harm_is_refused(changes, says):
    with pytest.raises(ValueError, match=says):
        batch(b"body......", **changes)


def test_a_batch_knows_its_size_and_its_records():
    one = batch(b"body", records=3, last_offset_delta=2)
    assert (len(one), one.records) == (HEADER_BYTES + 4, 3)


def test_a_batch_knows_whether_it_belongs_to_a_transaction():
    assert batch(**OWN, attributes=TRANSACTIONAL).is_transactional
    assert not batch(**OWN).is_transactional


def test_the_body_is_not_copied():
    body = bytearray(b"body")
    one = BatchBytes(header(body), memoryview(body))
    assert one.body.obj is body
