"""Policies given by templates: what they make, what they take apart, and what is refused."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jobs
from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.internal_topics import syncs_place
from jobs.replication.flow.selection import policy_of, should_replicate
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.naming.custom_policy import CustomReplicationPolicy, PolicyTemplates
from jobs.replication.naming.topology import (
    checkpoint_topics,
    heartbeat_topics,
    remote_topics,
    upstream_clusters,
)
from jobs.replication.policy import DefaultReplicationPolicy

BLUE = {
    "remote_topic": "{topic}_from_{source}",
    "offset_syncs": "blue-syncs.{alias}",
    "checkpoints": "blue-checkpoints.{alias}",
    "heartbeats": "blue-beats",
}
FLOW = {
    "name": "blue",
    "source": {"alias": "east", "bootstrap_servers": "127.0.0.1:9092"},
    "target": {"alias": "west", "bootstrap_servers": "127.0.0.1:9192"},
    "policy": "custom",
    "custom_policy": BLUE,
}
aliases = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,10}", fullmatch=True)
names = st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True)
literals = st.from_regex(r"[A-Za-z0-9._-]{0,4}", fullmatch=True)


def blue(**change: str) -> CustomReplicationPolicy:
    return CustomReplicationPolicy(PolicyTemplates(**{**BLUE, **change}))


def errors_of(**change):
    with pytest.raises(InvalidFields) as caught:
        FlowSpec.from_mapping({**FLOW, **change})
    return caught.value.errors


def test_names_are_made_of_templates_and_taken_apart_again():
    policy = blue()
    assert policy.format_remote_topic("east", "orders.v1") == "orders.v1_from_east"
    assert policy.topic_source("orders.v1_from_east") == "east"
    assert policy.upstream_topic("orders.v1_from_east") == "orders.v1"
    assert policy.original_topic("orders_from_east_from_north") == "orders"
    assert policy.topic_source("orders") is None
    assert (
        policy.offset_syncs_topic("a"),
        policy.checkpoints_topic("a"),
        policy.heartbeats_topic(),
    ) == (
        "blue-syncs.a",
        "blue-checkpoints.a",
        "blue-beats",
    )


def test_predicates_follow_from_templates():
    policy = blue()
    assert policy.is_checkpoints_topic("blue-checkpoints.east")
    assert not policy.is_checkpoints_topic("east.checkpoints.internal")
    assert policy.is_mm2_internal_topic("blue-syncs.east")
    assert not policy.is_mm2_internal_topic("blue-beats")
    assert policy.is_internal_topic("__consumer_offsets")
    assert policy.is_heartbeats_topic("blue-beats_from_east")
    assert not policy.is_heartbeats_topic("heartbeats")


def test_predicates_can_be_given_as_patterns():
    policy = blue(internal="blue-.*\\..*", checkpoints_pattern="blue-checkpoints\\.(east|west)")
    assert policy.is_mm2_internal_topic("blue-anything.x")
    assert not policy.is_checkpoints_topic("blue-checkpoints.north")


@given(
    before=literals,
    between=literals,
    after=literals,
    flipped=st.booleans(),
    alias=aliases,
    topic=names,
)
def test_what_is_not_refused_can_always_be_taken_apart(
    before, between, after, flipped, alias, topic
):
    parts = ["{topic}", "{source}"] if flipped else ["{source}", "{topic}"]
    try:
        policy = CustomReplicationPolicy(
            PolicyTemplates(remote_topic=f"{before}{parts[0]}{between}{parts[1]}{after}")
        )
    except ValueError:
        return
    if policy.problem_with_alias(alias) is None:
        remote = policy.format_remote_topic(alias, topic)
        assert (policy.topic_source(remote), policy.upstream_topic(remote)) == (alias, topic)


@given(st.from_regex(r"[A-Za-z0-9_-]{1,6}(\.[A-Za-z0-9_-]{1,6}){0,3}", fullmatch=True))
def test_templates_like_the_default_policys_give_its_answers(topic):
    policy, default = CustomReplicationPolicy(PolicyTemplates()), DefaultReplicationPolicy()
    for ask in ("topic_source", "upstream_topic", "original_topic", "is_heartbeats_topic"):
        assert getattr(policy, ask)(topic) == getattr(default, ask)(topic)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"remote_topic": "{source}{topic}"}, "remote_topic", id="nothing between"),
        pytest.param({"remote_topic": "{topic}"}, "remote_topic", id="no source"),
        pytest.param(
            {"remote_topic": "{source}.{topic}.{topic}"}, "remote_topic", id="a topic twice"
        ),
        pytest.param(
            {"remote_topic": "{source}/{topic}"}, "remote_topic", id="no letter of a topic"
        ),
        pytest.param(
            {"remote_topic": "{source}.{topic}.{x}"}, "remote_topic", id="unknown placeholder"
        ),
        pytest.param(
            {"remote_topic": "{source}.{topic}.internal"}, "remote_topic", id="all internal"
        ),
        pytest.param({"remote_topic": "__{source}.{topic}"}, "remote_topic", id="all Kafka's own"),
        pytest.param(
            {"remote_topic": "{source}s{topic}"}, "remote_topic", id="a letter of the alias"
        ),
        pytest.param(
            {"remote_topic": f"{'x' * 200}{{source}}.{{topic}}"}, "remote_topic", id="too long"
        ),
        pytest.param({"offset_syncs": "syncs"}, "offset_syncs", id="no alias"),
        pytest.param({"checkpoints": BLUE["offset_syncs"]}, "checkpoints", id="two of one name"),
        pytest.param({"heartbeats": "beats.{alias}"}, "heartbeats", id="heartbeats of an alias"),
        pytest.param({"heartbeats": "beats.internal"}, "heartbeats", id="internal heartbeats"),
        pytest.param({"heartbeats": "x_from_y"}, "heartbeats", id="heartbeats like a remote topic"),
        pytest.param({"internal": "("}, "internal", id="no pattern"),
        pytest.param(
            {"internal": "other.*"}, "internal", id="a pattern that misses its own topics"
        ),
        pytest.param({"nonsense": "x"}, "nonsense", id="unknown template"),
        pytest.param({"remote_topic": 7}, "remote_topic", id="a number"),
    ],
)
def test_templates_that_leave_a_doubt_are_refused_at_their_field(change, field):
    errors = errors_of(custom_policy=BLUE | change)
    assert list(errors) == [f"custom_policy.{field}"]
    assert errors[f"custom_policy.{field}"].endswith(".")


@pytest.mark.parametrize("value", [None, {}, "x", []])
def test_a_custom_policy_needs_its_templates(value):
    assert list(errors_of(custom_policy=value)) == ["custom_policy"]


def test_mapping_and_back_keeps_the_templates():
    flow = FlowSpec.from_mapping(FLOW)
    assert FlowSpec.from_mapping(flow.to_mapping()) == flow
    assert flow.to_mapping()["custom_policy"]["remote_topic"] == BLUE["remote_topic"]


def test_templates_of_another_policy_are_dropped():
    assert FlowSpec.from_mapping({**FLOW, "policy": "default"}).custom_policy is None


def test_a_flow_names_and_selects_by_its_templates():
    flow = FlowSpec.from_mapping(FLOW)
    assert policy_of(flow).format_remote_topic("east", "orders") == "orders_from_east"
    assert syncs_place(flow) == ("blue-syncs.east", False)
    assert should_replicate(flow, "orders")
    assert not should_replicate(flow, "orders_from_west")
    assert not should_replicate(flow, "blue-syncs.west")


def test_instances_with_different_names_on_one_cluster_do_not_see_each_others_topics():
    blues, greens = blue(), DefaultReplicationPolicy()
    topics = [
        "orders",
        "orders_from_east",
        "east.orders",
        "blue-beats",
        "blue-beats_from_east",
        "heartbeats",
        "north.heartbeats",
        "blue-checkpoints.east",
        "north.checkpoints.internal",
    ]
    assert heartbeat_topics(blues, topics) == ["blue-beats", "blue-beats_from_east"]
    assert heartbeat_topics(greens, topics) == ["heartbeats", "north.heartbeats"]
    assert checkpoint_topics(blues, topics) == ["blue-checkpoints.east"]
    assert checkpoint_topics(greens, topics) == ["north.checkpoints.internal"]
    assert (upstream_clusters(blues, topics), upstream_clusters(greens, topics)) == (
        {"east"},
        {"north"},
    )
    assert "orders_from_east" in remote_topics(blues, topics)
    assert "orders_from_east" not in remote_topics(greens, topics)


# Names that only a policy may spell out. mm2-offsets, -configs and -status are the worker's.
_NAMES = re.compile(r"""["'](heartbeats|mm2-offset-syncs[^"']*|[^"']*checkpoints\.internal)["']""")
# `internal_logs` guesses what a broker's folder holds where it is not given, by MirrorMaker 2's own names.
_MAY = {
    "policy.py",
    "custom_policy.py",
    "detection.py",
    "selection_findings.py",
    "internal_logs.py",
}


def test_only_the_policies_spell_out_the_names_of_internal_topics():
    root = Path(jobs.__file__).parent
    found = {
        f"{path.name}: {match[0]}"
        for path in root.rglob("*.py")
        if path.name not in _MAY and "lab" not in path.parts and "mirror_config" not in path.parts
        for match in _NAMES.finditer(path.read_text(encoding="utf-8"))
    }
    # The name of a thread, of a setting, and of what is looked at.
    files = ("heartbeats", "spec", "silent_failures", "reading", "control")
    assert found <= {f'{name}.py: "heartbeats"' for name in files}
