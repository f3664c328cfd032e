"""Brokers with quotas for a flow's client id: copying is slower, and says why."""

import asyncio
import os

import pytest
from kio.schema.alter_client_quotas.v1.request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from kio.schema.alter_client_quotas.v1.response import AlterClientQuotasResponse

from jobs.cluster.protocol.transport.apis import Api
from jobs.replication.flow.spec import CopyPath
from tests.live.copied_records import assert_equal
from tests.live.copiers import BatchCopying, flow_between
from tests.live.records import Record, write
from tests.live.topics import new_topic
from tests.live.whole_batches import opened, read_placed
from tests.waiting import eventually

COUNT, SIZE = 3000, 1000
# Brokers look at eleven seconds together: less than the whole in that time.
BYTES_PER_S = 150_000.0


def set_quota(
    cluster, flow: str, key: str, *, value: float = BYTES_PER_S, remove: bool = False
) -> None:
    """Limit what each broker lets a flow or a client write or read, or end the limit."""
    entity = EntityData(entity_type="client-id", entity_name=f"crosslog-{flow}")
    entry = EntryData(entity=(entity,), ops=(OpData(key=key, value=value, remove=remove),))
    api = Api(AlterClientQuotasRequest, AlterClientQuotasResponse, 1)

    async def ask() -> None:
        async with opened(cluster.connection) as door:
            broker = next(iter((await door.metadata()).brokers))
            connection = await door.connection_to(broker, "quotas")
            request = AlterClientQuotasRequest(entries=(entry,), validate_only=False)
            answer = await connection.request(api, request)
            assert not any(one.error_code for one in answer.entries), answer

    asyncio.run(ask())


@pytest.mark.parametrize("path", list(CopyPath))
@pytest.mark.parametrize(
    ("side", "key"), [("source", "consumer_byte_rate"), ("target", "producer_byte_rate")]
)
def test_who_is_held_back_by_a_quota_says_for_how_long_and_loses_nothing(
    east, west, side, key, path
):
    topic = new_topic(east)
    written = 0

    def write_more() -> None:
        nonlocal written
        write(east, topic, [Record(value=os.urandom(SIZE)) for _ in range(COUNT)])
        written += COUNT

    def is_held_back() -> bool:
        if any(row.quota_ms > 0 for row in copying.history):
            return True
        if copying.rows and copying.rows[0].position >= written:
            write_more()  # a broker had not heard of its quota yet, or the copier was slower than it
        return False

    write_more()
    flow = flow_between(east, west, topic, path=path)
    cluster = {"source": east, "target": west}[side]
    set_quota(cluster, flow.name, key)
    try:
        with BatchCopying(flow) as copying:
            eventually(is_held_back, 60)
            set_quota(cluster, flow.name, key, remove=True)
            copying.wait_for_position(written, within_s=120)
    finally:
        set_quota(cluster, flow.name, key, remove=True)
    assert copying.rows[0].throttled_ms == 0
    assert_equal(read_placed(east, topic), read_placed(west, f"east.{topic}"))
