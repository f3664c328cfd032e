"""Which checkpoint a group gets."""

import pytest

from jobs.cluster.descriptions import OffsetRange, TopicPartition
from jobs.replication.checkpoints.rules import CheckpointOffsets, Why, decide
from jobs.replication.naming.mirror_client import rename_topic
from jobs.replication.offset_sync_store import OffsetSyncStore
from jobs.replication.policy import DefaultReplicationPolicy
from jobs.replication.translation.bounded import BoundedTranslator
from jobs.replication.translation.sync_history import Certificate
from tests.support import conformance_cases

FILE = "offset_translation"
TARGET = OffsetRange(log_start_offset=0, end_offset=1000, high_watermark=1000)


def between(lo: int, hi: int | None) -> Certificate:
    return Certificate(lo, hi, "because")


@pytest.mark.parametrize(
    ("upstream", "certificate", "previous", "told", "why"),
    [
        pytest.param(
            10, between(20, 20), None, CheckpointOffsets(10, 20), Why.FIRST, id="the first time"
        ),
        pytest.param(
            9,
            between(19, 19),
            CheckpointOffsets(10, 20),
            CheckpointOffsets(9, 19),
            Why.REWOUND,
            id="the group went back",
        ),
        pytest.param(
            12,
            between(22, None),
            CheckpointOffsets(10, 20),
            CheckpointOffsets(12, 22),
            Why.ADVANCED,
            id="it committed",
        ),
        pytest.param(
            12,
            between(20, 30),
            CheckpointOffsets(10, 20),
            CheckpointOffsets(10, 20),
            Why.UNCHANGED,
            id="it committed, and no more is known",
        ),
        pytest.param(
            12,
            between(15, 30),
            CheckpointOffsets(10, 20),
            CheckpointOffsets(10, 20),
            Why.UNCHANGED,
            id="less is known than before",
        ),
        pytest.param(
            12,
            between(15, 19),
            CheckpointOffsets(10, 20),
            CheckpointOffsets(12, 15),
            Why.CORRECTED,
            id="it was too far",
        ),
        pytest.param(
            12,
            between(15, None),
            CheckpointOffsets(10, 1001),
            CheckpointOffsets(12, 15),
            Why.CORRECTED,
            id="it was of a topic that is gone",
        ),
        pytest.param(10, None, CheckpointOffsets(10, 20), None, Why.NO_SYNC, id="no offset sync"),
        pytest.param(10, between(1001, None), None, None, Why.BEYOND_TARGET, id="not copied yet"),
    ],
)
def test_a_checkpoint_is_written_when_it_says_something_new(
    upstream, certificate, previous, told, why
):
    decision = decide(upstream, certificate, TARGET, previous)
    assert (decision.told, decision.why) == (told, why)
    assert decision.is_written == (told is not None and why is not Why.UNCHANGED)


def test_an_offset_that_retention_deleted_on_the_target_becomes_its_log_start():
    target = OffsetRange(log_start_offset=500, end_offset=1000, high_watermark=1000)
    assert decide(10, between(20, 20), target, None).told == CheckpointOffsets(10, 500)
    assert decide(10, between(20, 20), target, CheckpointOffsets(10, 20)).told == CheckpointOffsets(
        10, 500
    )


@pytest.mark.parametrize("target", [None, OffsetRange(error="no leader")], ids=["none", "away"])
def test_while_the_target_does_not_answer_nothing_is_told(target):
    assert decide(10, between(20, 20), target, None).why is Why.TARGET_UNKNOWN


def mm2(store: OffsetSyncStore, group: int) -> Certificate | None:
    found = store.translate(group)
    return None if found is None or found < 0 else between(found, None)


@pytest.mark.parametrize("case", conformance_cases(FILE, "checkpoint_sequence"))
def test_over_restarts_checkpoints_are_as_monotonic_as_upstreams(case):
    previous = None
    for phase in case["phases"]:
        store = OffsetSyncStore()
        for upstream in phase["syncs_upstream"]:
            store.sync(upstream, upstream)
        store.start(must_read_to_end=False)
        for emission in phase["emissions"]:
            group = emission["group_offset"]
            assert store.translate(group) == emission["translated"]
            decision = decide(group, mm2(store, group), TARGET, previous)
            assert decision.is_written == emission["emitted"]
            previous = decision.told


@pytest.mark.parametrize("case", conformance_cases(FILE, "checkpoint"))
def test_a_group_behind_one_sync_gets_upstreams_checkpoint(case):
    sync, expected = case["sync"], case["expected"]
    kept = BoundedTranslator()
    where = TopicPartition(sync["topic"], sync["partition"])
    kept.add(where, sync["upstream"], sync["downstream"])
    decision = decide(
        case["group_offset"], kept.translate(where, case["group_offset"]), TARGET, None
    )
    assert decision.told == CheckpointOffsets(expected["upstream"], expected["downstream"])
    aliases = {"source_alias": case["source_alias"], "target_alias": case["target_alias"]}
    assert rename_topic(DefaultReplicationPolicy(), where.topic, **aliases) == expected["topic"]


@pytest.mark.parametrize(
    ("source", "certificate", "why"),
    [
        pytest.param(OffsetRange(0, 9, 9), between(20, 20), Why.BEYOND_SOURCE, id="beyond the end"),
        pytest.param(OffsetRange(0, 9, 9), None, Why.BEYOND_SOURCE, id="and nothing was copied"),
        pytest.param(OffsetRange(0, 9, 10), between(20, 20), Why.FIRST, id="in a transaction"),
        pytest.param(OffsetRange(error="away"), between(20, 20), Why.SOURCE_UNKNOWN, id="unknown"),
        pytest.param(OffsetRange(error="away"), None, Why.NO_SYNC, id="no sync either"),
    ],
)
def test_a_commit_beyond_the_end_of_its_partition_gets_no_checkpoint(source, certificate, why):
    assert decide(10, certificate, TARGET, None, source).why is why
