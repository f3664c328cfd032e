"""Checks of flows: queries, rows, and the end of rows."""

from dataclasses import replace
from datetime import timedelta

import pytest

from console.clusters.models import GroupOffset
from console.findings import store
from console.findings.check_settings import CheckSetting
from console.findings.models import Finding
from console.replication.findings.collect import EVERY, FINDINGS, look_at_flow
from console.replication.flows.models import FlowRound
from jobs.replication.checkpoints.topic import CheckpointTopic
from jobs.replication.findings.reading import SyncTail, WireAnswers
from jobs.replication.findings.snapshot import (
    CheckpointsSnapshot,
    GroupSnapshot,
    OffsetSyncsSnapshot,
)
from jobs.replication.topics.drift import TopicDrift
from jobs.replication.translation.translator import Translator
from jobs.wire.mirror_records import Checkpoint, encode_checkpoint
from tests.console.making import NOW, make_flow, make_run, make_topic
from tests.console.replication.finding import ORDERS, clusters_that_answer, make_group_offset
from tests.console.replication.finding_looks import MINUTE, codes, look, report, row

pytestmark = pytest.mark.django_db


@pytest.fixture
def flow():
    return make_flow(
        copied_by="mirror_maker", offset_syncs="source", groups=[".*"], measured_at=NOW
    )


def test_a_flow_is_due_once_a_minute_and_looked_at_by_one_worker(flow):
    assert FINDINGS.due(NOW) == [flow.pk]
    look(flow)
    assert FINDINGS.due(NOW) == []
    assert not look_at_flow(flow.pk, lambda: NOW, clusters_that_answer())
    assert FINDINGS.due(NOW + EVERY) == [flow.pk]


def test_a_flow_that_is_being_deleted_is_left_alone():
    make_flow(deletion_asked_at=NOW)
    assert FINDINGS.due(NOW) == []


def test_a_flow_that_is_gone_is_no_error():
    assert not look_at_flow(4711, lambda: NOW, clusters_that_answer())


def test_what_stands_still_over_looks_becomes_a_row(flow):
    row(flow)
    for minute in range(6):
        look(flow, minute=minute)
    found = Finding.objects.get(code="not_moving")
    assert (found.severity, found.rank, found.subject) == ("warning", 3, "")
    assert found.opened_at == NOW
    assert found.last_seen_at == NOW + 5 * MINUTE
    assert found.evidence["records_waiting"] == 10


def test_a_check_that_is_off_for_a_flow_finds_nothing(flow):
    CheckSetting.objects.create(check_id="not_moving", flow=flow, is_excluded=True, changed_at=NOW)
    row(flow)
    for minute in range(6):
        look(flow, minute=minute)
    assert codes(flow) == []


def test_a_row_ends_when_it_was_last_seen_and_stays_for_the_history(flow):
    part = row(flow, log_start_offset=105)
    for minute in range(2):
        look(flow, minute=minute)
    assert codes(flow) == ["retention_loss"]
    part.position, part.lag = 110, 0
    part.save()
    for minute in range(2, 5):
        look(flow, minute=minute)
    assert codes(flow) == []
    ended = Finding.objects.get(code="retention_loss")
    assert ended.closed_at == NOW + MINUTE


def test_one_look_alone_opens_nothing_that_the_next_may_contradict(flow):
    row(flow, log_start_offset=105)
    watch = look(flow)
    assert codes(flow) == []
    assert [entry[:2] for entry in watch.pending] == [["retention_loss", "orders-0"]]


def test_what_comes_back_is_another_row(flow):
    part = row(flow, log_start_offset=105)
    for minute in range(8):
        part.log_start_offset = 0 if 2 <= minute < 6 else 105
        part.save()
        look(flow, minute=minute)
    assert "retention_loss" in codes(flow)
    assert codes(flow, closed=True) == ["retention_loss"]


def test_while_a_flow_is_not_measured_its_findings_stay(flow):
    part = row(flow, log_start_offset=105)
    for minute in range(2):
        look(flow, minute=minute)
    FlowRound.objects.create(flow=flow, noun="source", failing_since=NOW)
    part.log_start_offset = 0
    part.save()
    for minute in range(2, 20):
        look(flow, minute=minute)
    assert codes(flow) == ["retention_loss"]


def test_a_stopped_flow_of_crosslog_asks_no_cluster_for_internal_topics_and_does_not_stand_still():
    flow = make_flow(measured_at=NOW)
    row(flow, state="stopped")
    asked = []
    for minute in range(7):
        look(flow, clusters_that_answer(asked=asked), minute)
    assert asked == []
    assert codes(flow) == []


def test_what_was_found_while_it_ran_ends_when_nobody_wants_it_any_more():
    flow = make_flow(measured_at=NOW, is_wanted=True)
    row(flow)
    kafka = clusters_that_answer(drift=report(TopicDrift("orders", "east.orders", 6, 6, 3, 1)))
    look(flow, kafka)
    assert codes(flow) == ["replication_factor_differs"]
    flow.is_wanted = False
    flow.save()
    for minute in range(1, 5):
        look(flow, minute=minute)
    assert codes(flow) == []


def test_a_stopped_flow_still_loses_records_to_retention():
    flow = make_flow(measured_at=NOW)
    row(flow, state="stopped", log_start_offset=105)
    for minute in range(2):
        look(flow, minute=minute)
    assert codes(flow) == ["retention_loss"]


def test_a_failed_partition_that_says_so_itself_is_not_stuck_as_well():
    flow = make_flow(measured_at=NOW, is_wanted=True)
    row(flow, state="failed", reason="too large")
    for minute in range(7):
        look(flow, minute=minute)
    assert codes(flow) == []


def test_trailing_markers_are_no_standstill(flow):
    row(flow, end_offset=101, lag=0)
    for minute in range(7):
        look(flow, minute=minute)
    assert codes(flow) == []


def test_the_newest_syncs_are_remembered_for_the_next_look(flow):
    tail = SyncTail("s", 9, {ORDERS: (90, 80)}, 1)
    row(flow, lag=0, position=110)
    asked = []
    kafka = clusters_that_answer(
        WireAnswers(
            syncs=OffsetSyncsSnapshot("s", "east", partitions=1),
            tail=tail,
            remote_ends={ORDERS: 80},
        ),
        asked=asked,
    )
    for minute in range(2):
        look(flow, kafka, minute)
    known = [one[1] for one in asked if one[0] == "wire"]
    assert SyncTail.from_mapping(known[-1], "s") == tail
    assert codes(flow) == ["target_cut"]


def test_a_topic_made_again_is_seen_by_its_id_on_either_side(flow):
    row(flow, lag=0, position=110)
    source = make_topic(flow.source, "orders", topic_id="a")
    target = make_topic(flow.target, "east.orders", topic_id="x")
    look(flow)
    source.topic_id, target.topic_id = "b", "y"
    source.save(), target.save()
    look(flow, minute=1)
    assert codes(flow) == ["source_recreated", "target_recreated"]


def test_a_flow_of_crosslog_knows_which_topic_it_copied():
    flow = make_flow(measured_at=NOW, topic_ids={"orders": "a"})
    row(flow, state="stopped")
    make_topic(flow.source, "orders", topic_id="b")
    look(flow)
    assert codes(flow) == ["source_recreated"]


def test_a_flow_of_crosslog_that_copied_nothing_lacks_no_offset_syncs():
    flow = make_flow(measured_at=NOW, is_wanted=True)
    row(flow, position=0, lag=110)
    kafka = clusters_that_answer(WireAnswers(syncs=OffsetSyncsSnapshot("s", "west", exists=False)))
    for minute in range(3):
        look(flow, kafka, minute)
    assert codes(flow) == []


def checkpoints(upstream, downstream):
    topic = CheckpointTopic("east.checkpoints.internal")
    place = Checkpoint("billing", "east.orders", 0, upstream, downstream)
    topic.take(*encode_checkpoint(place), 1_000, 0)
    return {
        "checkpoint_topic": topic,
        "checkpoints": CheckpointsSnapshot(topic.topic, newest_at=NOW),
    }


@pytest.fixture
def billing(flow):
    """A group that is at 100 here and at 90 there, with a checkpoint (100, 80)."""
    make_group_offset(flow.source, "billing", "orders", 100)
    make_group_offset(flow.target, "billing", "east.orders", 90)
    return GroupSnapshot("billing", ORDERS, 100, 90, checkpoint=(100, 80))


def test_a_group_that_seems_to_be_ahead_is_asked_for_again_before_it_is_told(flow, billing):
    asked = []
    kafka = clusters_that_answer(WireAnswers(**checkpoints(100, 80)), [billing], asked=asked)
    for minute in range(2):
        look(flow, kafka, minute)
    assert ("groups", "billing") in asked
    assert codes(flow) == ["group_ahead"]


def test_a_group_that_had_only_gone_on_in_between_is_not_told(flow, billing):
    kafka = clusters_that_answer(
        WireAnswers(**checkpoints(100, 80)), [replace(billing, checkpoint=(110, 90))]
    )
    for minute in range(2):
        look(flow, kafka, minute)
    assert codes(flow) == []


def test_a_group_that_is_not_ahead_is_not_asked_for(flow):
    make_group_offset(flow.source, "billing", "orders", 100)
    make_group_offset(flow.target, "billing", "east.orders", 80)
    asked = []
    look(flow, clusters_that_answer(WireAnswers(**checkpoints(100, 80)), asked=asked))
    assert not [one for one in asked if one[0] == "groups"]


def test_offset_syncs_prove_by_how_much_a_group_is_ahead(flow, billing):
    translator = Translator({ORDERS: [(90, 70), (100, 75), (110, 85)]})
    kafka = clusters_that_answer(WireAnswers(**checkpoints(100, 80)), [billing])
    for minute in range(2):
        look(flow, kafka, minute, translator_of=lambda _flow: translator)
    found = Finding.objects.get(code="group_ahead")
    assert found.evidence["offsets_skipped_at_least"] == 15


def test_a_cluster_that_does_not_answer_about_groups_ends_no_finding_about_them(flow, billing):
    for minute in range(2):
        look(flow, clusters_that_answer(WireAnswers(**checkpoints(100, 80)), [billing]), minute)
    for minute in range(2, 9):
        watch = look(flow, clusters_that_answer(WireAnswers(**checkpoints(100, 80)), None), minute)
    assert codes(flow) == ["group_ahead"]
    assert "no broker answered" in watch.faults["groups"]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        pytest.param(
            {"started_at": NOW - timedelta(hours=1)}, ["not_moving"], id="it has run for long"
        ),
        pytest.param({"started_at": NOW + 5 * MINUTE}, [], id="it has just started"),
        pytest.param({"state": "failed"}, [], id="it has failed and says so"),
        pytest.param(None, [], id="there is no run"),
    ],
)
def test_a_flow_of_crosslog_stands_still_only_while_its_run_should_copy(run, expected):
    flow = make_flow(measured_at=NOW, is_wanted=True)
    if run is not None:
        make_run(flow, **run)
    row(flow, state="copying")
    for minute in range(6):
        look(flow, minute=minute)
    assert codes(flow) == expected


def test_settings_that_cannot_be_used_are_said_and_end_nothing(flow):
    flow.topics = ["("]
    flow.save()
    watch = look(flow)
    assert watch.not_checked["check"].startswith("The settings are not usable: topics")
    assert watch.failing_since == NOW


def test_a_rule_that_fails_is_written_down_and_the_next_look_comes(flow):
    def raises(*_):
        raise RuntimeError("a mistake")

    watch = look(flow, replace(clusters_that_answer(), wire=raises))
    assert "a fault of the program" in watch.not_checked["check"]
    assert FINDINGS.due(NOW + EVERY) == [flow.pk]


def test_hundreds_of_partitions_cost_as_many_statements_as_one(flow, django_assert_max_num_queries):
    for number in range(300):
        row(flow, partition=number, log_start_offset=105)
    look(flow)
    with django_assert_max_num_queries(40):
        look(flow, minute=1)
    assert Finding.objects.count() == 300


def test_findings_that_ended_long_ago_are_removed_and_open_ones_stay(flow, settings):
    settings.FINDINGS_RETENTION_D = 2
    old = NOW - timedelta(days=3)
    for subject, closed_at in (("a", old), ("b", NOW), ("c", None)):
        Finding.objects.create(
            kind="flow",
            flow=flow, code="loop", severity="critical", subject=subject, sentence="s",
            opened_at=old, last_seen_at=old, closed_at=closed_at,
        )  # fmt: skip
    assert store.prune(NOW) == 1
    assert set(Finding.objects.values_list("subject", flat=True)) == {"b", "c"}


def test_a_group_that_seems_to_be_beyond_the_end_is_asked_for_again_before_it_is_told(flow):
    make_group_offset(flow.source, "billing", "orders", 5_000)
    GroupOffset.objects.update(lag_status="ahead_of_end")
    wire = WireAnswers(**checkpoints(50, 50))
    seen = GroupSnapshot("billing", ORDERS, 5_000, end=100)
    for minute in range(2):
        look(flow, clusters_that_answer(wire, [seen]), minute)
    assert codes(flow) == ["group_beyond_end"]
    for minute in range(2, 9):
        look(flow, clusters_that_answer(wire, [replace(seen, end=5_000)]), minute)
    assert codes(flow) == []
