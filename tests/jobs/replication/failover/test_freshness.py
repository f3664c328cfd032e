from dataclasses import replace

import pytest

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.failover.model import FailoverRequest
from jobs.replication.failover.planner import make_plan
from jobs.replication.failover.session import (
    PlanRefused,
    groups_that_count,
    refuse_blocked,
    refuse_changed,
    refuse_old,
)
from tests.jobs.replication.failover.making import (
    GROUP,
    NOW_MS,
    ORDERS,
    empty,
    failover_evidence,
    plan_of,
    topic,
)


def test_a_plan_within_the_limit_is_taken():
    refuse_old(plan_of(), NOW_MS + 300_000, 300)


@pytest.mark.parametrize("later_ms", [300_001, -300_001], ids=["too old", "from the future"])
def test_a_plan_outside_of_the_limit_is_refused(later_ms):
    with pytest.raises(PlanRefused) as refusal:
        refuse_old(plan_of(), NOW_MS + later_ms, 300)
    assert refusal.value.code == "plan_stale"


def test_a_plan_that_blocks_is_refused_with_the_reason():
    plan = plan_of(failover_evidence(west={"groups": {GROUP: empty(member_count=3)}}))
    with pytest.raises(PlanRefused, match="billing is active on west") as refusal:
        refuse_blocked(plan, [GROUP])
    assert refusal.value.code == "plan_blocked"


def test_a_topic_that_blocks_refuses_the_group_that_reads_it():
    with pytest.raises(PlanRefused, match="is not on west"):
        refuse_blocked(plan_of(failover_evidence(west={"topics": {}})), [GROUP])


@pytest.mark.parametrize(
    ("wish", "counted"),
    [
        pytest.param((".*",), [GROUP], id="among others by a pattern"),
        pytest.param(("g-share", GROUP), [GROUP, "g-share"], id="by its name"),
    ],
)
def test_a_share_group_decides_of_a_plan_only_where_it_is_named(wish, counted):
    shares = {"g-share": empty("g-share", type="share", member_count=1, state="Stable")}
    found = failover_evidence()
    groups, committed = found.origin.groups | shares, found.origin.committed | {"g-share": {}}
    origin = replace(found.origin, groups=groups, committed=committed)
    plan = make_plan("to west", FailoverRequest(groups=wish), replace(found, origin=origin))
    assert [one.group for one in plan.groups] == [GROUP, "g-share"]
    assert [one.group for one in groups_that_count(plan)] == counted


def test_a_group_that_is_not_in_the_plan_is_refused():
    with pytest.raises(PlanRefused, match="other is not in the plan"):
        refuse_blocked(plan_of(), ["other"])


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"committed": 151}, "moved on orders-0 from 150 to 151", id="it read on"),
        pytest.param({"committed": None}, "has no committed offset", id="its offsets are gone"),
        pytest.param({"before": 7}, "from None to 7", id="it was set there"),
        pytest.param(
            {"west": {"topics": {"east.orders": topic("east.orders", topic_id="new")}}},
            "east.orders was deleted and re-created on west", id="the remote topic is another",
        ),
        pytest.param(
            {"here": {"topics": {"orders": topic("orders", topic_id="new")}}},
            "orders was deleted and re-created on east", id="the topic is another",
        ),
        pytest.param({"syncs": ((140, 20), (200, 140))}, "would skip records", id="a bound fell"),
        pytest.param({"there": (90, 141)}, "has offsets 90 to 141", id="the log begins later"),
        pytest.param({"there": (0, 10)}, "cannot be translated", id="the log was cut"),
        pytest.param(
            {"west": {"cluster_id": "another"}}, "another cluster", id="the cluster was replaced"
        ),
    ],
)  # fmt: skip
def test_evidence_that_changed_refuses_the_plan(fields, says):
    with pytest.raises(PlanRefused, match=says) as refusal:
        refuse_changed(plan_of(), plan_of(failover_evidence(**fields)), [GROUP])
    assert refusal.value.code == "evidence_changed"


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"here_end": 900, "there": (0, 800)}, id="logs grew"),
        pytest.param({"there": (41, 141)}, id="what was read was deleted"),
        pytest.param({"syncs": ((100, 40), (149, 89), (200, 140))}, id="a bound rose"),
    ],
)
def test_what_still_skips_nothing_is_applied(fields):
    refuse_changed(plan_of(), plan_of(failover_evidence(**fields)), [GROUP])


def test_a_new_partition_that_the_group_reads_refuses_the_plan():
    found = failover_evidence()
    more = {GROUP: {ORDERS: CommittedOffset(150), TopicPartition("orders", 1): CommittedOffset(1)}}
    now = plan_of(replace(found, origin=replace(found.origin, committed=more)))
    with pytest.raises(PlanRefused, match="orders-1, which the plan does not have"):
        refuse_changed(plan_of(), now, [GROUP])


def test_other_groups_do_not_matter():
    refuse_changed(plan_of(), plan_of(failover_evidence(committed=151)), [])
