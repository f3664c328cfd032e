"""ACLs of remote topics: MirrorMaker 2's rules, and a note for all that is not synced."""

import pytest

from jobs.cluster.admin.acls import AclBinding
from jobs.replication.policy import DefaultReplicationPolicy
from jobs.replication.topics.acl_sync import plan_acls, target_acl
from tests.jobs.replication.policies import FILE
from tests.support import conformance_cases

REMOTES = {"orders": "east.orders", "payments": "east.payments"}


def acl(operation="READ", name="orders", *, kind="TOPIC", pattern="LITERAL", permission="ALLOW"):
    return AclBinding(kind, pattern, name, "User:shop", "*", operation, permission)


@pytest.mark.parametrize("case", conformance_cases(FILE, "acl_sync"))
def test_acls_are_changed_as_upstream_does(case):
    binding = acl(case["operation"], case["topic"], permission=case["permission"])
    remote = DefaultReplicationPolicy().format_remote_topic("source", case["topic"])
    made = target_acl(binding, remote)
    if case["expected"] is None:
        assert made is None
        return
    expected = case["expected"]
    assert (made.permission, made.operation, made.name) == (
        expected["permission"],
        expected["operation"],
        expected["topic"],
    )
    assert (made.principal, made.host, made.pattern_type) == ("User:shop", "*", "LITERAL")


@pytest.mark.parametrize(
    ("binding", "operation"),
    [
        pytest.param(acl("READ"), "READ", id="read"),
        pytest.param(acl("DESCRIBE"), "DESCRIBE", id="describe"),
        pytest.param(acl("ALL"), "READ", id="all becomes read"),
        pytest.param(acl("WRITE", permission="DENY"), "WRITE", id="a denied write stays denied"),
    ],
)
def test_literal_acls_of_replicated_topics_are_made(binding, operation):
    (made,) = plan_acls([binding], [], REMOTES).missing
    assert (made.name, made.operation) == ("east.orders", operation)


@pytest.mark.parametrize(
    "binding",
    [
        pytest.param(acl("WRITE"), id="allow write"),
        pytest.param(acl(name="other"), id="a topic that is not replicated"),
        pytest.param(acl(name="orders", kind="GROUP"), id="a group of the topic's name"),
        pytest.param(acl(name="ord", pattern="PREFIXED"), id="a prefix"),
        pytest.param(acl(name="*"), id="every topic"),
    ],
)
def test_all_other_acls_are_not_made(binding):
    assert plan_acls([binding], [], REMOTES).missing == ()


def test_what_is_there_is_not_made_again():
    assert plan_acls([acl("ALL"), acl("READ")], [acl("READ", "east.orders")], REMOTES).missing == ()


def test_two_acls_that_become_one_are_made_once():
    assert len(plan_acls([acl("ALL"), acl("READ")], [], REMOTES).missing) == 1


def test_an_acl_that_only_the_target_has_is_kept():
    plan = plan_acls([], [acl("WRITE", "east.orders")], REMOTES)
    assert (plan.missing, plan.notes) == ((), ())


@pytest.mark.parametrize(
    ("binding", "topic", "words"),
    [
        pytest.param(acl("WRITE"), "east.orders", "1 ALLOW WRITE of orders not synced", id="write"),
        pytest.param(
            acl("ALL", "pay", pattern="PREFIXED"),
            "",
            "ALLOW ALL to User:shop from * on names that begin with pay not synced: it covers payments",
            id="a prefix of a replicated topic",
        ),
        pytest.param(acl(name="*"), "", "on every name not synced: it covers every topic", id="*"),
        pytest.param(acl(kind="GROUP"), "", "1 ACLs of consumer groups not synced", id="a group"),
    ],
)
def test_what_is_not_synced_is_told(binding, topic, words):
    (note,) = plan_acls([binding], [], REMOTES).notes
    assert note.topic == topic
    assert words in note.text


def test_a_prefix_that_covers_no_replicated_topic_is_not_worth_telling():
    assert plan_acls([acl(name="zoo", pattern="PREFIXED")], [], REMOTES).notes == ()


def test_many_covered_topics_are_counted():
    remotes = {f"t{n}": f"east.t{n}" for n in range(5)}
    (note,) = plan_acls([acl(name="t", pattern="PREFIXED")], [], remotes).notes
    assert "it covers t0, t1, t2 and 2 more" in note.text
