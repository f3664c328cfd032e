import pytest

from jobs.cluster.admin.acls import AclBinding
from jobs.replication.failover.model import CheckState
from tests.jobs.replication.failover.making import (
    GROUP,
    ORDERS,
    empty,
    failover_evidence,
    plan_of,
    topic,
)


def check_of(found, key):
    (one,) = [c for c in plan_of(found).group(GROUP).checks if c.key == key]
    return one


def active(**fields):
    return {GROUP: empty(state="Stable", member_count=2, **fields)}


@pytest.mark.parametrize(
    ("key", "fields", "state"),
    [
        pytest.param("inactive_there", {}, "ok", id="nobody is there"),
        pytest.param("inactive_there", {"west": {"groups": {}}}, "ok", id="never seen there"),
        pytest.param("inactive_there", {"west": {"groups": active()}}, "block", id="active there"),
        pytest.param(
            "inactive_there", {"west": {"groups": {GROUP: empty(error="no coordinator")}}},
            "unknown", id="nobody could be asked there",
        ),
        pytest.param("inactive_here", {}, "ok", id="nobody runs here"),
        pytest.param("inactive_here", {"here": {"groups": active()}}, "block", id="active here"),
        pytest.param(
            "inactive_here", {"here": {"fault": "east: no broker", "groups": {}}}, "unknown",
            id="the origin is away",
        ),
        pytest.param("type", {"here": {"groups": {GROUP: empty(type="consumer")}}}, "ok", id="new"),
        pytest.param("type", {"here": {"groups": {GROUP: empty(type="share")}}}, "block", id="share"),
        pytest.param(
            "type", {"here": {"groups": {GROUP: empty(type="streams")}}}, "warn", id="streams"
        ),
        pytest.param("reread", {"committed": 200}, "ok", id="exact"),
        pytest.param("reread", {}, "warn", id="repeats"),
        pytest.param("moves_back", {"before": 100}, "warn", id="stands further ahead there"),
        pytest.param(
            "without_commit", {"here": {"topics": {"orders": topic("orders", 3)}}}, "warn",
            id="reads partitions without a commit",
        ),
        pytest.param(
            "streams", {"here": {"topic_names": frozenset({"billing-store-changelog"})}}, "warn",
            id="has changelogs",
        ),
    ],
)  # fmt: skip
def test_checks_of_a_group(key, fields, state):
    assert check_of(failover_evidence(**fields), key).state == state


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        pytest.param("spark-kafka-source-7", {}, id="a name of Spark"),
        pytest.param(GROUP, {"member_count": 2, "state": "Stable"}, id="members without commits"),
    ],
)
def test_offsets_that_may_be_elsewhere(name, fields):
    found = failover_evidence(
        here={"groups": {name: empty(name, **fields)}, "committed": {name: {}}}
    )
    (group,) = plan_of(found, groups=(name,)).groups
    assert [c.state for c in group.checks if c.key == "offsets_elsewhere"] == [CheckState.WARN]


def test_a_group_without_any_item_is_only_there_when_it_was_named():
    found = failover_evidence(committed=None)
    assert plan_of(found).groups == ()
    assert plan_of(found, groups=(GROUP,)).group(GROUP).verdict is CheckState.BLOCK


def test_only_partitions_of_the_chosen_topics_are_planned():
    assert plan_of(failover_evidence(), topics=("clicks",)).groups == ()
    assert plan_of(failover_evidence(), topics=("ord.*",)).group(GROUP).items[0].origin == ORDERS


def acl(
    kind, name, *, principal="User:shop", operation="READ", permission="ALLOW", pattern="LITERAL"
):
    return AclBinding(kind, pattern, name, principal, "*", operation, permission)


HERE = [acl("GROUP", GROUP)]
THERE = [acl("GROUP", GROUP), acl("TOPIC", "east.orders")]


@pytest.mark.parametrize(
    ("here", "there", "state"),
    [
        pytest.param(None, None, "ok", id="no authorizer there"),
        pytest.param(HERE, THERE, "ok", id="all rights are there"),
        pytest.param(HERE, THERE[:1], "block", id="the topic may not be read"),
        pytest.param(HERE, THERE[1:], "block", id="the group may not be read"),
        pytest.param(
            HERE, [acl("GROUP", "bil", pattern="PREFIXED"), acl("TOPIC", "*", operation="ALL")],
            "ok", id="by prefix and by ALL of every topic",
        ),
        pytest.param(
            HERE, [*THERE, acl("TOPIC", "east.orders", permission="DENY")], "block", id="denied"
        ),
        pytest.param(
            HERE, [acl(b.resource_type, b.name, principal="User:*") for b in THERE], "ok",
            id="everybody may",
        ),
        pytest.param("may not", THERE, "unknown", id="unreadable here"),
        pytest.param(HERE, "may not", "unknown", id="unreadable there"),
        pytest.param(None, THERE, "unknown", id="nobody says who reads"),
        pytest.param([], THERE, "unknown", id="no reader is named"),
    ],
)  # fmt: skip
def test_rights_of_the_groups_readers(here, there, state):
    found = failover_evidence(here={"acls": here}, west={"acls": there})
    assert check_of(found, "acls").state == state


def test_a_missing_right_is_named():
    found = failover_evidence(here={"acls": HERE}, west={"acls": []})
    assert "User:shop has no READ on topic east.orders" in check_of(found, "acls").evidence
