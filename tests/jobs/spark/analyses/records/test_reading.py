"""Spans read from a broker that answers with given batches: what cannot be read is left out and counted."""

import asyncio
import uuid

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v16 import response as fetched

from jobs.cluster.protocol.transport.primitives import duration
from jobs.spark.analyses.records.ranges import Span
from jobs.spark.analyses.records.reading import Clusters, Reading, SpanReader
from jobs.wire.batches.hashes import checksum
from jobs.wire.batches.record_batch import CRC_FROM
from jobs.wire.batches.records import encode_batch
from jobs.wire.values import id_text
from tests.jobs.cluster.protocol.fake_broker import FETCH, topic
from tests.jobs.cluster.protocol.fake_cluster import brokers
from tests.jobs.spark.analyses.records.given_records import record

TOPIC_ID = uuid.uuid4()
UNKNOWN_CODEC = 5


def batch(first: int, codec: int = 0) -> bytes:
    """Return a batch of three records that says that it has a codec, with a CRC that fits."""
    made = bytearray(encode_batch([record(first + n, b"key") for n in range(3)]))
    made[22] |= codec
    made[CRC_FROM - 4 : CRC_FROM] = checksum(bytes(made[CRC_FROM:])).to_bytes(4, "big")
    return bytes(made)


def damaged(first: int) -> bytes:
    return batch(first)[:-1] + b"\x07"


def answer_of(content: bytes, throttle_ms: int = 0) -> fetched.FetchResponse:
    one = fetched.PartitionData(
        partition_index=0,
        error_code=ErrorCode.none,
        high_watermark=9,
        last_stable_offset=9,
        log_start_offset=0,
        aborted_transactions=(),
        records=content,
    )
    about = fetched.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=(one,))
    return fetched.FetchResponse(
        throttle_time=duration(throttle_ms), error_code=ErrorCode.none, responses=(about,)
    )


def read(*answers: fetched.FetchResponse):
    """Return the offsets that are read of a span of nine, its outcome and the number of requests."""
    return asyncio.run(_read(answers))


async def _read(answers):
    coming = list(answers)
    async with brokers() as (broker,):
        broker.topics = (topic("orders", {0: 1}, topic_id=TOPIC_ID),)
        broker.answers[FETCH] = lambda _: coming.pop(0)
        span = Span("cluster", "orders", 0, 0, 9, 0, 9, id_text(TOPIC_ID))

        def work():
            with Clusters(Reading({"cluster": broker.connection})) as clusters:
                reader = SpanReader(clusters, span)
                chunks = list(reader)
                return [int(n) for one in chunks for n in one.records.offsets], reader.outcome

        found, outcome = await asyncio.to_thread(work)
        return found, outcome, len(broker.of(FETCH))


@pytest.mark.parametrize(
    ("middle", "reason"),
    [
        pytest.param(batch(3, UNKNOWN_CODEC), "compression 5", id="unknown-compression"),
        pytest.param(damaged(3), "CRC", id="damaged"),
    ],
)
def test_a_batch_that_cannot_be_read_is_left_out_and_counted_with_its_offset(middle, reason):
    found, outcome, _ = read(answer_of(batch(0) + middle + batch(6)))
    assert found == [0, 1, 2, 6, 7, 8]
    assert (outcome.unreadable_count, outcome.position, outcome.fault) == (1, 9, "")
    ((offset, why),) = outcome.unreadable
    assert (offset, reason in why) == (3, True)


def test_an_answer_held_back_by_a_quota_is_no_end_of_the_log():
    empty = answer_of(b"", throttle_ms=1)
    found, outcome, asked = read(empty, empty, answer_of(b"".join(map(batch, (0, 3, 6)))))
    assert (found, outcome.fault, asked) == ([*range(9)], "", 3)
