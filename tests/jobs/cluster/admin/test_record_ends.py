"""Where data ends and when records were written, for logs of committed, aborted and compacted batches."""

import asyncio
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12 import response as fetched

from jobs.cluster.admin.offsets import read_data_end, read_last_timestamp, read_timestamp_at
from jobs.cluster.descriptions import TopicPartition
from jobs.wire.batches.records import PlacedRecord, encode_batch
from tests.jobs.cluster.admin.asking import ask, offer_all
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_broker import NOW, FakeBroker, Hang, topic
from tests.jobs.cluster.protocol.fake_cluster import brokers

WHERE = TopicPartition("orders", 0)
COMMIT, ABORT = b"\0\0\0\1", b"\0\0\0\0"


class Log(NamedTuple):
    """A log's bytes, its end, its aborted transactions, and the committed records as (offset, time)."""

    batches: list[tuple[int, bytes]]
    end: int
    aborted: list[tuple[int, int]]
    committed: list[tuple[int, int]]


def record(offset: int, key: bytes | None = b"k") -> PlacedRecord:
    return PlacedRecord(offset, 1000 + offset, key, b"v", (), 0)


def log_of(parts: list[tuple[str, int, int]]) -> Log:
    """Make a log: each part is (how it ends, offsets, how many of its last records were compacted away)."""
    found = Log([], 0, [], [])
    at = 0
    for producer, (kind, width, removed) in enumerate(parts):
        offsets = range(at, at + max(width - removed, 0))
        own = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0}
        fields = {} if kind == "plain" else {"is_transactional": True, **own}
        data = encode_batch(
            [record(offset) for offset in offsets],
            base_offset=at,
            last_offset=at + width - 1,
            **fields,
        )
        found.batches.append((at + width - 1, data))
        if kind == "aborted":
            found.aborted.append((producer, at))
        else:
            found.committed.extend((offset, 1000 + offset) for offset in offsets)
        at += width
        if kind != "plain":
            key = ABORT if kind == "aborted" else COMMIT
            marker = encode_batch([record(at, key)], is_control=True, **fields)
            found.batches.append((at, marker))
            at += 1
    return found._replace(end=at)


def answering(log: Log, most_batches: int = 3):
    """Answer Fetch with some batches from the position on, as a broker does."""

    def answer(asked):
        (one,) = asked.message.topics[0].partitions
        rest = [data for last, data in log.batches if last >= one.fetch_offset]
        return fetched.FetchResponse(
            throttle_time=NOW,
            error_code=ErrorCode.none,
            responses=(
                fetched.FetchableTopicResponse(
                    topic="orders",
                    partitions=(
                        fetched.PartitionData(
                            partition_index=0,
                            error_code=ErrorCode.none,
                            high_watermark=log.end,
                            last_stable_offset=log.end,
                            log_start_offset=0,
                            aborted_transactions=tuple(
                                fetched.AbortedTransaction(producer_id=p, first_offset=first)
                                for p, first in log.aborted
                            ),
                            records=b"".join(rest[:most_batches]),
                        ),
                    ),
                ),
            ),
        )

    return answer


async def asked_of(log: Log, question, argument):
    async with FakeBroker() as broker:
        broker.topics = (topic("orders", {0: 1}),)
        broker.answers[fake_broker.FETCH] = answering(log)
        return (await ask(broker, question, {WHERE: argument}))[WHERE]


PARTS = st.lists(
    st.tuples(
        st.sampled_from(["plain", "committed", "aborted"]), st.integers(1, 4), st.integers(0, 4)
    ),
    max_size=6,
)


@settings(max_examples=40, deadline=None)
@given(parts=PARTS, data=st.data())
def test_spans_are_read_as_a_reader_of_committed_records_sees_them(parts, data):
    log = log_of(parts)
    start = data.draw(st.integers(0, log.end))
    end = data.draw(st.integers(start, log.end))
    inside = [one for one in log.committed if start <= one[0] < end]
    later = [one for one in log.committed if one[0] >= start]

    async def all_three():
        return (
            await asked_of(log, read_data_end, (start, end)),
            await asked_of(log, read_timestamp_at, start),
            await asked_of(log, read_last_timestamp, end),
        )

    data_end, first_ms, last_ms = asyncio.run(all_three())
    before = [time for offset, time in log.committed if offset < end]
    assert data_end == (inside[-1][0] + 1 if inside else start)
    assert first_ms == (later[0][1] if later else None)
    assert last_ms == (before[-1] if before else None)


@pytest.mark.parametrize(
    ("question", "argument", "found"),
    [
        pytest.param(read_data_end, (3, 9), 9, id="the end of data"),
        pytest.param(read_timestamp_at, 3, None, id="the time of a record"),
        pytest.param(read_last_timestamp, 9, None, id="the time of the last record"),
    ],
)
async def test_a_partition_that_cannot_be_read_is_not_known(question, argument, found):
    async with FakeBroker() as broker:
        broker.topics = ()
        assert await ask(broker, question, {WHERE: argument}, timeout_s=2.0) == {WHERE: found}
    log = Log([(20, b"\1" * 80)], 21, [], [])
    assert await asked_of(log, question, argument) == found


async def test_a_leader_that_hangs_costs_its_own_partitions_only():
    log = log_of([("plain", 3, 0), ("committed", 2, 0)])
    async with brokers(2) as (answers, hangs):
        answers.topics = hangs.topics = (topic("orders", {0: 1, 1: 2}),)
        answers.answers[fake_broker.FETCH] = answering(log, most_batches=1)
        hangs.answers[fake_broker.FETCH] = Hang
        offer_all(hangs)
        spans = {WHERE: (0, log.end), TopicPartition("orders", 1): (0, 9)}
        found = await ask(answers, read_data_end, spans, timeout_s=3.0)
    assert found == {WHERE: log.end - 1, TopicPartition("orders", 1): 9}
