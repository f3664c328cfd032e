"""Clusters and copiers that break at a chosen moment: nothing is lost or doubled, and people see why."""

import os
import re
from dataclasses import replace

import pytest

from jobs.cluster.protocol.errors import ProducerFenced
from jobs.replication.copy.batches.markers import fence_flow
from jobs.replication.copy.contract import CopyState
from jobs.replication.flow.internal_topics import syncs_place
from jobs.replication.flow.spec import Guarantee, SyncsLocation
from tests.live.copied_records import assert_equal, assert_mapped, content, read_syncs
from tests.live.copiers import BatchCopying, CopierProcess, copy_all, flow_between, survey
from tests.live.records import SteadyProducer, produce
from tests.live.topics import ends_of, make_topic, new_topic, wait_until_known
from tests.live.whole_batches import Transactions, read_placed
from tests.waiting import Stalls, eventually, pause

pytestmark = pytest.mark.timeout(900)

COUNT = 40_000
# As much as a second of copying, so that something is under way when it breaks.
SLOW = {"max_bytes_per_s": 400_000}
COPYING = CopyState.COPYING
LONG = pytest.mark.campaign("faults")
KILL, PAUSE = pytest.param("kill", marks=LONG), pytest.param("pause", marks=LONG)
OF_OTHERS = re.compile(r"west|Broker [23] of hurt has not answered|broker [23]\b.* did not answer")


def assert_copied(source, target, topic: str, flow) -> None:
    """Compare records, and what the syncs say about them."""
    wanted = read_placed(source, topic)
    found = read_placed(target, f"{flow.source.alias}.{topic}")
    assert_equal(wanted, found)
    syncs_topic, on_source = syncs_place(flow)
    assert_mapped(wanted, found, read_syncs(source if on_source else target, syncs_topic, topic))


def reasons(copying: BatchCopying) -> set[str]:
    return {row.reason for row in copying.history if row.state is CopyState.RETRYING}


def test_a_lost_source_broker_is_told_by_its_partitions_only(small_lab, west):
    lab = small_lab("hurt", nodes=3)
    hurt = lab.cluster("hurt")
    topic = new_topic(hurt, 3)
    for partition in range(3):
        produce(hurt, topic, COUNT, partition)
    flow = flow_between(hurt, west, topic, **SLOW)
    with BatchCopying(flow) as copying:
        eventually(lambda: any(row.records for row in copying.rows.values()), 60)
        lab.node("hurt-1").kill()
        copying.wait_for_positions(dict.fromkeys(range(3), COUNT), 120)
        lab.start()
        for partition in range(3):
            copying.wait_for_state(CopyState.CAUGHT_UP, partition)
    told = {
        row.partition
        for row in copying.history
        # The others may be late for a moment, too, on a machine that is busy.
        if row.state is CopyState.RETRYING and not OF_OTHERS.search(row.reason)
    }
    assert len(told) < 3
    assert_copied(hurt, west, topic, flow)


@pytest.mark.parametrize("how", ["kill", PAUSE])
def test_a_target_that_goes_away_in_the_middle_is_told_and_nothing_is_doubled(small_lab, east, how):
    lab = small_lab("hurt")
    hurt, node = lab.cluster("hurt"), lab.node("hurt-1")
    topic = new_topic(east, 2)
    for partition in range(2):
        produce(east, topic, COUNT, partition)
    flow = flow_between(east, hurt, topic, **SLOW)
    with BatchCopying(flow) as copying:
        eventually(lambda: any(row.records for row in copying.rows.values()), 60)
        getattr(node, how)()
        for partition in range(2):
            produce(east, topic, 10, partition)  # however fast it was, something is left to be sent
        row = copying.wait_for_state(CopyState.RETRYING, about="hurt")
        node.resume()
        lab.start()
        copying.wait_for_positions(dict.fromkeys(range(2), COUNT + 10), 120)
        copying.wait_for_state(CopyState.CAUGHT_UP)
    assert "hurt" in row.reason
    assert_copied(east, hurt, topic, flow)


def test_a_source_that_is_away_is_told_and_followed_when_it_is_back(small_lab, west):
    lab = small_lab("hurt")
    hurt = lab.cluster("hurt")
    topic = new_topic(hurt)
    produce(hurt, topic, 5)
    flow = flow_between(hurt, west, topic)
    with BatchCopying(flow) as copying:
        copying.wait_for_state(CopyState.CAUGHT_UP)
        lab.node("hurt-1").kill()
        row = copying.wait_for_state(CopyState.RETRYING, about="hurt")
        lab.start()
        copying.wait_for_state(CopyState.CAUGHT_UP)
        produce(hurt, topic, 5)
        copying.wait_for_position(10)
    assert "hurt" in row.reason
    assert_copied(hurt, west, topic, flow)


@pytest.mark.parametrize("how", [KILL, "pause"])
def test_a_stop_while_the_target_is_away_ends_in_time_and_keeps_the_position(small_lab, east, how):
    lab = small_lab("hurt")
    hurt, node = lab.cluster("hurt"), lab.node("hurt-1")
    topic = new_topic(east)
    flow = flow_between(east, hurt, topic)
    produce(east, topic, 5)
    with BatchCopying(flow) as copying:
        copying.wait_for_position(5)
        getattr(node, how)()
        produce(east, topic, 5)
        copying.wait_for_state(CopyState.RETRYING, about="hurt")
        with Stalls() as stalls:
            copying.stop()
        assert stalls.took_s < 10.5
    assert copying.rows[0].position == 5
    node.resume()
    lab.start()
    wait_until_known(hurt.connection, f"east.{topic}")
    copy_all(flow, east, topic)
    assert_copied(east, hurt, topic, flow)


@pytest.mark.campaign("faults")
def test_a_copier_begins_although_the_target_is_away(small_lab, east):
    lab = small_lab("hurt")
    hurt = lab.cluster("hurt")
    topic = new_topic(east)
    flow = flow_between(east, hurt, topic)
    produce(east, topic, 5)
    starts = survey(flow).plan.starts
    lab.node("hurt-1").kill()
    with BatchCopying(flow, starts) as copying:
        row = copying.wait_for_state(CopyState.RETRYING, about="hurt")
        lab.start()
        copying.wait_for_position(5)
    assert "hurt" in row.reason


def test_a_copier_that_is_killed_leaves_nothing_twice(east, west, tmp_path):
    topic = new_topic(east, 2)
    for partition in range(2):
        produce(east, topic, COUNT, partition)
    flow = flow_between(east, west, topic, commit_interval_ms=2000, **SLOW)
    for life in range(3):
        produce(east, topic, 10)  # however fast the lives before it were, something is left
        worker = CopierProcess(flow, tmp_path / str(life))
        worker.wait_until_copying()
        worker.kill()
    copy_all(flow, east, topic)
    assert_copied(east, west, topic, flow)


def test_at_least_once_a_killed_copier_leaves_twice_what_its_successor_counts(east, west, tmp_path):
    topic = new_topic(east)
    produce(east, topic, COUNT)
    flow = flow_between(
        east, west, topic, commit_interval_ms=60_000, delivery=Guarantee.AT_LEAST_ONCE
    )
    # Ten seconds of copying: one that had caught up would have committed, and left nothing twice.
    worker = CopierProcess(replace(flow, max_bytes_per_s=100_000), tmp_path / "first")
    eventually(lambda: ends_of(west, f"east.{topic}").get(0, 0) > 0, 60)
    worker.kill()
    again = copy_all(flow, east, topic)
    sent = [content(one) for one in read_placed(east, topic)[0]]
    copied = [content(one) for one in read_placed(west, f"east.{topic}")[0]]
    assert list(dict.fromkeys(copied)) == sent
    doubled = len(copied) - len(sent)
    assert doubled > 0
    assert again.rows[0].duplicates == doubled
    assert f"{doubled} records were written to east.{topic}-0" in again.rows[0].findings[0]


def test_of_two_copiers_with_the_same_slot_the_older_one_ends(east, west):
    topic = new_topic(east)
    flow = flow_between(east, west, topic)
    produce(east, topic, 10)
    with BatchCopying(flow) as older:
        older.wait_for_position(10)
        with BatchCopying(flow) as newer:
            eventually(lambda: newer.rows and newer.rows[0].state is CopyState.CAUGHT_UP, 60)
            produce(east, topic, 500)
            newer.wait_for_position(510)
            older.wait_for_end()
            produce(east, topic, 5)
            newer.wait_for_position(515)
        assert isinstance(older.error, ProducerFenced)
        older.error = None
    assert_copied(east, west, topic, flow)


def test_a_copier_that_slept_while_another_one_took_over_never_takes_it_back(
    small_lab, east, tmp_path
):
    """Its connections are gone when it wakes up, so the first thing it does is begin again."""
    lab = small_lab("hurt")
    hurt = lab.cluster("hurt")
    topic = new_topic(east)
    flow = flow_between(east, hurt, topic, **SLOW)
    produce(east, topic, COUNT)
    zombie = CopierProcess(flow, tmp_path / "zombie")
    zombie.wait_until_copying()
    zombie.pause()
    produce(east, topic, 10)  # the zombie may have copied everything else before it fell asleep
    with BatchCopying(flow) as newer:
        # Not its position: the zombie may have come as far.
        eventually(lambda: newer.rows and newer.rows[0].records > 0, 60)
        lab.node("hurt-1").stop()
        lab.start()
        zombie.resume()
        produce(east, topic, 10)
        zombie.wait(90)
        newer.wait_for_position(COUNT + 20)
    assert zombie.error.startswith("ProducerFenced")
    assert_copied(east, hurt, topic, flow)


@pytest.mark.campaign("faults")
def test_offset_syncs_on_the_source_are_whole_after_a_kill(east, west, tmp_path):
    topic = new_topic(east)
    writer = Transactions(east, topic)
    flow = flow_between(east, west, topic, offset_syncs=SyncsLocation.SOURCE)
    for life in range(2):
        worker = CopierProcess(flow, tmp_path / str(life))
        worker.wait_until_begun()
        for turn in range(30):
            writer.begin()
            writer.write(5)
            writer.end(commit=turn % 3 > 0)
        worker.wait_until_copying()
        worker.kill()
        fence_flow(
            flow
        )  # as its driver would: otherwise the broker keeps the transaction open for 75 s
    copy_all(flow, east, topic)
    assert_copied(east, west, topic, flow)


def test_a_transaction_of_somebody_else_does_not_hide_where_a_flow_is(east, west):
    """Positions of all flows stand in one topic: a reader stops at the first open transaction."""
    from jobs.replication.copy.positions import positions_topic

    topic = new_topic(east)
    flow = flow_between(east, west, topic)
    produce(east, topic, 10)
    survey(flow)
    stranger = Transactions(west, positions_topic("east"), **{"transaction.timeout.ms": 10_000})
    stranger.begin()
    for partition in range(25):
        stranger.write(1, partition)
    with BatchCopying(flow) as copying:
        copying.wait_for_position(10)
    again = copy_all(flow, east, topic)  # waits until the broker has ended the transaction
    assert again.starts[0].position == 10
    assert_copied(east, west, topic, flow)


@pytest.mark.campaign("faults")
def test_leaders_that_move_on_the_target_are_followed(small_lab, east):
    lab = small_lab("hurt", nodes=3)
    hurt = lab.cluster("hurt")
    topic = new_topic(east, 3)
    make_topic(hurt, f"east.{topic}", 3)
    for partition in range(3):
        produce(east, topic, COUNT, partition)
    flow = flow_between(east, hurt, topic, **SLOW)
    with BatchCopying(flow) as copying:
        eventually(lambda: any(row.records for row in copying.rows.values()), 60)
        lab.node("hurt-2").pause()
        pause(1, "a broker hangs for so long while something is written to it")
        copying.wait_for_positions(dict.fromkeys(range(3), COUNT), 150)
        # Waking up, it would take itself for the leader, and its logs end too soon.
        lab.node("hurt-2").kill()
    assert_copied(east, hurt, topic, flow)


@pytest.mark.campaign("faults")
def test_no_transaction_is_ended_while_nobody_leads_what_it_wrote_to(small_lab, east):
    """A broker leaves the marker out there, and the next transaction's decides about both."""
    lab = small_lab("hurt", nodes=3)
    hurt = lab.cluster("hurt")
    topic = new_topic(east, 6)
    settings = SLOW | {"replication_factor": 1, "commit_interval_ms": 2000}
    flow = flow_between(east, hurt, topic, **settings)
    # Somebody goes on writing, so that something is under way whenever a broker stops.
    with BatchCopying(flow) as copying, SteadyProducer(east, topic, 6) as writing:
        for life, name in enumerate(("hurt-1", "hurt-2"), 1):
            for partition in range(6):
                produce(east, topic, COUNT // 2, partition)
            eventually(lambda: any(row.state is COPYING for row in copying.rows.values()), 30)
            lab.node(name).stop()
            lab.node(name).start()
            copying.wait_for_positions(dict.fromkeys(range(6), life * COUNT // 2), 100)
        writing.stop()
        copying.wait_for_positions(ends_of(east, topic), 100)
    assert_copied(east, hurt, topic, flow)


def test_records_pass_by_protocol_1_and_although_they_are_older_than_the_retention(small_lab, east):
    import asyncio

    from tests.live.cluster_protocol.test_transactions import downgrade
    from tests.live.whole_batches import DAY, NOW, opened, record, write_batches

    never = {"log.retention.check.interval.ms": "3600000", "log.initial.task.delay.ms": "3600000"}
    hurt = small_lab("old", overrides=never).cluster("old")

    async def go_back() -> None:
        async with opened(hurt.connection) as door:
            await downgrade(door, "transaction.version", 0)

    asyncio.run(go_back())
    topic = new_topic(east, 2, retention_ms="-1")
    make_topic(hurt, f"east.{topic}", 2, retention_ms="60000")
    old = [record(n, os.urandom(50), timestamp=NOW - 400 * DAY + n) for n in range(200)]
    write_batches(east, topic, 0, [old] * 30)
    flow = flow_between(east, hurt, topic, commit_interval_ms=50)
    with BatchCopying(flow) as copying:
        for turn in range(10):
            produce(east, topic, 50, 1)
            copying.wait_for_position(50 * (turn + 1), 1)
        copying.wait_for_position(6000)
    assert_copied(east, hurt, topic, flow)
