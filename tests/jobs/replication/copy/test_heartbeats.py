"""Heartbeats of a flow: what is sent to a cluster that is away, and to the other one meanwhile."""

import asyncio
import contextlib
import threading
import uuid

from kio.schema.errors import ErrorCode
from kio.schema.produce.v12 import response as responses

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.protocol.transport.primitives import duration
from jobs.cluster.read_only import VARIABLE
from jobs.replication.copy.heartbeats import Heartbeats
from jobs.replication.flow.heartbeat_copy import HeartbeatWriter
from jobs.replication.flow.spec import FlowSpec, HeartbeatsTo
from jobs.wire.batches.records import PlacedRecord, placed_records
from jobs.wire.mirror_records import decode_heartbeat
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_broker import FakeBroker, Hang, topic
from tests.waiting import eventually_async


def answer(error=ErrorCode.none):
    partition = responses.PartitionProduceResponse(
        index=0,
        error_code=error,
        base_offset=1,
        log_append_time=None,
        log_start_offset=0,
        record_errors=(),
    )
    one = responses.TopicProduceResponse(name="heartbeats", partition_responses=(partition,))
    return responses.ProduceResponse(responses=(one,), throttle_time=duration(0))


@contextlib.asynccontextmanager
async def taking(error=ErrorCode.none):
    """A broker with a topic of heartbeats, under an alias of its own: connections are kept by alias."""
    async with FakeBroker() as broker:
        broker.topics = (topic("heartbeats", {0: 1}),)
        broker.answers[fake_broker.PRODUCE] = answer(error)
        yield broker, Connection(f"c{uuid.uuid4().hex[:8]}", broker.connection.bootstrap_servers)


def sent(broker) -> list[list[PlacedRecord]]:
    """Return the records of each request."""
    return [
        [
            record
            for topic in one.topic_data
            for partition in topic.partition_data
            for record in placed_records(partition.records)
        ]
        for one in broker.of(fake_broker.PRODUCE)
    ]


def beat(key: bytes, at_ms: int) -> PlacedRecord:
    return PlacedRecord(0, at_ms, key, b"%d" % at_ms)


async def written(writer, *records) -> str:
    """Write, and return the problem of the write before it, whose answer is waited for."""
    if writer._asked is not None:
        await eventually_async(writer._asked.done)
    return writer.write({"heartbeats": records})


async def test_of_a_key_the_newest_is_sent():
    async with taking() as (broker, connection):
        await written(HeartbeatWriter(ClusterClient(connection)), beat(b"a", 1), beat(b"a", 2))
        await eventually_async(lambda: sent(broker))
        assert [record.value for record in sent(broker)[0]] == [b"2"]


async def test_what_a_cluster_refused_is_sent_with_the_next():
    async with taking(ErrorCode.topic_authorization_failed) as (broker, connection):
        writer = HeartbeatWriter(ClusterClient(connection))
        await written(writer, beat(b"a", 1), beat(b"b", 1))
        assert "TOPIC_AUTHORIZATION_FAILED" in await written(writer, beat(b"a", 2))
        await eventually_async(lambda: len(sent(broker)) == 2)
        newest = {record.key: record.value for record in sent(broker)[1]}
        assert newest == {b"a": b"2", b"b": b"1"}


async def test_what_was_taken_is_not_sent_again_because_another_topic_was_refused():
    async with taking() as (broker, connection):
        writer = HeartbeatWriter(ClusterClient(connection))
        writer.write({"heartbeats": [beat(b"a", 1)], "gone": [beat(b"g", 1)]})
        assert "gone" in await written(writer, beat(b"b", 1))
        await eventually_async(lambda: len(sent(broker)) == 2)
        assert [record.key for record in sent(broker)[1]] == [b"b"]


async def test_nothing_is_written_where_crosslog_is_read_only(monkeypatch):
    monkeypatch.setenv(VARIABLE, "1")
    async with taking() as (broker, connection):
        writer = HeartbeatWriter(ClusterClient(connection))
        await written(writer, beat(b"a", 1))
        assert "read-only" in await written(writer, beat(b"a", 2))
        assert sent(broker) == []


async def test_a_source_that_hangs_takes_no_heartbeat_from_the_target():
    async with taking() as (source, there), taking() as (target, here):
        source.answers[fake_broker.METADATA] = Hang
        flow = FlowSpec("f", there, here)
        one, other = ClusterClient(there, timeout_s=0.2), ClusterClient(here)
        with away_from_this_loop(Heartbeats(flow, one, other)):
            await eventually_async(lambda: len(sent(target)) >= 2)
        first = sent(target)[0][0]
        found = decode_heartbeat(first.key, first.value)
        aliases = (found.source_cluster_alias, found.target_cluster_alias)
        assert aliases == (there.alias, here.alias)
        assert found.timestamp_ms == first.timestamp


def test_a_flow_without_heartbeats_has_no_thread_for_them():
    connection = Connection("west", "127.0.0.1:2")
    flow = FlowSpec(
        "f", Connection("east", "127.0.0.1:1"), connection, heartbeats=HeartbeatsTo.NONE
    )
    with Heartbeats(flow, ClusterClient(flow.source), ClusterClient(connection)):
        assert "f: heartbeats" not in [thread.name for thread in threading.enumerate()]


@contextlib.contextmanager
def away_from_this_loop(heartbeats: Heartbeats):
    """End heartbeats without waiting for them: the brokers answer in the loop of the test."""
    heartbeats.__enter__()
    try:
        yield
    finally:
        asyncio.get_running_loop().run_in_executor(None, heartbeats.__exit__, None, None, None)
