"""The ends of local and remote logs, also of brokers that do not tell them."""

import asyncio

import pytest
from kio.schema.errors import ErrorCode

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.spark.analyses.tracing.tier_reading import read_ends
from jobs.tracing.tiers import Ends, TierSettings
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.data.test_offsets import offsets
from tests.jobs.cluster.protocol.fake_broker import topic
from tests.jobs.cluster.protocol.fake_cluster import brokers

PLACE = TopicPartition("orders", 0)


async def ends_of(newest, *, tiered=True, error=ErrorCode.none):
    """Return the ends that a broker tells which offers ListOffsets up to a version; each is 7."""
    async with brokers() as (one,):
        one.topics = (topic("orders", {0: 1}),)
        one.offered[fake_broker.LIST_OFFSETS] = (1, newest)
        one.answers[fake_broker.LIST_OFFSETS] = offsets(error, offset=7)
        found = await asyncio.to_thread(read, one, {"orders": TierSettings(tiered)})
    return found[PLACE]


def read(broker, settings):
    with ClusterClient(broker.connection, timeout_s=30) as client:
        return read_ends(client, [PLACE], settings)


@pytest.mark.parametrize(
    ("newest", "local_start", "highest"),
    [
        pytest.param(9, 7, 7, id="3.9 and later"),
        pytest.param(8, 7, None, id="3.5 to 3.8"),
        pytest.param(7, None, None, id="before 3.5"),
    ],
)
async def test_what_a_broker_is_too_old_to_tell_is_unknown_with_the_reason(
    newest, local_start, highest
):
    found = await ends_of(newest)
    assert (found.log_start, found.local_start, found.highest, found.end) == (
        7, local_start, highest, 7,
    )  # fmt: skip
    assert ("ListOffsets" in found.reason) == (highest is None)


async def test_the_log_of_a_topic_without_tiered_storage_is_local_on_every_broker():
    assert await ends_of(7, tiered=False) == Ends(7, 7, None, 7)


async def test_a_partition_that_may_not_be_described_has_the_reason():
    found = await ends_of(9, error=ErrorCode.topic_authorization_failed)
    assert (found.log_start, found.end) == (None, None)
    assert "orders" in found.reason
