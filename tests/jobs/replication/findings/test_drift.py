"""Drift as findings: each difference with what it means and what to do."""

import pytest

from jobs.cluster.admin.acls import AclBinding
from jobs.replication.findings.drift import broken_patterns, drift_findings
from jobs.replication.findings.selection_findings import SelectionFinding, find_selection_findings
from jobs.replication.flow.spec import CopiedBy
from jobs.replication.topics.drift import (
    AclDrift,
    ConfigDrift,
    DriftReport,
    TopicDrift,
    compare_topics,
)
from jobs.replication.topics.plan import AclsState, TopicsState
from tests.jobs.replication.topics.making import flow, topic

WATCHED = {"copied_by": CopiedBy.MIRROR_MAKER}


def drifted(**fields):
    values = {"partitions": 3, "remote_partitions": 3} | fields
    factors = values.pop("factors", (1, 1))
    return TopicDrift(
        "orders",
        "east.orders",
        values.pop("partitions"),
        values.pop("remote_partitions"),
        *factors,
        **values,
    )


def setting(key="retention.ms", *, next_sync="keep", mm2_deletes=False, is_drift=True):
    return ConfigDrift(key, "1", "x", "5", "y", next_sync, "why", mm2_deletes, is_drift)


def found(*topics, spec=None, sync_is_on=True, **report):
    return list(
        drift_findings(spec or flow(), DriftReport("f", topics, **report), sync_is_on=sync_is_on)
    )


def test_equal_sides_have_no_findings():
    assert found(drifted()) == []


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        pytest.param(
            drifted(remote_partitions=2), ("partitions_differ", "critical"), id="fewer there"
        ),
        pytest.param(
            drifted(remote_partitions=4), ("partitions_differ", "warning"), id="more there"
        ),
        pytest.param(
            drifted(factors=(3, 1)), ("replication_factor_differs", "info"), id="replicas"
        ),
        pytest.param(
            drifted(problem="gone"), ("topic_missing", "critical"), id="no answer about it"
        ),
        pytest.param(
            drifted(problem="x (UNKNOWN_TOPIC_OR_PART)"),
            ("topic_missing", "critical"),
            id="not there",
        ),
        pytest.param(drifted(configs=(setting(),)), ("config_differs", "warning"), id="a setting"),
        pytest.param(
            drifted(configs=(setting(next_sync="delete"),)),
            ("config_deleted_next", "warning"),
            id="what the flow deletes next",
        ),
        pytest.param(
            drifted(acls=AclDrift(missing=("ALLOW READ to User:a from *",))),
            ("acls_not_synced", "warning"),
            id="an ACL is missing",
        ),
        pytest.param(
            drifted(acls=AclDrift(only_on_target=("ALLOW WRITE to User:a from *",))),
            ("acls_only_on_target", "warning"),
            id="an ACL too many",
        ),
    ],
)
def test_each_difference_is_a_finding_about_its_topic(topic, expected):
    (finding,) = found(topic)
    assert (finding.code.value, finding.severity.value) == expected
    assert finding.subject == "orders"
    assert finding.todo


def test_more_replicas_on_the_target_are_no_finding():
    assert found(drifted(factors=(1, 3))) == []


def test_what_may_differ_is_no_finding():
    assert found(drifted(configs=(setting(is_drift=False),))) == []


@pytest.mark.parametrize(
    ("spec", "sync_is_on", "expected"),
    [
        pytest.param(flow(**WATCHED), True, "config_deleted_next", id="MirrorMaker 2 deletes it"),
        pytest.param(flow(**WATCHED), False, "config_differs", id="MirrorMaker 2 syncs nothing"),
        pytest.param(flow(), True, "config_differs", id="crosslog keeps it"),
    ],
)
def test_what_the_next_sync_deletes_depends_on_who_copies(spec, sync_is_on, expected):
    topic = drifted(configs=(setting(mm2_deletes=True),))
    (finding,) = found(topic, spec=spec, sync_is_on=sync_is_on)
    assert finding.code == expected


def test_it_names_what_is_deleted_with_its_value():
    (finding,) = found(drifted(configs=(setting(mm2_deletes=True),)), spec=flow(**WATCHED))
    assert "MirrorMaker 2's next sync (every 10 min) deletes retention.ms" in finding.sentence
    assert finding.evidence == {"retention.ms": "5"}


def test_topics_left_out_by_surprise_and_topics_of_others_are_findings():
    findings = found(
        surprises=(
            SelectionFinding("west.foo", "Left out: its name says that it came from west."),
        ),
        refused={"east.orders": "It was there before."},
    )
    assert [(f.code.value, f.subject) for f in findings] == [
        ("topic_left_out", "west.foo"),
        ("topic_refused", "east.orders"),
    ]


def test_acls_that_no_sync_ever_makes_are_told_even_while_nothing_is_synced():
    acls = [
        AclBinding("GROUP", "LITERAL", "billing", "User:a", "*", "READ", "ALLOW"),
        AclBinding("TOPIC", "PREFIXED", "ord", "User:a", "*", "READ", "ALLOW"),
    ]
    state = TopicsState(
        (topic("orders"),),
        {"orders": "east.orders"},
        {"east.orders": topic("east.orders")},
        acls=AclsState(acls, []),
    )
    report = compare_topics(flow(sync_acls=False), state)
    assert len(report.never_synced) == 2
    (finding,) = drift_findings(flow(), report)
    assert finding.code == "acls_not_synced"
    assert "1 ACLs of consumer groups not synced" in finding.sentence
    assert "it covers orders" in finding.sentence


@pytest.mark.parametrize(
    ("pattern", "is_broken"),
    [
        ("a{1,3}", True),
        ("[a,b]x", True),
        ("(a,b)", True),
        ("a{2}", False),
        ("a,b", False),
        ("(a|b)", False),
    ],
)
def test_a_comma_inside_brackets_breaks_a_pattern_of_mirror_maker(pattern, is_broken):
    assert bool(list(broken_patterns([pattern]))) is is_broken


def test_patterns_of_a_flow_of_crosslog_may_have_commas():
    assert found(spec=flow(topics=("a{1,3}",))) == []
    assert [f.code for f in found(spec=flow(topics=("a{1,3}",), **WATCHED))] == ["broken_pattern"]


def test_mirror_maker_copies_what_looks_like_heartbeats_whatever_the_patterns_say():
    topics = [topic("shop.heartbeats"), topic("heartbeats"), topic("west.heartbeats")]
    watched = find_selection_findings(flow(topics=("orders",), **WATCHED), topics, frozenset())
    assert [one.topic for one in watched] == ["shop.heartbeats"]
    assert "Replicated although no pattern selects it" in watched[0].text
    assert find_selection_findings(flow(topics=("orders",)), topics, frozenset()) == []
