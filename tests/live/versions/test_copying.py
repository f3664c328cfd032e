"""A flow from each version to Kafka 4.3.1 and back: each record once, offsets translated, groups moved."""

from __future__ import annotations

import time
import uuid

import pytest

from jobs.replication.failover.applying import OutcomeState, apply_group
from jobs.replication.failover.kafka import open_groups, read_translator
from jobs.replication.failover.model import CheckState, Direction, FailoverRequest
from jobs.replication.failover.read_evidence import EvidenceRequest, Route
from jobs.replication.failover.session import ask_plan, confirm_plan
from jobs.replication.flow.internal_topics import syncs_place
from tests.live import whole_batches
from tests.live.copied_records import assert_equal, assert_mapped, examine_checkpoints, read_syncs
from tests.live.copiers import copy_all, flow_between
from tests.live.groups import Rounds, consume, new_group
from tests.live.records import Record, produce, write
from tests.live.topics import make_topic, new_topic
from tests.live.versions.versions import having
from tests.live.whole_batches import read_placed
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)
RECORDS = 400
LIMIT_S = 600
PARTITIONS = 6
# message.timestamp.after.max.ms is an hour by default (KIP-1030).
SINCE_LIMITED = (4, 0)


@pytest.fixture(scope="session")
def filled():
    """The topics that clusters have been filled with: one of many kinds of batches, one with gaps."""
    made: dict[int, tuple[str, str]] = {}

    def fill(cluster) -> tuple[str, str]:
        if id(cluster) not in made:
            mixed, compacted = new_topic(cluster, PARTITIONS), f"c-{uuid.uuid4().hex[:8]}"
            make_topic(cluster, compacted, **whole_batches.COMPACTED)
            for partition, codec in enumerate(whole_batches.CODECS):
                produce(cluster, mixed, 1000, partition, **{"compression.type": codec})
            whole_batches.interleave(cluster, mixed, 5)
            whole_batches.interleave(cluster, mixed, 4, rounds=6, **{"compression.type": "zstd"})
            whole_batches.make_gaps(cluster, compacted, rounds=3)
            made[id(cluster)] = mixed, compacted
        return made[id(cluster)]

    return fill


def assert_copied(source, target, topic: str) -> None:
    # The copy of a topic whose cleaner runs on would be cleaned once more.
    make_topic(target, f"{source.plan.alias}.{topic}", read_partitions(source, topic))
    flow = flow_between(source, target, topic)
    copy_all(flow, source, topic)
    originals, copies = (
        read_placed(source, topic),
        read_placed(target, f"{source.plan.alias}.{topic}"),
    )
    assert_equal(originals, copies)
    syncs_topic, on_source = syncs_place(flow)
    assert not on_source
    assert_mapped(originals, copies, read_syncs(target, syncs_topic, topic))


def read_partitions(cluster, topic: str) -> int:
    from tests.live.topics import partitions_of

    return partitions_of(cluster, topic)


@pytest.mark.capability("Copying compressed and transactional batches", role="source")
def test_every_record_is_copied_once_to_the_newest_and_translated(cluster, newest, filled):
    assert_copied(cluster, newest, filled(cluster)[0])


@pytest.mark.capability("Copying compacted topics", role="source")
def test_a_compacted_topic_is_copied_to_the_newest_and_translated(cluster, newest, filled):
    assert_copied(cluster, newest, filled(cluster)[1])


@pytest.mark.capability("Copying compressed and transactional batches", role="target")
def test_every_record_is_copied_once_from_the_newest_and_translated(cluster, newest, filled):
    assert_copied(newest, cluster, filled(newest)[0])


@pytest.mark.capability("Copying compacted topics", role="target")
def test_a_compacted_topic_is_copied_from_the_newest_and_translated(cluster, newest, filled):
    assert_copied(newest, cluster, filled(newest)[1])


@having(before=SINCE_LIMITED)
@pytest.mark.capability("Copying records with timestamps of the future", role="source")
def test_a_record_that_its_source_took_two_days_ahead_is_copied(cluster, newest):
    topic = new_topic(cluster)
    at = int(time.time() * 1000) + 2 * whole_batches.DAY
    whole_batches.write_batches(cluster, topic, 0, [[whole_batches.record(0, timestamp=at)]])
    copy_all(flow_between(cluster, newest, topic), cluster, topic)
    assert_equal(read_placed(cluster, topic), read_placed(newest, f"{cluster.plan.alias}.{topic}"))


@pytest.mark.capability("Checkpoints", role="source")
def test_checkpoints_of_a_source_lie_where_its_group_goes_on(cluster, newest):
    assert_checkpoints(cluster, newest)


@pytest.mark.capability("Checkpoints", role="target")
def test_checkpoints_on_a_target_lie_where_a_group_goes_on(cluster, newest):
    assert_checkpoints(newest, cluster)


def assert_checkpoints(source, target) -> None:
    """Run rounds of checkpoints; a record's value is its offset."""
    topic, group = new_topic(source), new_group()
    write(source, topic, [Record(0, b"k", b"%d" % n) for n in range(RECORDS)])
    flow = flow_between(source, target, topic, groups=(group,))
    consume(source, group, topic, RECORDS // 2)
    copy_all(flow, source, topic)
    with Rounds(flow) as rounds:
        eventually(lambda: rounds.run().written, 60, every=0.5)
    alias = source.plan.alias
    topics = (f"{alias}.{topic}", syncs_place(flow)[0], f"{alias}.checkpoints.internal")
    figures = examine_checkpoints(target, topics, {group})
    # Metadata tells no ids before Kafka 3.1, and below inter.broker.protocol.version 2.8 topics have none.
    is_behind = "inter.broker.protocol.version" in target.plan.overrides
    without_ids = is_behind or target.jvm.release.number < (3, 1)
    wrong = {"without_id": 1} if without_ids else {}
    assert (figures.checkpoints, figures.wrong) == (1, wrong), figures.examples


@pytest.mark.capability("Failover and failback", role="source")
def test_a_group_of_a_source_fails_over_and_back_without_a_lost_record(cluster, newest):
    assert_moves(cluster, newest)


@pytest.mark.capability("Failover and failback", role="target")
def test_a_group_fails_over_to_a_target_and_back_without_a_lost_record(cluster, newest):
    assert_moves(newest, cluster)


def assert_moves(source, target) -> None:
    topic, group = new_topic(source, 2), new_group()
    flow = flow_between(source, target, topic)
    values = [r.value for p in (0, 1) for r in produce(source, topic, RECORDS // 2, p)]
    read = consume(source, group, topic, RECORDS // 2)
    copy_all(flow, source, topic)
    planned = apply(flow, group, Direction.FAILOVER)
    assert planned.verdict is not CheckState.FAILED
    there = consume(target, group, f"{source.plan.alias}.{topic}", 60)
    assert len(set(there) & set(read)) <= planned.reread_most
    back = apply(flow, group, Direction.FAILBACK)
    again = consume(source, group, topic)
    assert set(read) | set(there) | set(again) == set(values)
    left = set(values) - set(read) - set(there)
    assert len(again) - len(left) <= back.reread_most


def apply(flow, group: str, direction: Direction):
    """Plan a move and carry it out; returns the plan of the group."""
    routes = (Route(flow, read_translator(flow, timeout_s=60), 0),)
    asked = EvidenceRequest(FailoverRequest(direction, (group,)), routes, timeout_s=60)
    plan = ask_plan(asked)
    confirm_plan(plan, [group], asked, LIMIT_S)
    with open_groups(asked.destination, timeout_s=60) as groups:
        outcome = apply_group(groups, plan.group(group), None, lambda _: None)
    assert outcome.state is OutcomeState.APPLIED, outcome.message
    return plan.group(group)
