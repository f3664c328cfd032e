import pytest

from jobs.cluster.admin.acls import AclBinding
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.failover.model import CheckState
from jobs.replication.flow.spec import PolicyName
from tests.jobs.replication.failover.making import (
    GROUP,
    ORDERS,
    empty,
    failover_evidence,
    flow,
    offsets,
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
        pytest.param("inactive_there", {}, "passed", id="no members there"),
        pytest.param("inactive_there", {"west": {"groups": {}}}, "passed", id="never seen there"),
        pytest.param("inactive_there", {"west": {"groups": active()}}, "failed", id="active there"),
        pytest.param(
            "inactive_there", {"west": {"groups": {GROUP: empty(error="no coordinator")}}},
            "unknown", id="no answer there",
        ),
        pytest.param("inactive_here", {}, "passed", id="no consumer runs here"),
        pytest.param("inactive_here", {"here": {"groups": active()}}, "failed", id="active here"),
        pytest.param(
            "inactive_here", {"here": {"fault": "east: no broker", "groups": {}}}, "unknown",
            id="the origin is away",
        ),
        pytest.param("type", {"here": {"groups": {GROUP: empty(type="consumer")}}}, "passed", id="new"),
        pytest.param("type", {"here": {"groups": {GROUP: empty(type="share")}}}, "failed", id="share"),
        pytest.param(
            "type",
            {
                "here": {"groups": {GROUP: empty()}},
                "west": {"groups": {GROUP: empty(type="share")}},
            },
            "failed",
            id="a share group has its name there",
        ),
        pytest.param(
            "type", {"here": {"groups": {GROUP: empty(type="streams")}}}, "warning", id="streams"
        ),
        pytest.param("reread", {"committed": 200}, "passed", id="exact"),
        pytest.param("reread", {}, "warning", id="repeats"),
        pytest.param("moves_back", {"before": 100}, "warning", id="ahead there"),
        pytest.param(
            "without_commit", {"here": {"topics": {"orders": topic("orders", 3)}}}, "warning",
            id="reads partitions without a commit",
        ),
        pytest.param(
            "streams", {"here": {"topic_names": frozenset({"billing-store-changelog"})}}, "warning",
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
    assert [c.state for c in group.checks if c.key == "offsets_elsewhere"] == [CheckState.WARNING]


def test_a_group_without_any_item_is_only_there_when_it_was_named():
    found = failover_evidence(committed=None)
    assert plan_of(found).groups == ()
    assert plan_of(found, groups=(GROUP,)).group(GROUP).verdict is CheckState.FAILED


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
        pytest.param(None, None, "passed", id="no authorizer there"),
        pytest.param(HERE, THERE, "passed", id="all rights are there"),
        pytest.param(HERE, THERE[:1], "failed", id="the topic may not be read"),
        pytest.param(HERE, THERE[1:], "failed", id="the group may not be read"),
        pytest.param(
            HERE, [acl("GROUP", "bil", pattern="PREFIXED"), acl("TOPIC", "*", operation="ALL")],
            "passed", id="by prefix and by ALL of every topic",
        ),
        pytest.param(
            HERE, [*THERE, acl("TOPIC", "east.orders", permission="DENY")], "failed", id="denied"
        ),
        pytest.param(
            HERE, [acl(b.resource_type, b.name, principal="User:*") for b in THERE], "passed",
            id="all may",
        ),
        pytest.param("may not", THERE, "unknown", id="unreadable here"),
        pytest.param(HERE, "may not", "unknown", id="unreadable there"),
        pytest.param(None, THERE, "unknown", id="readers not known"),
        pytest.param([], THERE, "unknown", id="no reader is named"),
    ],
)  # fmt: skip
def test_rights_of_the_groups_readers(here, there, state):
    found = failover_evidence(here={"acls": here}, west={"acls": there})
    assert check_of(found, "acls").state == state


def test_a_missing_right_is_named():
    found = failover_evidence(here={"acls": HERE}, west={"acls": []})
    assert "User:shop has no READ on topic east.orders" in check_of(found, "acls").evidence


CHANGELOG = "billing-totals-changelog"
REPARTITION = TopicPartition("billing-by-customer-repartition", 0)


def streams_plan(*, topics=("orders", "clicks"), state=True, there=(0, 141), processed=60):
    """Return the plan of an application `billing` that reads `orders` by way of a repartition topic."""
    found = failover_evidence(
        committed=200, there=there, flow=flow(topics=topics),
        here={
            "topic_names": frozenset({"orders", REPARTITION.topic, *([CHANGELOG] if state else [])}),
            "committed": {
                GROUP: {ORDERS: CommittedOffset(200), REPARTITION: CommittedOffset(processed)}
            },
            "ranges": {ORDERS: offsets(0, 201), REPARTITION: offsets(0, 60)},
        },
    )  # fmt: skip
    return plan_of(found).group(GROUP)


@pytest.mark.parametrize("topics", [("orders",), (".*",)], ids=["not copied", "copied"])
def test_internal_topics_of_an_application_are_neither_missing_nor_planned(topics):
    plan = streams_plan(topics=topics)
    checks = {check.key: check for check in plan.checks}
    assert (checks["translated"].state, "only_here" in checks) == ("passed", False)
    assert not [
        one for one in plan.checks if "flow for them" in one.next or "Start a flow" in one.next
    ]
    assert [one.target for one in plan.items if one.internal] == [None]
    assert [one.origin for one in plan.to_be_set] == [ORDERS]


def test_a_topic_of_the_users_that_is_called_as_a_changelog_is_planned():
    users = TopicPartition("billing-orders-changelog", 0)
    found = failover_evidence(
        flow=flow(topics=(".*",)),
        here={
            "topic_names": frozenset({users.topic}),
            "committed": {GROUP: {users: CommittedOffset(60)}},
        },
    )
    plan = plan_of(found).group(GROUP)
    assert [(one.internal, one.destination and one.destination.topic) for one in plan.items] == [
        (False, f"east.{users.topic}")
    ]
    assert "streams" not in {check.key for check in plan.checks}


def test_a_copy_under_the_same_name_is_what_the_application_reads_there():
    policy = flow(topics=(".*",), policy=PolicyName.IDENTITY)
    found = failover_evidence(
        committed=200,
        flow=policy,
        here={"committed": {GROUP: {REPARTITION: CommittedOffset(60)}}},
    )
    (item,) = plan_of(found).group(GROUP).items
    assert (item.internal, item.destination) == (False, REPARTITION)


def test_the_plan_says_what_an_application_needs_with_the_number_of_records():
    (check,) = [one for one in streams_plan().checks if one.key == "streams"]
    assert check.state is CheckState.WARNING
    assert "its state (totals) is empty there until it is rebuilt from east.orders" in check.what
    assert "read again: 0 to 140 records" in check.evidence
    assert "--application-id billing --input-topics east.orders on west" in check.next


def test_how_much_a_rebuild_reads_is_not_known_where_an_offset_is_not():
    (check,) = [one for one in streams_plan(there=(0, 10)).checks if one.key == "streams"]
    assert "read again: not known how many records" in check.evidence


@pytest.mark.parametrize(
    ("processed", "state"),
    [(60, "passed"), (50, "warning")],
    ids=["all processed", "some are waiting"],
)
def test_an_application_without_state_needs_only_that_its_repartition_topics_are_processed(
    processed, state
):
    plan = streams_plan(state=False, processed=processed)
    (check,) = [one for one in plan.checks if one.key == "streams"]
    assert check.state == state
    assert ("10 records of repartition topics" in check.evidence) is (state == "warning")
