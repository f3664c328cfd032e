"""Which policies explain the names of topics."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.naming.detection import Sureness, detect_policies
from jobs.replication.policy import DefaultReplicationPolicy

WORKER = ["mm2-offsets.east.internal", "mm2-configs.east.internal", "mm2-status.east.internal"]


def told(topics):
    return [(c.policy, c.template, c.sources, c.sureness) for c in detect_policies(topics)]


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        pytest.param(["orders", "clicks", "__consumer_offsets"], [], id="no MirrorMaker"),
        pytest.param([], [], id="no topics"),
        pytest.param(
            [*WORKER, "east.checkpoints.internal", "east.heartbeats", "east.orders", "orders"],
            [("default", "{source}.{topic}", ("east",), Sureness.CERTAIN)],
            id="default",
        ),
        pytest.param(
            ["east.checkpoints.internal", "east.orders"],
            [("default", "{source}.{topic}", ("east",), Sureness.CERTAIN)],
            id="default in a Connect cluster",
        ),
        pytest.param(
            [*WORKER, "east_checkpoints_internal", "east_orders", "east_heartbeats"],
            [("default", "{source}_{topic}", ("east",), Sureness.CERTAIN)],
            id="another separator",
        ),
        pytest.param(
            [*WORKER, "east.checkpoints.internal", "orders", "clicks"],
            [("identity", "{topic}", ("east",), Sureness.LIKELY)],
            id="identity",
        ),
        pytest.param(
            [*WORKER, "east.heartbeats", "orders"],
            [("identity", "{topic}", ("east",), Sureness.LIKELY)],
            id="identity with heartbeats",
        ),
        pytest.param(
            [*WORKER, "orders-from-east", "clicks-from-east"],
            [("custom", "{topic}-{source}", ("east",), Sureness.HINT)],
            id="the alias at the end",
        ),
        pytest.param(
            ["device-heartbeats", "orders"],
            [("default", "{source}-{topic}", ("device",), Sureness.HINT)],
            id="an application's heartbeats are only a hint",
        ),
    ],
)
def test_policies_are_told_from_names(topics, expected):
    assert told(topics) == expected


def test_several_policies_on_one_cluster_are_told_apart():
    topics = [
        "east.checkpoints.internal",
        "east.orders",
        "north_checkpoints_internal",
        "north_orders",
        "mm2-offsets.south.internal",
    ]
    assert {(c.policy, c.separator, c.sources) for c in detect_policies(topics)} == {
        ("default", ".", ("east",)),
        ("default", "_", ("north",)),
        ("identity", ".", ("south",)),
    }


def test_dots_in_internal_topics_beside_another_separator_are_seen():
    (found,) = detect_policies(
        [*WORKER, "east.checkpoints.internal", "east_orders", "east_heartbeats"]
    )
    assert (found.separator, found.internal_separator) == ("_", False)


def test_evidence_names_topics_and_what_they_tell():
    (found,) = detect_policies(["east.checkpoints.internal", "east.orders"])
    assert found.remote_topics == 1
    assert [(e.topic, e.tells) for e in found.evidence] == [
        ("east.checkpoints.internal", "groups of east are translated here"),
        ("east.checkpoints.internal", "internal topics are separated by '.'"),
        ("east.orders", "a remote topic"),
    ]


def test_over_several_hops_the_nearest_cluster_is_the_source():
    found = detect_policies(
        ["b.checkpoints.internal", "b.heartbeats", "b.a.heartbeats", "b.a.orders"]
    )
    assert [c.sources for c in found] == [("b",)]


@given(
    alias=st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True).filter(lambda a: a != "heartbeats"),
    separator=st.sampled_from([".", "_", "-", "__"]),
    topics=st.lists(st.from_regex(r"t[a-z0-9]{1,8}", fullmatch=True), min_size=1, max_size=5),
)
def test_the_policy_that_made_the_names_is_found(alias, separator, topics):
    policy = DefaultReplicationPolicy(separator)
    made = [policy.format_remote_topic(alias, topic) for topic in {*topics, "heartbeats"}]
    found = detect_policies([*made, policy.checkpoints_topic(alias), "other"])
    best = found[0]
    assert (best.policy, best.separator, best.sources) == ("default", separator, (alias,))
    assert best.remote_topics == len(set(topics))
