"""Clusters that are too old for whole batches, or refuse everything: another path, or an end at once."""

import asyncio
import struct

import pytest

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.errors import VersionNotOffered
from jobs.replication.copy.batches.copier import BatchCopier
from jobs.replication.copy.contract import PartitionStart
from jobs.replication.copy.flow_copier import (
    WITHOUT_TRANSACTIONS,
    lacks_batches,
    record_path_reason,
)
from jobs.replication.copy.records.copier import RecordCopier
from jobs.replication.flow.spec import CopyPath, FlowSpec, Guarantee
from tests.jobs.cluster.protocol.fake_broker import API_VERSIONS, FETCH, PRODUCE, FakeBroker
from tests.jobs.cluster.protocol.fake_cluster import brokers

OLDER_THAN_2_4 = struct.pack(">iihi", 10, 1, 35, 0)
START = PartitionStart("orders", 0, 0, "east.orders")


def flow_between(source, target, **settings) -> FlowSpec:
    ends = (
        Connection("east", f"127.0.0.1:{source.port}"),
        Connection("west", f"127.0.0.1:{target.port}"),
    )
    return FlowSpec("f", *ends, **settings)


async def lacking(source, target) -> str:
    flow = flow_between(source, target)

    def ask() -> str:
        with ClusterClient(flow.source) as one, ClusterClient(flow.target) as other:
            return lacks_batches(one, other)

    return await asyncio.to_thread(ask)


async def test_clusters_with_all_versions_copy_whole_batches():
    async with FakeBroker() as source, FakeBroker() as target:
        assert await lacking(source, target) == ""


async def test_a_source_without_the_version_of_fetch_is_named_with_the_release_that_has_it():
    async with FakeBroker() as source, FakeBroker() as target:
        source.offered[FETCH] = (4, 11)
        assert await lacking(source, target) == (
            "east: broker 1 does not have version 12 of the request Fetch, which came with Kafka 2.7 and "
            "which copying whole batches needs."
        )


async def test_one_broker_of_the_target_without_the_version_of_produce_is_enough():
    async with FakeBroker() as source, brokers(3) as made:
        made[1].offered[PRODUCE] = (3, 7)
        assert (await lacking(source, made[0])).startswith(
            "west: broker 2 does not have version 8 of the request Produce"
        )


async def test_a_broker_that_does_not_answer_says_nothing_against_whole_batches():
    async with FakeBroker() as source, brokers(2) as made:
        await made[1].stop()
        assert await lacking(source, made[0]) == ""


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        pytest.param({}, f"too old. {WITHOUT_TRANSACTIONS}", id="exactly once is requested"),
        pytest.param({"delivery": Guarantee.AT_LEAST_ONCE}, "too old.", id="at least once"),
        pytest.param(
            {"path": CopyPath.RECORD}, "the flow is set to copy record by record", id="chosen"
        ),
    ],
)
def test_the_record_path_is_taken_with_the_guarantee_that_it_gives(settings, reason):
    ends = Connection("east", "a:1"), Connection("west", "b:1")
    assert record_path_reason(FlowSpec("f", *ends, **settings), {}, "too old.") == reason


class _Asks:
    """Counts how often a copier asks whether to stop; it stops after 1000 times."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> bool:
        self.count += 1
        return self.count > 1000


def by_batches(flow, should_stop):
    BatchCopier(flow, 0, should_stop, lambda _: None, lambda *_: None).copy([START])


def by_records(flow, should_stop):
    RecordCopier(flow).copy([START], should_stop, lambda _: None)


@pytest.mark.parametrize("copy", [by_batches, by_records])
async def test_a_path_that_can_never_copy_ends_with_the_reason_after_a_few_tries(copy):
    async with FakeBroker() as source, FakeBroker() as target:
        source.answers[API_VERSIONS] = target.answers[API_VERSIONS] = OLDER_THAN_2_4
        with pytest.raises(VersionNotOffered, match=r"older than Kafka 2\.4") as caught:
            await asyncio.to_thread(copy, flow_between(source, target), _Asks())
        assert caught.value.is_final
        assert source.connections + target.connections <= 2


@pytest.mark.parametrize("copy", [by_batches, by_records])
async def test_a_path_waits_for_a_cluster_that_is_down(copy):
    async with FakeBroker() as source, FakeBroker() as target:
        flow = flow_between(source, target)
        await source.stop()
        await target.stop()
        asks = _Asks()
        asks.count = 990
        await asyncio.to_thread(copy, flow, asks)
        assert asks.count > 1000


@pytest.mark.parametrize("copy", [by_batches, by_records])
async def test_a_path_leaves_it_to_the_driver_to_wait_for_a_person(copy):
    async with FakeBroker() as target:
        connection = Connection.from_mapping(
            {
                "alias": "west",
                "bootstrap_servers": f"127.0.0.1:{target.port}",
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_username": "crosslog",
                "sasl_password": "env:CROSSLOG_SECRET_NOT_SET",
            }
        )
        flow = FlowSpec("f", Connection("east", f"127.0.0.1:{target.port}"), connection)
        with pytest.raises(ClusterFault) as caught:
            await asyncio.to_thread(copy, flow, _Asks())
        assert caught.value.code == "secret_missing"
        assert target.connections == 0
