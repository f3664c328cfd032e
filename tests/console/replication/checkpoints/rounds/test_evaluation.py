"""What follows for a group from stored rows and query results."""

import pytest

from console.clusters.models import CollectionRound, Group, GroupOffset
from console.replication.flows.models import FlowPartition, GroupReadiness, TopicReadiness
from jobs.cluster.descriptions import TopicPartition
from jobs.limits import CUT_ID, GROUPS_LEFT_OUT, LEFT_OUT, short
from jobs.replication.translation.translator import Translator
from tests.console.making import NOW
from tests.console.replication.readiness_world import (
    END,
    ORDERS,
    StubCheckpoints,
    add_group,
    checkpoint,
    door,
    judged,
    make_world,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def flow():
    return make_world()


def group(name="readers"):
    return GroupReadiness.objects.get(group=name)


def test_a_group_beyond_the_end_of_its_partition_is_blocked_with_the_reason(flow):
    """tests/conformance/reported/group_beyond_the_end"""
    GroupOffset.objects.update(committed_offset=5_000)
    answer = judged(flow, door(ends={ORDERS: END}))
    row = group()
    assert (row.readiness, row.reason, row.behind) == ("blocked", "beyond_end", None)
    assert row.behind_unknown_count == 1
    assert "beyond the end of the source partition" in answer.why
    (place,) = row.partitions
    assert (place["lo"], place["hi"], place["skipped"]) == (None, None, None)


def test_a_group_in_an_open_transaction_is_not_beyond_the_end(flow):
    GroupOffset.objects.update(committed_offset=205)
    judged(flow, door(ends={ORDERS: END._replace(source_high=210)}))
    assert group().reason != "beyond_end"


def test_an_offset_beyond_the_end_on_the_target_is_not_called_ahead(flow):
    add_group(flow.target, "readers", {TopicPartition("east.orders", 0): 5_000}, members=0)
    answer = judged(flow, door(ends={ORDERS: END}))
    assert (group().reason, group().skipped_lo) == ("beyond_target_end", None)
    assert answer.evidence[0]["obstacle"] == "beyond_target_end"


def test_where_no_record_is_left_a_group_below_the_log_start_is_ready(flow):
    """tests/conformance/reported/group_below_the_log_start"""
    FlowPartition.objects.update(position=200, log_start_offset=200, end_offset=200)
    GroupOffset.objects.update(committed_offset=20)
    ends = END._replace(source_start=200, target_start=600)
    judged(flow, StubCheckpoints(ends={ORDERS: ends}), open_translator=lambda _: Translator())
    (place,) = group().partitions
    assert (group().readiness, place["lo"], place["hi"]) == ("ready", 600, 600)


@pytest.mark.parametrize("topics", [["orders"], [".*"]], ids=["not copied", "copied"])
def test_internal_topics_of_kafka_streams_never_keep_a_flow_from_being_ready(topics):
    flow = make_world(topics=topics)
    internal = TopicPartition("readers-by-customer-repartition", 0)
    readers = Group.objects.get(cluster=flow.source)
    GroupOffset.objects.create(
        group=readers, topic=internal.topic, partition=0, committed_offset=60, changed_at=NOW
    )
    answer = judged(flow)
    assert (answer.readiness, answer.evidence, group().readiness) == ("ready", [], "ready")
    reasons = {place["topic"]: place["reason"] for place in group().partitions}
    assert reasons == {"orders": "current", internal.topic: "streams_internal"}


def test_internal_topics_of_another_application_are_topics_like_others(flow):
    other = Group.objects.get(cluster=flow.source)
    GroupOffset.objects.create(
        group=other, topic="totals-a-repartition", partition=0, committed_offset=1, changed_at=NOW
    )
    assert judged(flow).readiness == "warning"


@pytest.mark.parametrize(("members", "expected"), [(1, 149), (0, 0)], ids=["commits", "stopped"])
def test_what_a_plan_repeats_is_a_range_while_a_group_commits(flow, members, expected):
    Group.objects.filter(cluster=flow.source).update(member_count=members)
    answer = judged(flow, door(ends={ORDERS: END._replace(target_end=750)}))
    assert (answer.repeated_hi, answer.repeated_coming_hi) == (0, expected)
    assert group().repeated == ("0 once stopped, 149 while committing" if members else "0")


PARTIAL = f"{LEFT_OUT}70,000 partitions of the group are left out."


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_group_of_which_offsets_are_left_out_is_unknown_with_its_topics_and_flow(flow, side):
    row, _ = Group.objects.get_or_create(
        cluster=getattr(flow, side), group_id="readers", defaults={"changed_at": NOW}
    )
    Group.objects.filter(pk=row.pk).update(error=PARTIAL)
    answer = judged(flow)
    found = group()
    assert (found.readiness, found.evidence[0]["obstacle"]) == ("unknown", "left_out")
    assert found.evidence[0]["text"].startswith(PARTIAL)
    assert found.rpo_records is found.reread_hi is None
    assert (answer.readiness, TopicReadiness.objects.get().readiness) == ("unknown", "unknown")


def test_a_group_none_of_whose_kept_offsets_are_of_the_flow_is_unknown_too(flow):
    add_group(flow.source, "evil", {TopicPartition("aaa", 0): 1})
    Group.objects.filter(group_id="evil").update(error=PARTIAL)
    answer = judged(flow)
    assert group("evil").readiness == answer.readiness == "unknown"
    assert group().readiness == "ready"
    assert TopicReadiness.objects.get().readiness == "unknown"


def test_a_group_that_the_flow_does_not_name_keeps_nothing_from_being_ready():
    flow = make_world(groups=["readers"])
    add_group(flow.source, "evil", {ORDERS: 1})
    Group.objects.filter(group_id="evil").update(error=PARTIAL)
    assert judged(flow).readiness == "ready"


def test_a_group_with_a_very_long_id_has_a_row_that_fits_and_is_unknown(flow):
    add_group(flow.source, "g" * 900, {ORDERS: 100})
    judged(flow)
    found = GroupReadiness.objects.exclude(group="readers").get()
    assert (len(found.group), found.readiness) == (255, "unknown")


def test_a_group_with_a_very_long_id_keeps_no_flow_from_being_ready_whose_topics_it_does_not_read():
    flow = make_world(topics=["orders"])
    add_group(flow.source, "g" * 900, {TopicPartition("totals", 0): 100})
    assert judged(flow).readiness == "ready"


def test_a_group_whose_id_was_cut_is_unknown_and_others_are_judged(flow):
    add_group(flow.source, short("a\0b"), {ORDERS: 100})
    Group.objects.filter(group_id=short("a\0b")).update(error=f"{CUT_ID}it has NUL.")
    judged(flow)
    assert (group(short("a\0b")).readiness, group().readiness) == ("unknown", "ready")


def test_a_checkpoint_of_a_group_with_a_very_long_id_has_a_row_that_fits(flow):
    judged(flow, StubCheckpoints(checkpoint("g" * 9_000)))
    assert {len(row.group) for row in GroupReadiness.objects.all()} == {7, 255}


def test_where_whole_groups_are_left_out_the_flow_is_unknown(flow):
    told = f"{LEFT_OUT}3 {GROUPS_LEFT_OUT}, as a cluster has at most 50,000."
    CollectionRound.objects.filter(cluster=flow.source).update(error=told)
    answer = judged(flow)
    assert (answer.readiness, answer.evidence[0]["obstacle"]) == ("unknown", "left_out")
    assert "Groups of east are beyond the limits." in answer.why
    assert group().readiness == "ready"
