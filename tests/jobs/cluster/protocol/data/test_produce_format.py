"""Produce's own form: the same bytes as kio's, without a copy of the batches."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema
from kio.schema.produce.v12 import request as v12
from kio.serial import entity_writer

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.data.produce import encode_produce
from jobs.cluster.protocol.transport.apis import PRODUCE
from jobs.cluster.protocol.transport.primitives import duration
from tests.jobs.cluster.protocol.batches import batch

NAME = st.text(min_size=1, max_size=20)
PLACES = st.builds(TopicPartition, NAME, st.integers(0, 2**31 - 1))
# Around the lengths at which a varint grows, and at which a body is sent from where it lies.
BATCHES = st.sampled_from([0, 1, 65, 66, 67, 1023, 1024, 16_321, 16_322, 16_323, 70_000]).map(
    lambda size: batch(bytes(size))
)


@pytest.mark.parametrize("version", PRODUCE.speaks.versions)
@given(st.dictionaries(PLACES, BATCHES, max_size=5), st.none() | NAME, st.integers(0, 2**31 - 1))
def test_a_request_has_the_bytes_that_kio_writes(version, batches, transactional_id, timeout_ms):
    buffer = io.BytesIO()
    request = v12.ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout=duration(timeout_ms),
        topic_data=tuple(
            v12.TopicProduceData(
                name=topic,
                partition_data=tuple(
                    v12.PartitionProduceData(
                        index=where.partition,
                        records=batches[where].header + bytes(batches[where].body),
                    )
                    for where in sorted(batches)
                    if where.topic == topic
                ),
            )
            for topic in sorted({where.topic for where in batches})
        ),
    )
    entity_writer(load_request_schema(PRODUCE.speaks.key, version))(buffer, request)
    chunks = encode_produce(version, batches, transactional_id, timeout_ms)
    assert b"".join(chunks) == buffer.getvalue()
    assert all(len(chunk) for chunk in chunks)


def test_a_large_batch_is_sent_from_where_it_lies():
    one = batch(bytes(5000))
    chunks = encode_produce(12, {TopicPartition("orders", 0): one}, None, 1000)
    assert any(chunk is one.body for chunk in chunks)
