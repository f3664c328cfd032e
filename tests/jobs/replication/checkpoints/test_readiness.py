"""Can this fail over now? Unknown is never green, and a group that would skip records is red."""

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.lag import (
    Bounds,
    GroupFacts,
    PartitionFacts,
    SeenCheckpoint,
    measure_checkpoint,
)
from jobs.replication.checkpoints.obstacles import STEPS, TEXTS, Obstacle, Readiness
from jobs.replication.checkpoints.readiness import (
    Thresholds,
    judge_data,
    judge_flow,
    judge_group,
    judge_partition,
)
from jobs.replication.offset_sync_store import KeptSync
from jobs.replication.translation.sync_history import Certificate

NOW_MS = 1_000_000
LIMITS = Thresholds(rpo_ms=60_000, blocked_rpo_ms=600_000, reread=100)
EXACT = Certificate(500, 500, "The offset is an offset sync.", (KeptSync(100, 500),))


def part(group: GroupFacts | None = None, partition: int = 0, **changes):
    values = {
        "committed": 100,
        "checkpoint": SeenCheckpoint(100, 500, NOW_MS),
        "certificate": EXACT,
        "mm2": 500,
        "position": 100,
        "at_risk": 0,
        "at_risk_ms": 0,
        "remote_log_start": 0,
        "log_start_offset": 0,
        "end_offset": 100,
    }
    facts = PartitionFacts(TopicPartition("orders", partition), **(values | changes))
    group = group or GroupFacts()
    return judge_partition(facts, measure_checkpoint(facts, group, NOW_MS), group, LIMITS)


def test_a_group_whose_checkpoint_is_exact_and_whose_data_is_there_is_ready():
    verdict = judge_group([part()], GroupFacts())
    assert (verdict.readiness, verdict.evidence) == (Readiness.READY, ())
    assert (verdict.rpo_records, verdict.reread, verdict.duplicates) == (
        0,
        Bounds(0, 0),
        Bounds(0, 0),
    )


@pytest.mark.parametrize(
    ("readiness", "obstacle", "changes"),
    [
        pytest.param("blocked", "skips", {"synced": 501}, id="target ahead of the true place"),
        pytest.param(
            "warning",
            "may_skip",
            {"synced": 505, "certificate": Certificate(500, 510, "")},
            id="may skip",
        ),
        pytest.param(
            "blocked", "beyond_end", {"certificate": None, "source_most": 99}, id="beyond the end"
        ),
        pytest.param(
            "blocked",
            "beyond_end",
            {"certificate": None, "source_most": 0, "end_offset": 0},
            id="beyond the end of an empty partition",
        ),
        pytest.param(
            "blocked",
            "beyond_target_end",
            {"synced": 900, "target_most": 600},
            id="beyond the end on the target",
        ),
        pytest.param("blocked", "no_translation", {"certificate": None, "mm2": None}, id="no sync"),
        pytest.param(
            "blocked",
            "not_copied",
            {"certificate": None, "mm2": None, "position": None},
            id="not copied",
        ),
        pytest.param(
            "blocked", "deleted_on_target", {"remote_log_start": 501}, id="retention there"
        ),
        pytest.param("warning", "loses", {"at_risk": 5, "at_risk_ms": 60_001}, id="behind"),
        pytest.param(
            "blocked", "loses_too_much", {"at_risk": 5, "at_risk_ms": 600_001}, id="far behind"
        ),
        pytest.param(
            "unknown", "data_unknown", {"at_risk": None, "at_risk_ms": None}, id="lag unknown"
        ),
        pytest.param(
            "unknown", "data_unknown", {"at_risk": 5, "at_risk_ms": None}, id="time unknown"
        ),
        pytest.param(
            "unknown", "unbounded", {"certificate": Certificate(500, None, "")}, id="no upper bound"
        ),
        pytest.param("warning", "repeats", {"synced": 399}, id="many to read again"),
        pytest.param(
            "warning",
            "repeats",
            {"certificate": Certificate(500, 601, ""), "synced": 500},
            id="wide certificate",
        ),
        pytest.param(
            "warning", "no_resume", {"checkpoint": None}, id="nothing on the target says where"
        ),
        pytest.param(
            "warning",
            "never_committed",
            {"committed": None, "checkpoint": None, "certificate": None},
            id="no commit",
        ),
    ],
)
def test_obstacles_are_named_with_what_to_do(readiness, obstacle, changes):
    verdict = judge_group([part(**changes)], GroupFacts())
    assert verdict.readiness == readiness
    assert [each.obstacle for each in verdict.evidence] == [obstacle]
    assert verdict.evidence[0].text.startswith("orders-0: ")
    assert verdict.evidence[0].hint


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"at_risk": 5, "at_risk_ms": 60_000}, id="a loss at the threshold"),
        pytest.param({"synced": 400}, id="repetition at the threshold"),
        pytest.param(
            {"committed": None, "checkpoint": None, "certificate": None, "end_offset": 0},
            id="empty partition",
        ),
    ],
)
def test_what_is_within_the_thresholds_is_ready(changes):
    assert judge_group([part(**changes)], GroupFacts()).readiness is Readiness.READY


@pytest.mark.parametrize(
    ("group", "more", "obstacle", "readiness"),
    [
        pytest.param(
            {"is_active_on_target": True}, {}, "active_on_target", "blocked", id="runs there"
        ),
        pytest.param(
            {"is_active_on_target": None}, {}, "target_unknown", "unknown", id="who knows"
        ),
        pytest.param(
            {}, {"stale": "groups of east 5 min ago"}, "stale", "unknown", id="old numbers"
        ),
        pytest.param({}, {"other_topics": ["clicks"]}, "other_topics", "warning", id="reads more"),
    ],
)
def test_some_things_are_about_the_group_as_a_whole(group, more, obstacle, readiness):
    facts = GroupFacts(**group)
    verdict = judge_group([part(facts)], facts, **more)
    assert (verdict.readiness, [each.obstacle for each in verdict.evidence]) == (
        readiness,
        [obstacle],
    )


def test_the_worst_partition_decides_and_evidence_counts_them():
    verdict = judge_group(
        [part(), part(partition=1, synced=501), part(partition=2, synced=502)], GroupFacts()
    )
    assert verdict.readiness is Readiness.BLOCKED
    assert verdict.evidence[0].text.startswith("2 of 3 partitions, as orders-1: ")
    assert verdict.skipped == Bounds(3, 3)


def test_a_loss_that_is_unknown_somewhere_is_not_told_as_a_number():
    verdict = judge_group([part(), part(partition=1, at_risk=None, at_risk_ms=None)], GroupFacts())
    assert (verdict.rpo_records, verdict.rpo_ms) == (None, None)


def test_a_group_that_is_left_out_counts_nowhere():
    out = GroupFacts(is_selected=False)
    verdict = judge_group([part(out)], out)
    assert verdict.readiness is Readiness.NOT_COVERED
    flow = judge_flow([verdict], judge_data([("orders-0", 0, 0)], LIMITS))
    assert (flow.readiness, flow.parts) == (Readiness.READY, 0)


def test_a_topic_that_is_left_out_decides_nothing_about_its_group():
    assert (
        judge_group([part(), part(partition=1, is_selected=False)], GroupFacts()).readiness
        == "ready"
    )


def test_a_flow_is_as_ready_as_its_worst_group_and_loses_what_was_not_copied():
    groups = [judge_group([part()], GroupFacts()), judge_group([part(synced=501)], GroupFacts())]
    flow = judge_flow(groups, judge_data([("orders-0", 3, 70_000), ("orders-1", 0, 0)], LIMITS))
    assert (flow.readiness, flow.rpo_records, flow.rpo_ms) == (Readiness.BLOCKED, 3, 70_000)
    assert [each.obstacle for each in flow.evidence] == ["skips", "loses"]
    assert flow.evidence[0].text.startswith("1 of 2 groups: ")


def test_a_flow_of_which_nothing_was_measured_is_unknown():
    assert judge_flow([], judge_data([], LIMITS)).readiness is Readiness.UNKNOWN


def test_old_numbers_are_never_green():
    flow = judge_flow(
        [], judge_data([("orders-0", 0, 0)], LIMITS), stale="groups of east 5 min ago"
    )
    assert flow.readiness is Readiness.UNKNOWN
    assert flow.evidence[0].text.startswith("groups of east 5 min ago: ")


def test_only_ready_is_green():
    assert [step.colour for step in Readiness] == ["grey", "green", "amber", "grey", "red"]


def test_every_obstacle_has_its_step_and_its_words():
    assert STEPS.keys() == TEXTS.keys() == set(Obstacle)
    assert not {Readiness.READY, Readiness.NOT_COVERED} & set(STEPS.values())
