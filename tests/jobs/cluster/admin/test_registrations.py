"""The registrations of brokers are read from snapshot and log, and followed."""

import pytest

from jobs.cluster.admin.registrations import Endpoint, RegistrationLog
from jobs.cluster.errors import NotAuthorized
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata.records import encode_metadata_record
from tests.jobs.cluster.protocol.fake_broker import FETCH
from tests.jobs.cluster.protocol.fake_controller import (
    FETCH_SNAPSHOT,
    controllers,
    door_to,
    log_answer,
    piece,
)
from tests.jobs.wire.metadata.snapshot_writer import SnapshotWriter

ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


def register(broker, epoch, *, is_fenced=True):
    return encode_metadata_record(
        "REGISTER_BROKER_RECORD",
        3,
        {
            "brokerId": broker,
            "isMigratingZkBroker": False,
            "incarnationId": ZERO_ID,
            "brokerEpoch": epoch,
            "endPoints": [{"name": "PLAIN", "host": "b", "port": 9092, "securityProtocol": 0}],
            "features": [],
            "rack": "site-b",
            "fenced": is_fenced,
            "inControlledShutdown": False,
        },
    )


def change(broker, epoch, **fields):
    data = {"brokerId": broker, "brokerEpoch": epoch, **fields}
    return encode_metadata_record("BROKER_REGISTRATION_CHANGE_RECORD", 1, data)


def unregister(broker, epoch):
    data = {"brokerId": broker, "brokerEpoch": epoch}
    return encode_metadata_record("UNREGISTER_BROKER_RECORD", 0, data)


def no_op():
    return encode_metadata_record("NO_OP_RECORD", 0, {})


def batch(base, *values):
    placed = [PlacedRecord(base + n, 1_000, None, value) for n, value in enumerate(values)]
    return encode_batch(placed, base_offset=base, partition_leader_epoch=1)


async def follow(*answers, snapshot=b""):
    """Return the log after one step per answer."""
    waiting = list(answers)
    async with controllers() as (one,), door_to(one) as door:
        one.answers[FETCH] = lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0]
        one.answers[FETCH_SNAPSHOT] = lambda asked: piece(
            (20, 1), snapshot, asked.message.topics[0].partitions[0].position, 40
        )
        log = RegistrationLog(door)
        for _ in answers:
            await log.step(wait_ms=0)
        return log, one


async def test_a_registration_is_told_with_its_epoch():
    log, _ = await follow(log_answer(batch(5, no_op(), register(4, 6)), high_watermark=7))
    broker = log.brokers[4]
    assert (broker.broker_epoch, broker.rack, broker.is_fenced) == (6, "site-b", True)
    assert broker.endpoints == (Endpoint("PLAIN", "b", 9092),)
    assert log.is_at_end


async def test_fencing_and_unfencing_are_followed_and_counted():
    log, _ = await follow(
        log_answer(
            batch(5, register(4, 5), change(4, 5, fenced=-1), change(4, 5, fenced=1)),
            high_watermark=8,
        )
    )
    assert (log.brokers[4].is_fenced, log.brokers[4].fencings) == (True, 1)


async def test_a_broker_that_registers_again_begins_anew():
    log, _ = await follow(
        log_answer(
            batch(5, register(4, 5), change(4, 5, fenced=1), register(4, 7, is_fenced=False)),
            high_watermark=8,
        )
    )
    broker = log.brokers[4]
    assert (broker.broker_epoch, broker.fencings, broker.is_fenced) == (7, 0, False)


async def test_an_unregistered_broker_is_gone():
    log, _ = await follow(log_answer(batch(5, register(4, 5), unregister(4, 5)), high_watermark=7))
    assert log.brokers == {}


async def test_a_broker_that_is_about_to_stop_is_known_as_such():
    log, _ = await follow(
        log_answer(batch(5, register(4, 5), change(4, 5, inControlledShutdown=1)), high_watermark=7)
    )
    assert log.brokers[4].in_controlled_shutdown


async def test_what_is_not_committed_is_held_back():
    log, _ = await follow(
        log_answer(batch(5, register(4, 5)) + batch(6, change(4, 5, fenced=-1)), high_watermark=6)
    )
    assert log.brokers[4].is_fenced
    assert log.is_at_end


async def test_what_was_read_before_is_not_counted_twice():
    again = log_answer(
        batch(5, register(4, 5), change(4, 5, fenced=-1), change(4, 5, fenced=1)), high_watermark=8
    )
    log, one = await follow(again, again)
    assert log.brokers[4].fencings == 1
    assert one.of(FETCH)[1].topics[0].partitions[0].fetch_offset == 8


async def test_reading_begins_with_the_newest_snapshot_in_pieces():
    writer = SnapshotWriter(epoch=1, last_contained_log_timestamp_ms=1)
    writer.append([register(1, 3, is_fenced=False), no_op(), register(4, 6)])
    log, _ = await follow(
        log_answer(snapshot_id=(20, 1), high_watermark=22),
        log_answer(batch(20, change(4, 6, fenced=-1), no_op()), high_watermark=22),
        snapshot=writer.freeze(),
    )
    assert {number: one.is_fenced for number, one in log.brokers.items()} == {1: False, 4: False}
    assert log.is_at_end


async def test_a_log_that_was_cut_is_read_anew():
    log, one = await follow(
        log_answer(batch(5, register(4, 5)), high_watermark=6),
        log_answer(diverging=(1, 3), high_watermark=6),
        log_answer(batch(5, register(7, 5)), high_watermark=6),
    )
    assert set(log.brokers) == {7}
    assert one.of(FETCH)[2].topics[0].partitions[0].fetch_offset == 0


async def test_without_cluster_action_the_right_is_named():
    with pytest.raises(NotAuthorized) as told:
        await follow(log_answer(whole="cluster_authorization_failed"))
    assert "CLUSTER_ACTION" in told.value.hint
