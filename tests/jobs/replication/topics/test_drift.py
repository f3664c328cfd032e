"""The drift report: how each remote topic differs, what happens next, and what is surprising."""

import json
from dataclasses import replace

import pytest

from jobs.cluster.admin.acls import AclBinding
from jobs.replication.findings.selection_findings import SelectionFinding, find_selection_findings
from jobs.replication.flow.spec import PolicyName
from jobs.replication.topics.drift import compare_topics
from jobs.replication.topics.plan import AclsState, TopicsState
from tests.jobs.replication.topics.making import default, flow, missing, override, topic

SAME = TopicsState(
    (topic("orders"),), {"orders": "east.orders"}, {"east.orders": topic("east.orders")}
)


def configs(source, target):
    return {
        "source_configs": {"orders": {"a.b": source}},
        "target_configs": {"east.orders": {"a.b": target}},
    }


def report(refused=None, surprises=(), settings=None, **change):
    return compare_topics(flow(**settings or {}), replace(SAME, **change), surprises, refused)


def test_equal_topics_have_no_findings():
    found = report()
    assert not found.has_findings
    assert not found.topics[0].is_drifted


def test_partitions_and_replication_factors_stand_side_by_side():
    found = report(topics=(topic("orders", 3, replicas=3),)).topics[0]
    assert (found.partitions, found.remote_partitions) == (3, 1)
    assert (found.replication_factor, found.remote_replication_factor) == (3, 1)
    assert found.is_drifted


def test_another_replication_factor_alone_is_no_finding():
    assert not report(topics=(topic("orders", replicas=3),)).has_findings


@pytest.mark.parametrize(
    ("source", "target", "settings", "expected"),
    [
        pytest.param(override("1"), default("2"), {}, ("set", False, True), id="set next"),
        pytest.param(
            default("1"), override("2"), {}, ("keep", True, True), id="kept, deleted by MirrorMaker"
        ),
        pytest.param(
            default("1"),
            override("2"),
            {"delete_target_overrides": True},
            ("delete", True, True),
            id="deleted next",
        ),
        pytest.param(
            override("1"),
            default("2"),
            {"sync_configs": False},
            ("keep", False, True),
            id="the flow syncs no settings",
        ),
        pytest.param(
            override("1"),
            default("2"),
            {"config_properties_exclude": (".*",)},
            ("keep", False, False),
            id="excluded: told, but no finding",
        ),
    ],
)
def test_each_different_setting_says_what_happens_next(source, target, settings, expected):
    found = report(settings=settings, **configs(source, target))
    (config,) = found.topics[0].configs
    assert (config.source, config.target) == (source.value, target.value)
    assert (config.source_from, config.target_from) == (source.source, target.source)
    assert (config.next_sync, config.mm2_deletes, config.is_drift) == expected
    assert found.has_findings is config.is_drift


def test_the_next_changes_are_told_as_lines():
    found = report(**configs(override("1"), default("2")))
    assert found.next_changes == ("east.orders a.b: 2 -> 1 (The source topic has this value.)",)


def acl(name, operation):
    return AclBinding("TOPIC", "LITERAL", name, "User:shop", "*", operation, "ALLOW")


def test_acls_that_lack_and_acls_that_are_too_many_are_told():
    acls = AclsState([acl("orders", "ALL")], [acl("east.orders", "WRITE")])
    found = report(acls=acls).topics[0]
    assert found.acls.missing == ("ALLOW READ to User:shop from *",)
    assert found.acls.only_on_target == ("ALLOW WRITE to User:shop from *",)
    assert found.is_drifted


def test_synced_acls_are_no_finding():
    acls = AclsState([acl("orders", "ALL")], [acl("east.orders", "READ")])
    assert not report(acls=acls).has_findings


def test_a_topic_without_a_remote_topic_has_a_problem():
    found = report(remotes={"east.orders": missing("east.orders")}).topics[0]
    assert "no remote topic to compare with" in found.problem
    assert found.is_drifted


def test_a_refused_topic_is_not_compared_and_not_changed():
    found = report(
        refused={"east.orders": "It is not ours."}, **configs(override("1"), default("2"))
    )
    assert found.topics[0].problem == "It is not ours."
    assert (found.topics[0].configs, found.next_changes) == ((), ())


def test_a_report_is_json():
    found = report(
        {"east.orders": "no"}, [SelectionFinding("x", "y")], **configs(override("1"), default("2"))
    )
    values = json.loads(json.dumps(found.to_mapping()))
    assert values["surprises"] == [{"topic": "x", "text": "y"}]
    assert values["topics"][0]["is_drifted"] is True
    assert values["refused"] == {"east.orders": "no"}


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        pytest.param("west.orders", {}, "west has no topic orders", id="only looks like a copy"),
        pytest.param("west.there", {}, "", id="a real copy of the target's topic"),
        pytest.param("east.orders", {}, "a remote topic from east", id="looks like its own copy"),
        pytest.param("billing.internal", {}, "No pattern can change that", id="ends in internal"),
        pytest.param("billing-internal", {}, "ends with internal", id="ends in -internal"),
        pytest.param("__audit", {}, "begins with __", id="begins like Kafka's own"),
        pytest.param("__consumer_offsets", {}, "", id="Kafka's own"),
        pytest.param("mm2-offsets.north.internal", {}, "", id="MirrorMaker's own"),
        pytest.param("mm2-offset-syncs.west.internal", {}, "", id="offset syncs"),
        pytest.param("north.checkpoints.internal", {}, "", id="checkpoints"),
        pytest.param(
            "orders.replica", {}, "default pattern .*\\.replica", id="a default exclusion"
        ),
        pytest.param(
            "orders.replica", {"topics_exclude": (r"orders.*",)}, "", id="an exclusion by a person"
        ),
        pytest.param("billing.internal", {"topics": ("orders",)}, "", id="not selected"),
        pytest.param(
            "device-heartbeats",
            {"policy": PolicyName.IDENTITY},
            "Named east.device-heartbeats on the target",
            id="renamed although names stay",
        ),
        pytest.param("device-heartbeats", {}, "", id="renamed as all others"),
        pytest.param("heartbeats", {"policy": PolicyName.IDENTITY}, "", id="the real heartbeats"),
        pytest.param("orders", {}, "", id="an ordinary topic"),
    ],
)
def test_topics_left_out_by_surprise_are_told(name, settings, words):
    found = find_selection_findings(flow(**settings), [topic(name)], {"there"})
    assert bool(found) is bool(words)
    assert words in "".join(surprise.text for surprise in found)
