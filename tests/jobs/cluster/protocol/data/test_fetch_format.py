"""Fetch's own form: the same bytes and values as kio's, without a copy of the records."""

import contextlib
import io
import struct
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12 import request as old_requests
from kio.schema.fetch.v12 import response as old_responses
from kio.schema.fetch.v16 import request as requests
from kio.schema.fetch.v16 import response as responses
from kio.serial import entity_reader, entity_writer

from jobs.cluster.protocol.data.fetch_format import Asked, FetchLimits, decode_fetch, encode_fetch
from jobs.cluster.protocol.transport.apis import FETCH
from jobs.cluster.protocol.transport.primitives import duration

VERSIONS = FETCH.versions
I16, I32, I64 = (st.integers(-(2**bits), 2**bits - 1) for bits in (15, 31, 63))
TOPIC_ID = st.uuids(version=4)
NAME = st.text(max_size=40)


def topics(version):
    return TOPIC_ID if version >= 13 else NAME


@pytest.mark.parametrize("version", VERSIONS)
@given(st.data())
def test_a_request_has_the_bytes_that_kio_writes(version, data):
    partition = st.tuples(I32, I32, I64, I32, I32)
    asked = data.draw(
        st.lists(
            st.tuples(topics(version), st.lists(partition, min_size=1, max_size=5)),
            max_size=4,
            unique_by=lambda item: item[0],
        )
    )
    limits = FetchLimits(*data.draw(st.tuples(I32, I32, I32, st.booleans())))
    rack = data.draw(NAME)
    flat = [Asked(topic, *one) for topic, partitions in asked for one in partitions]
    assert encode_fetch(version, flat, limits, rack) == by_kio(version, asked, limits, rack)


def by_kio(version, asked, limits, rack) -> bytes:
    kinds = requests if version >= 13 else old_requests
    field = "topic_id" if version >= 13 else "topic"
    request = (requests if version >= 15 else old_requests).FetchRequest(
        max_wait=duration(limits.max_wait_ms),
        min_bytes=limits.min_bytes,
        max_bytes=limits.max_bytes,
        isolation_level=int(limits.read_committed),
        topics=tuple(
            kinds.FetchTopic(
                **{field: topic},
                partitions=tuple(
                    kinds.FetchPartition(
                        partition=one[0],
                        current_leader_epoch=one[1],
                        fetch_offset=one[2],
                        last_fetched_epoch=one[3],
                        partition_max_bytes=one[4],
                    )
                    for one in partitions
                ),
            )
            for topic, partitions in asked
        ),
        forgotten_topics_data=(),
        rack_id=rack,
    )
    buffer = io.BytesIO()
    entity_writer(load_request_schema(1, version))(buffer, request)
    return buffer.getvalue()


@st.composite
def partitions(draw):
    return responses.PartitionData(
        partition_index=draw(I32),
        error_code=draw(st.sampled_from(list(ErrorCode))),
        high_watermark=draw(I64),
        last_stable_offset=draw(I64),
        log_start_offset=draw(I64),
        diverging_epoch=draw(
            st.builds(responses.EpochEndOffset, epoch=st.integers(0, 2**31 - 1), end_offset=I64)
            | st.just(responses.EpochEndOffset())
        ),
        current_leader=draw(
            st.builds(
                responses.LeaderIdAndEpoch, leader_id=st.integers(0, 2**31 - 1), leader_epoch=I32
            )
            | st.just(responses.LeaderIdAndEpoch())
        ),
        snapshot_id=draw(st.builds(responses.SnapshotId, end_offset=I64, epoch=I32)),
        aborted_transactions=draw(
            st.none()
            | st.lists(
                st.builds(responses.AbortedTransaction, producer_id=I64, first_offset=I64),
                max_size=3,
            ).map(tuple)
        ),
        preferred_read_replica=draw(I32),
        records=draw(st.none() | st.binary(max_size=300)),
    )


@st.composite
def answers(draw, version):
    kinds = responses if version >= 13 else old_responses
    field = "topic_id" if version >= 13 else "topic"
    topic = st.builds(
        kinds.FetchableTopicResponse,
        partitions=st.lists(partitions(), max_size=4).map(tuple),
        **{field: topics(version)},
    )
    # Versions from 16 on may carry the addresses of new leaders, which are of no use here.
    endpoints = st.lists(
        st.builds(responses.NodeEndpoint, node_id=I32, host=NAME, port=I32, rack=NAME), max_size=2
    )
    return responses.FetchResponse(
        throttle_time=duration(draw(st.integers(0, 2**31 - 1))),
        error_code=draw(st.sampled_from(list(ErrorCode))),
        session_id=draw(I32),
        responses=draw(st.lists(topic, max_size=3).map(tuple)),
        node_endpoints=draw(endpoints.map(tuple)) if version >= 16 else (),
    )


def written(version, answer) -> memoryview:
    """Return the frame of an answer: a correlation id, no tagged fields, the message."""
    buffer = io.BytesIO()
    buffer.write(struct.pack(">iB", 1, 0))
    entity_writer(load_response_schema(1, version))(buffer, answer)
    return memoryview(buffer.getvalue())


@pytest.mark.parametrize("version", VERSIONS)
@given(st.data())
def test_an_answer_is_read_as_kio_reads_it(version, data):
    frame = written(version, data.draw(answers(version)))
    expected, size = entity_reader(load_response_schema(1, version))(frame, 5)
    found, end = decode_fetch(frame, version, 0)
    assert end == size + 5 == len(frame)
    assert found.throttle_ms == round(expected.throttle_time.total_seconds() * 1000)
    assert found.error == expected.error_code
    assert [comparable(one) for one in found.partitions] == [
        of_kio(topic, one) for topic in expected.responses for one in topic.partitions
    ]


def comparable(one) -> tuple:
    return (*one[:8], bytes(one.records), one.diverging_epoch, one.current_leader)


def of_kio(topic, one) -> tuple:
    diverging, leader = one.diverging_epoch, one.current_leader
    return (
        getattr(topic, "topic_id", None) or getattr(topic, "topic", uuid.UUID(int=0)),
        one.partition_index,
        int(one.error_code),
        one.high_watermark,
        one.last_stable_offset,
        one.log_start_offset,
        tuple((a.producer_id, a.first_offset) for a in one.aborted_transactions or ()),
        one.preferred_read_replica,
        one.records or b"",
        (diverging.epoch, diverging.end_offset) if diverging.epoch >= 0 else None,
        (leader.leader_id, leader.leader_epoch) if leader.leader_id >= 0 else None,
    )


def example(version=16, records=b"x" * 3000) -> memoryview:
    partition = responses.PartitionData(
        partition_index=1,
        error_code=ErrorCode.none,
        high_watermark=10,
        aborted_transactions=(responses.AbortedTransaction(producer_id=4, first_offset=2),),
        current_leader=responses.LeaderIdAndEpoch(leader_id=2, leader_epoch=9),
        records=records,
    )
    topic = responses.FetchableTopicResponse(topic_id=uuid.uuid4(), partitions=(partition,) * 2)
    answer = responses.FetchResponse(
        throttle_time=duration(0), error_code=ErrorCode.none, responses=(topic,)
    )
    return written(version, answer)


def test_records_stay_where_they_were_received():
    frame = example()
    found, _ = decode_fetch(frame, 16, 0)
    assert all(one.records.obj is frame.obj for one in found.partitions)


def test_an_answer_cut_anywhere_is_never_taken_for_a_whole_one():
    frame = example(records=b"x" * 40)
    for end in range(len(frame)):
        try:
            _, stopped_at = decode_fetch(frame[:end], 16, 0)
        except (ValueError, IndexError, struct.error):
            continue
        assert stopped_at != end, f"cut at byte {end}"


@given(st.data())
def test_a_damaged_answer_raises_nothing_unexpected(data):
    frame = bytearray(example(records=b"x" * 40))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(5, len(frame) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError, IndexError, struct.error):
        decode_fetch(memoryview(bytes(frame)), 16, 0)
