from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.descriptions import CommittedOffset, OffsetRange, TopicPartition
from jobs.replication.failover.evidence import Leg, Way
from jobs.replication.failover.model import CheckState, Untranslated
from jobs.replication.flow.spec import PolicyName
from jobs.replication.translation.translator import Translator
from tests.jobs.replication.failover.making import (
    GROUP,
    NOW_MS,
    ORDERS,
    REMOTE,
    failback_evidence,
    failover_evidence,
    flow,
    offsets,
    plan_of,
    topic,
)

CLICKS = TopicPartition("clicks", 0)


def item(found=None, **wish):
    (one,) = plan_of(found, **wish).group(GROUP).items
    return one


def states(plan):
    return {check.key: check.state.value for check in plan.group(GROUP).checks}


def test_a_group_resumes_at_the_proven_lower_bound():
    found = item()
    assert (found.destination, found.target, found.lo, found.hi) == (REMOTE, 41, 41, 140)
    assert found.reread_most == 99


def test_a_group_on_an_offset_sync_is_exact_and_repeats_nothing():
    found = item(failover_evidence(committed=200))
    assert (found.target, found.exact, found.reread_most) == (140, True, 0)


def test_without_an_upper_bound_everything_up_to_the_end_may_come_again():
    found = item(failover_evidence(committed=180, syncs=((100, 40),)))
    assert (found.lo, found.hi, found.reread_most) == (41, None, 100)


def test_a_group_that_has_read_everything_resumes_at_the_end():
    found = item(failover_evidence(committed=201, syncs=((100, 40),)))
    assert (found.target, found.exact, found.reread_most) == (141, True, 0)


def test_markers_behind_the_last_record_do_not_hide_that_everything_was_read():
    found = failover_evidence(
        committed=201, syncs=((100, 40),), here_end=202, here={"data_ends": {ORDERS: 201}}
    )
    assert (item(found).target, item(found).reread_most) == (141, 0)


def test_what_was_read_and_not_copied_yet_comes_again_later():
    found = item(failover_evidence(committed=230, copied_to=201, here_end=300))
    assert (found.not_copied, found.at_risk) == (29, 99)
    assert found.reread_most == 0 + 29


def test_how_much_comes_again_is_not_known_without_bound_and_position():
    leg = Leg(flow(), Way.FORWARD, Translator({ORDERS: ((100, 40),)}), read_at_ms=NOW_MS)
    assert item(failover_evidence(legs=(leg,))).reread_most is None


def test_what_the_destination_deleted_already_is_said_and_the_log_start_is_taken():
    plan = plan_of(failover_evidence(there=(60, 141)))
    assert plan.group(GROUP).items[0].target == 60
    assert states(plan)["within_log"] == "warning"


def test_an_offset_behind_the_end_of_the_log_blocks():
    plan = plan_of(failover_evidence(there=(0, 30)))
    assert plan.group(GROUP).items[0].target is None
    assert plan.group(GROUP).verdict is CheckState.FAILED


@pytest.mark.parametrize(
    ("untranslated", "target", "state"),
    [
        pytest.param(Untranslated.REFUSE, None, "failed", id="refused"),
        pytest.param(Untranslated.EARLIEST, 0, "warning", id="from the beginning"),
        pytest.param(Untranslated.LEAVE, None, "warning", id="left to the consumer"),
    ],
)
def test_a_partition_without_any_sync(untranslated, target, state):
    plan = plan_of(failover_evidence(syncs=()), untranslated=untranslated)
    assert plan.group(GROUP).items[0].target == target
    assert states(plan)["translated"] == state


def test_a_topic_that_no_flow_copies_is_told_with_its_records():
    found = failover_evidence()
    more = {GROUP: {ORDERS: CommittedOffset(150), CLICKS: CommittedOffset(7)}}
    ranges = {ORDERS: offsets(0, 201), CLICKS: offsets(3, 9)}
    here = replace(found.origin, committed=more, ranges=ranges)
    leg = replace(found.legs[0], flow=flow(topics=("orders",)))
    plan = plan_of(replace(found, origin=here, legs=(leg,)))
    clicks = next(one for one in plan.group(GROUP).items if one.origin == CLICKS)
    assert (clicks.target, clicks.only_here) == (None, (3, 9))
    assert states(plan)["translated"] == "warning"


def test_an_unknown_log_sets_nothing():
    found = failover_evidence(west={"ranges": {REMOTE: OffsetRange(error="no leader")}})
    assert item(found).target is None
    assert "no leader" in item(found).problem


def test_the_way_back_is_the_archived_mapping():
    found = item(failback_evidence(committed=140))
    assert (found.destination, found.how, found.target, found.exact) == (ORDERS, "back", 200, True)


def test_the_way_back_within_a_bracket_resumes_at_its_lower_bound():
    found = item(failback_evidence(committed=120))
    assert (found.target, found.hi, found.only_here) == (101, 200, None)


def test_who_has_read_everything_copied_goes_back_to_the_flows_position():
    found = item(failback_evidence(committed=141))
    assert (found.target, found.exact, found.reread_most) == (201, True, 0)


def test_records_produced_after_the_failover_exist_only_there():
    plan = plan_of(failback_evidence(committed=150, here_end=160))
    found = plan.group(GROUP).items[0]
    assert (found.target, found.only_here, found.at_risk) == (201, (141, 160), 19)
    (check,) = [one for one in plan.group(GROUP).checks if one.key == "only_here"]
    assert "At most 19 records exist only on west" in check.what
    assert "east.orders-0 offsets 141 to 160" in check.evidence


def test_markers_behind_the_last_copied_record_are_no_records():
    found = failback_evidence(committed=142, here_end=142, here={"data_ends": {REMOTE: 141}})
    one = item(found)
    assert (one.only_here, one.at_risk) == (None, 0)
    assert "exist only here" not in one.reason


def test_a_topic_written_there_comes_back_by_the_reverse_flow():
    local, brought = TopicPartition("orders", 0), TopicPartition("west.orders", 0)
    found = failback_evidence(
        here={
            "committed": {GROUP: {local: CommittedOffset(10)}},
            "topics": {"orders": topic("orders")},
            "ranges": {local: offsets(0, 50)},
        },
        east={"topics": {"west.orders": topic("west.orders")}, "ranges": {brought: offsets(0, 50)}},
    )
    back = replace(flow(), name="to east", source=flow().target, target=flow().source)
    reverse = Leg(back, Way.FORWARD, Translator({local: ((10, 12),)}), {local: 50}, {}, NOW_MS)
    one = item(replace(found, legs=(*found.legs, reverse)))
    assert (one.destination, one.how, one.target) == (brought, "forward", 12)
    without = item(found)
    assert (without.target, without.only_here) == (None, (0, 50))


def test_with_identity_names_the_plans_own_flow_is_the_way():
    identity = flow(policy=PolicyName.IDENTITY)
    assert Leg(identity, Way.BACK, Translator()).counterpart("orders") == "orders"
    assert Leg(identity, Way.BACK, Translator()).counterpart("other") is None


@st.composite
def histories(draw):
    """A dense source whose records land with gaps on the target, and the syncs that were sent of them."""
    steps = draw(st.lists(st.integers(1, 4), min_size=2, max_size=60))
    places, at = [], draw(st.integers(0, 50))
    for step in steps:
        places.append(at)
        at += step
    told = draw(st.lists(st.booleans(), min_size=len(places), max_size=len(places)))
    syncs = [(u, d) for u, (d, is_told) in enumerate(zip(places, told, strict=True)) if is_told]
    return places, syncs, draw(st.integers(0, len(places)))


@given(histories())
def test_no_target_skips_a_record_and_the_promise_of_repeats_holds(history):
    places, syncs, committed = history
    end = places[-1] + 1
    found = failover_evidence(
        committed=committed,
        syncs=syncs,
        copied_to=len(places),
        here_end=len(places),
        there=(0, end),
    )
    one = item(found, untranslated=Untranslated.EARLIEST)
    first_unread = places[committed] if committed < len(places) else end
    assert one.target <= first_unread
    read_again = sum(one.target <= place < first_unread for place in places)
    assert one.reread_most is not None
    assert read_again <= one.reread_most


@pytest.mark.parametrize(
    ("untranslated", "state", "target"),
    [
        (Untranslated.REFUSE, "failed", None),
        (Untranslated.LEAVE, "warning", None),
        (Untranslated.EARLIEST, "warning", 0),
    ],
)
def test_a_commit_beyond_the_end_is_a_check_of_its_own_and_is_not_translated(
    untranslated, state, target
):
    """tests/conformance/reported/group_beyond_the_end"""
    found = failover_evidence(
        committed=5_000, syncs=((0, 0), (99, 99)), copied_to=100, here_end=100, there=(0, 101)
    )
    (group,) = plan_of(found, untranslated=untranslated).groups
    (check,) = [one for one in group.checks if one.key == "beyond_end"]
    assert check.state == state
    assert "orders-0 at 5,000, ends at 100" in check.evidence
    assert "translated" not in {one.key for one in group.checks}
    (planned,) = group.items
    assert (planned.lo, planned.target, planned.not_copied) == (None, target, None)
    assert planned.problem == "Its committed offset is beyond the end of the partition (100)."
    if target is None:
        assert group.reread_most == 0


def test_a_commit_inside_an_open_transaction_is_not_beyond_the_end():
    found = failover_evidence(
        committed=201, here_end=201, here={"ranges": {ORDERS: OffsetRange(0, 190, 201)}}
    )
    assert "beyond_end" not in states(plan_of(found))


def test_a_commit_beyond_the_end_of_a_topic_that_no_flow_copies_blocks_nothing():
    other = TopicPartition("other", 0)
    found = failover_evidence(
        committed=200,
        here={
            "committed": {"billing": {ORDERS: CommittedOffset(200), other: CommittedOffset(90)}},
            "ranges": {ORDERS: offsets(0, 201), other: offsets(0, 10)},
        },
    )
    told = states(plan_of(found))
    assert ("beyond_end" in told, told["translated"]) == (False, "warning")


def test_on_the_way_back_a_commit_beyond_the_end_is_not_translated_either():
    found = failback_evidence(committed=900)
    assert states(plan_of(found))["beyond_end"] == "failed"
    assert item(found).target is None


def test_a_commit_beyond_the_end_on_the_destination_is_told_and_set_right():
    found = failover_evidence(committed=200, before=5_000)
    told = states(plan_of(found))
    assert (told["beyond_end_there"], "moves_back" in told) == ("warning", False)
    assert item(found).target == 140


def test_an_origin_that_does_not_answer_says_nothing_about_ends():
    found = failover_evidence(committed=5_000, here={"ranges": {}, "fault": "no broker answered"})
    assert "beyond_end" not in states(plan_of(found))


@pytest.mark.parametrize("committed", [20, 100], ids=["below the log start", "at the log start"])
def test_where_no_record_is_left_a_group_below_the_log_start_is_as_certain_as_at_it(committed):
    """tests/conformance/reported/group_below_the_log_start"""
    found = failover_evidence(
        committed=committed, syncs=(), copied_to=100, there=(0, 0), here_end=100,
        here={"ranges": {ORDERS: offsets(100, 100)}},
    )  # fmt: skip
    assert (item(found).target, item(found).exact, item(found).reread_most) == (0, True, 0)
    assert states(plan_of(found))["translated"] == "passed"


def test_a_group_below_the_log_start_reads_what_was_copied_before_it_was_deleted():
    found = failover_evidence(
        committed=20, syncs=((0, 0), (20, 20), (99, 99)), copied_to=100, here_end=100, there=(0, 100),
        here={"ranges": {ORDERS: offsets(100, 100)}},
    )  # fmt: skip
    assert item(found).target == 20
