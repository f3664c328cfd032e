"""The round of checkpoints: what it writes of groups, topics and flows, also when it cannot look."""

from dataclasses import replace
from datetime import timedelta

import pytest

from console.clusters.models import CollectionRound, GroupOffset, Partition
from console.replication.checkpoints.rounds.collect import CHECKPOINTS, collect_readiness
from console.replication.checkpoints.rounds.memory import MEMORIES
from console.replication.flows.models import (
    FlowPartition,
    FlowReadiness,
    GroupReadiness,
    ReadinessChange,
    TopicReadiness,
)
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.translation.translator import Translator
from tests.console.making import NOW, make_flow
from tests.console.replication.audit_runs import DIFFERS, make_audit
from tests.console.replication.readiness_world import (
    END,
    NOW_MS,
    ORDERS,
    StubCheckpoints,
    add_group,
    checkpoint,
    door,
    judged,
    make_world,
)

pytestmark = pytest.mark.django_db
SOON = NOW + timedelta(seconds=60)


@pytest.fixture
def flow():
    return make_world()


def group(name="readers"):
    return GroupReadiness.objects.get(group=name)


def reason_of(flow, stub, **more):
    judged(flow, stub, **more)
    return group().reason


def test_a_group_at_its_checkpoint_is_ready_with_its_numbers(flow):
    answer = judged(flow)
    row = group()
    assert (row.readiness, row.reason, row.behind, row.rpo_records) == ("ready", "current", 0, 0)
    assert (row.reread_lo, row.reread_hi, row.repeated_hi) == (0, 0, 0)
    assert (answer.readiness, answer.counts) == ("ready", {"ready": 1})


@pytest.mark.parametrize(
    ("facts", "readiness"),
    [
        pytest.param(None, "ready", id="not audited"),
        pytest.param({}, "ready", id="equal"),
        pytest.param(DIFFERS, "warning", id="differs"),
    ],
)
def test_a_copy_that_differs_is_a_warning_and_one_that_was_not_audited_blocks_nothing(
    flow, facts, readiness
):
    if facts is not None:
        make_audit(flow, **facts)
    answer = judged(flow)
    assert answer.readiness == readiness
    assert ["4 missing, 1 altered" in one["text"] for one in answer.evidence] == [True] * (
        facts == DIFFERS
    )


def test_everything_that_is_known_of_a_partition_is_kept(flow):
    judged(flow)
    (place,) = group().partitions
    assert place | {"evidence": []} == {
        "topic": "orders",
        "partition": 0,
        "remote_topic": "east.orders",
        "readiness": "ready",
        "obstacles": [],
        "committed": 100,
        "upstream": 100,
        "downstream": 500,
        "checkpoint_at_ms": NOW_MS,
        "behind": 0,
        "reason": "current",
        "synced": None,
        "resume": 500,
        "resume_by": "checkpoint",
        "lo": 500,
        "hi": 500,
        "why": "The offset is an offset sync.",
        "evidence": [],
        "mm2": 500,
        "reread": [0, 0],
        "skipped": [0, 0],
        "at_risk": 0,
        "at_risk_ms": 0,
    }


def test_what_would_be_read_again_counts_from_the_old_checkpoint(flow):
    judged(flow, StubCheckpoints(checkpoint(upstream=90, downstream=401)))
    row = group()
    assert (row.behind, row.reread_lo, row.reread_hi) == (10, 99, 99)


def test_a_group_left_ahead_on_the_target_would_skip_and_is_blocked(flow):
    add_group(flow.target, "readers", {TopicPartition("east.orders", 0): 530}, members=0)
    judged(flow)
    row = group()
    assert (row.readiness, row.reason, row.skipped_lo, row.skipped_hi) == (
        "blocked",
        "target_ahead",
        30,
        30,
    )


def test_a_group_that_runs_on_the_target_is_blocked(flow):
    add_group(flow.target, "readers", {TopicPartition("east.orders", 0): 500})
    judged(flow)
    assert [each["obstacle"] for each in group().evidence] == ["active_on_target"]


def test_a_group_at_the_end_goes_on_at_the_targets_end(flow):
    GroupOffset.objects.update(committed_offset=200)
    stub = StubCheckpoints(checkpoint(upstream=200, downstream=600), ends={ORDERS: END})
    judged(flow, stub)
    assert (group().partitions[0]["lo"], group().partitions[0]["hi"]) == (600, 600)


@pytest.mark.parametrize(
    ("stub", "reason"),
    [
        pytest.param(StubCheckpoints(), "not_emitted", id="not written yet"),
        pytest.param(StubCheckpoints(exists=False), "no_topic", id="no topic of checkpoints"),
        pytest.param(StubCheckpoints(may_read=False), "unreadable", id="no right to read it"),
    ],
)
def test_a_group_without_a_checkpoint_has_a_reason(flow, stub, reason):
    assert reason_of(flow, stub) == reason
    assert group().readiness == "warning"


def test_an_idle_group_without_a_checkpoint_is_called_idle(flow):
    flow.source.groups.update(member_count=0, state="Empty")
    assert reason_of(flow, StubCheckpoints()) == "idle"


def test_without_offset_syncs_nobody_can_say_where_a_group_goes_on(flow):
    assert reason_of(flow, StubCheckpoints(), open_translator=lambda _: Translator({})) == "no_sync"
    assert group().readiness == "blocked"


def test_a_group_that_the_patterns_leave_out_is_shown_and_counts_nowhere():
    flow = make_world(groups_exclude=["read.*"])
    answer = judged(flow, StubCheckpoints())
    assert (group().readiness, group().reason) == ("not_covered", "group_filtered")
    assert (answer.readiness, answer.counts) == ("ready", {"not_covered": 1})


def test_a_group_that_reads_nothing_of_the_flow_is_not_shown(flow):
    add_group(flow.source, "elsewhere", {TopicPartition("clicks", 0): 5})
    judged(flow)
    assert list(GroupReadiness.objects.values_list("group", flat=True)) == ["readers"]


def test_a_group_that_also_reads_what_no_flow_copies_is_told_so(flow):
    GroupOffset.objects.create(
        group=flow.source.groups.get(),
        topic="clicks",
        partition=0,
        committed_offset=5,
        changed_at=NOW,
    )
    judged(flow)
    assert [each["obstacle"] for each in group().evidence] == ["other_topics"]
    assert group().evidence[0]["text"].startswith("clicks: ")
    assert [place["reason"] for place in group().partitions] == ["topic_filtered", "current"]


def test_a_topic_that_another_flow_copies_is_none_that_is_missing(flow):
    make_flow("clicks to west", topics=["clicks"])
    test_group = flow.source.groups.get()
    GroupOffset.objects.create(
        group=test_group, topic="clicks", partition=0, committed_offset=5, changed_at=NOW
    )
    judged(flow)
    assert group().readiness == "ready"


def test_the_last_checkpoint_of_a_group_that_is_gone_stays_visible(flow):
    judged(flow, StubCheckpoints({**checkpoint(), **checkpoint("gone")}))
    assert (group("gone").readiness, group("gone").reason) == ("not_covered", "group_gone")


def test_a_group_that_was_deleted_on_the_source_keeps_no_flow_amber(flow):
    answer = judged(flow, StubCheckpoints({**checkpoint(), **checkpoint("gone")}))
    assert (answer.readiness, answer.evidence) == ("ready", [])
    assert (answer.counts, answer.ready_text) == (
        {"not_covered": 1, "ready": 1},
        "1/1 groups ready",
    )


def test_data_that_was_not_copied_is_the_loss_of_its_topic_and_flow(flow):
    FlowPartition.objects.update(lag=5, lag_ms=70_000)
    answer = judged(flow)
    topic = TopicReadiness.objects.get()
    assert (answer.rpo_records, answer.rpo_ms, answer.readiness) == (5, 70_000, "warning")
    assert (topic.topic, topic.rpo_records, topic.group_count) == ("orders", 5, 1)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        pytest.param("source", "groups of east as of 5", id="the source's groups"),
        pytest.param("target", "groups of west as of 5", id="the target's groups"),
    ],
)
def test_old_numbers_make_no_green_answer(flow, row, words):
    old = NOW - timedelta(minutes=5)
    CollectionRound.objects.filter(cluster=getattr(flow, row)).update(succeeded_at=old)
    answer = judged(flow)
    assert answer.readiness == "unknown"
    assert any(each["text"].startswith(words) for each in answer.evidence)


def test_a_part_of_the_flow_that_no_round_has_queried_yet_is_not_old(flow):
    flow.rounds.filter(noun="source").update(succeeded_at=None)
    assert judged(flow).readiness == "ready"


def test_a_cluster_that_does_not_answer_leaves_what_was_read_before_and_says_why(flow):
    judged(flow)
    answer = judged(flow, StubCheckpoints(may_read=False), SOON)
    assert (group().checkpoint_count, group().reason) == (1, "current")
    assert (answer.error, answer.failing_since) == (
        "west: Reading east.checkpoints.internal is refused",
        SOON,
    )
    assert (answer.succeeded_at, answer.error_code) == (SOON, "not_authorized")


def test_only_what_is_new_of_the_checkpoints_is_read(flow):
    judged(flow)
    again = StubCheckpoints()
    judged(flow, again, SOON)
    assert (again.before[0].read_to, again.before[0].topic_id) == (7, "topic-id")
    assert again.before[0].checkpoints == checkpoint()


def test_after_other_patterns_the_checkpoints_are_read_from_their_beginning(flow):
    judged(flow)
    flow.groups = ["r.*"]
    flow.save()
    again = door()
    judged(flow, again, SOON)
    assert again.before[0].read_to is None


def test_an_unchanged_group_is_not_written_again(flow):
    judged(flow)
    judged(flow, now=SOON)
    assert (group().updated_at, group().since) == (NOW, NOW)


def test_another_answer_is_a_change_of_the_group_and_of_the_flow(flow):
    judged(flow)
    Partition.objects.update(log_start_offset=550)
    judged(flow, now=SOON)
    later = SOON + timedelta(seconds=5)
    judged(flow, now=later)
    changes = ReadinessChange.objects.order_by("pk").values_list("group", "readiness", "at")
    assert list(changes) == [
        ("readers", "ready", NOW),
        ("", "ready", NOW),
        ("readers", "blocked", later),
        ("", "blocked", later),
    ]
    assert group().since == later


def test_a_time_without_rounds_is_unknown_afterwards(flow):
    judged(flow)
    later = NOW + timedelta(hours=1)
    CollectionRound.objects.update(succeeded_at=later)
    flow.rounds.update(succeeded_at=later)
    judged(flow, now=later)
    changes = ReadinessChange.objects.filter(group="").order_by("at").values_list("readiness", "at")
    assert list(changes) == [
        ("ready", NOW), ("unknown", NOW + timedelta(minutes=10)), ("ready", later)
    ]  # fmt: skip


def test_a_group_that_is_gone_leaves_the_answers(flow):
    judged(flow)
    flow.source.groups.all().delete()
    judged(flow, StubCheckpoints(exists=False), SOON)
    assert not GroupReadiness.objects.exists()


def test_two_workers_judge_a_flow_once(flow):
    inner, stub = [], door()

    def checkpoints(spec, before):
        inner.append(collect_readiness(flow.pk, lambda: NOW, stub.queries))
        return stub.checkpoints(spec, before)

    assert collect_readiness(flow.pk, lambda: NOW, replace(stub.queries, checkpoints=checkpoints))
    assert inner == [False]


def test_a_flow_is_due_again_after_its_interval(flow, settings):
    settings.CHECKPOINT_INTERVAL_S = 30
    assert CHECKPOINTS.due(NOW) == [flow.pk]
    judged(flow)
    assert CHECKPOINTS.due(NOW + timedelta(seconds=28)) == []
    assert CHECKPOINTS.due(NOW + timedelta(seconds=30)) == [flow.pk]


def test_settings_that_do_not_hold_are_said_in_the_freshness(flow):
    type(flow).objects.update(topics=["("])
    answer = judged(flow)
    assert "regular expression" in answer.error
    assert (answer.succeeded_at, FlowReadiness.objects.count()) == (None, 1)


def test_the_number_of_queries_does_not_grow_with_groups(flow, django_assert_max_num_queries):
    stub = StubCheckpoints()
    for number in range(200):
        add_group(flow.source, f"g{number}", {ORDERS: 100})
        stub.kept |= checkpoint(f"g{number}")
    with django_assert_max_num_queries(60):
        judged(flow, stub)
    with django_assert_max_num_queries(40):
        judged(flow, stub, SOON)


def test_a_group_of_which_nothing_has_changed_is_not_judged_again_and_counts_all_the_same(flow):
    judged(flow)
    add_group(flow.source, "others", {ORDERS: 100})
    answer = judged(flow, now=SOON)
    assert answer.counts == {"ready": 1, "warning": 1}
    assert (group().updated_at, group("others").updated_at) == (NOW, SOON)
    assert group().partitions[0]["committed"] == 100


def test_what_a_worker_remembers_makes_no_difference(flow):
    def round_at(minute, *, remembers):
        if not remembers:
            MEMORIES.forget()
        FlowPartition.objects.update(lag=minute, lag_ms=minute * 1000)
        judged(flow, StubCheckpoints(), NOW + timedelta(minutes=minute))
        left_out = ("updated_at", "since")
        return {k: v for k, v in GroupReadiness.objects.values().get().items() if k not in left_out}

    judged(flow)
    with_memory = [round_at(1, remembers=True), round_at(2, remembers=True)]
    without = [round_at(3, remembers=False)]
    assert with_memory[0]["rpo_records"] == 1
    assert without[0]["rpo_records"] == 3
    assert with_memory[1]["partitions"][0].keys() == without[0]["partitions"][0].keys()


def test_new_offset_syncs_are_seen_although_the_group_has_not_moved(flow):
    judged(flow, StubCheckpoints(), open_translator=lambda _: Translator({ORDERS: [(0, 400)]}))
    assert (group().partitions[0]["lo"], group().partitions[0]["hi"]) == (401, None)
    judged(flow, StubCheckpoints(), SOON)
    assert (group().partitions[0]["lo"], group().partitions[0]["hi"]) == (500, 500)


def test_a_gap_is_told_of_groups_that_are_remembered_too(flow):
    judged(flow)
    later = NOW + timedelta(hours=1)
    CollectionRound.objects.update(succeeded_at=later)
    flow.rounds.update(succeeded_at=later)
    judged(flow, now=later)
    changes = ReadinessChange.objects.filter(group="readers").order_by("at")
    assert [one.readiness for one in changes] == ["ready", "unknown", "ready"]
    assert group().partitions[0]["committed"] == 100
