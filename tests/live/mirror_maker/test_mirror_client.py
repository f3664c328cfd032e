"""The same questions to Kafka's own MirrorClient and RemoteClusterUtils and to ours: the same answers."""

import json
import subprocess
from pathlib import Path

import pytest

from jobs.cluster.admin.groups import alter_group_offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import UnknownTopicOrPartition
from jobs.lab.properties import logging_configuration
from jobs.replication.copy.heartbeats import Heartbeats
from jobs.replication.findings.heartbeat_topics import read_heartbeats
from jobs.replication.flow.internal_topics import ensure_internal_topics
from jobs.replication.naming.mirror_client import MirrorClient
from jobs.replication.policy import DefaultReplicationPolicy, IdentityReplicationPolicy
from tests.live.copiers import copy_all, flow_between
from tests.live.groups import Rounds, new_group
from tests.live.records import produce
from tests.live.topics import make_topic, new_topic
from tests.support import NO_COMPILER
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)

PROGRAM = Path(__file__).with_name("AskMirrorClient.java")
ALIASES = ["east", "near", "far", "nowhere"]
OTHERS = ("near.heartbeats", "near.far.heartbeats", "near.far.clicks", "near.checkpoints.internal")
_PACKAGE = "org.apache.kafka.connect.mirror"
# As Kafka 4.3.1 has it: not every topic that is called so is an internal one.
CALLED_INTERNAL = ("east.orders.internal", "near.far.checkpoints.x.internal", "mm2-x.internal")
NOW = {"names_ending_in_internal": False}
POLICIES = [
    pytest.param(DefaultReplicationPolicy(**NOW), {}, id="default"),
    pytest.param(
        IdentityReplicationPolicy("east", **NOW),
        {
            "replication.policy.class": f"{_PACKAGE}.IdentityReplicationPolicy",
            "source.cluster.alias": "east",
        },
        id="identity",
    ),
    pytest.param(
        DefaultReplicationPolicy("-", internal_topic_separator_enabled=False, **NOW),
        {
            "replication.policy.separator": "-",
            "replication.policy.internal.topic.separator.enabled": "false",
        },
        id="another separator",
    ),
]


@pytest.fixture(scope="module")
def mirrored(east, west) -> str:
    """The group of a flow whose checkpoints are on `west`, beside topics of other flows."""
    topic, group = new_topic(east, 2), new_group("mirrored")
    flow = flow_between(east, west, topic, groups=(group,))
    for partition, count in ((0, 10), (1, 20)):
        produce(east, topic, count, partition)
    copy_all(flow, east, topic)
    offsets = {
        TopicPartition(topic, 0): CommittedOffset(4, "of the application"),
        TopicPartition(topic, 1): CommittedOffset(20),
    }
    with ClusterClient(east.connection) as client:
        alter_group_offsets(client, group, offsets)
    with Rounds(flow) as rounds:
        assert rounds.run(sync_groups=False).written == len(offsets)
    for name in OTHERS + CALLED_INTERNAL:
        make_topic(west, name)
    return group


def java_answers(kafka, tmp_path, settings, questions) -> dict:
    logging = tmp_path / "log4j2.properties"
    logging.write_text(logging_configuration("error"), encoding="utf-8")
    command = kafka.command(
        str(PROGRAM), [json.dumps(settings), json.dumps(questions)], logging=logging
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if "jdk.compiler" in done.stderr:
        pytest.skip(NO_COMPILER)
    lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS ")]
    assert lines, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(lines[0].removeprefix("ANSWERS "))


def our_answers(west, policy, questions) -> dict:
    with ClusterClient(west.connection) as client:
        ours = MirrorClient(client, policy)
        return {
            "heartbeat_topics": sorted(ours.heartbeat_topics()),
            "checkpoint_topics": sorted(ours.checkpoint_topics()),
            "upstream_clusters": sorted(ours.upstream_clusters()),
            "remote_topics": sorted(ours.remote_topics()),
            "replication_hops": {a: ours.replication_hops(a) for a in questions["aliases"]},
            "remote_topics_of": {a: sorted(ours.remote_topics(a)) for a in questions["aliases"]},
            "remote_consumer_offsets": {
                group: {
                    str(where): [found.offset, found.metadata]
                    for where, found in ours.remote_consumer_offsets(group, alias).items()
                }
                for group, alias in questions["groups"].items()
            },
        }


def in_order(answers: dict) -> dict:
    def sort(value):
        return sorted(value) if isinstance(value, list) else value

    found = {name: sort(value) for name, value in answers.items()}
    found["remote_topics_of"] = {a: sorted(t) for a, t in answers["remote_topics_of"].items()}
    return found


@pytest.mark.parametrize(("policy", "settings"), POLICIES)
def test_all_answers_are_those_of_kafkas_own_classes(
    kafka, west, tmp_path, mirrored, policy, settings
):
    questions = {"aliases": ALIASES, "groups": {mirrored: "east", new_group(): "east"}}
    settings = {"bootstrap.servers": west.bootstrap_servers, **settings}
    theirs = in_order(java_answers(kafka, tmp_path, settings, questions))
    assert our_answers(west, policy, questions) == theirs
    assert len(theirs["remote_consumer_offsets"][mirrored]) == 2
    assert theirs["heartbeat_topics"]
    assert "east.orders.internal" in theirs["remote_topics_of"]["east"] or policy.separator != "."


def test_the_source_of_a_flow_with_default_settings_is_upstream(kafka, east, west, tmp_path):
    """The flow's own patterns match nothing: heartbeats are copied beside its topics."""
    flow = flow_between(east, west, "no-topic-matches-this")
    with ClusterClient(east.connection) as source, ClusterClient(west.connection) as target:

        def arrived_at():
            return read_heartbeats(source, target, flow).snapshot.arrived_at

        ensure_internal_topics(source, target, flow)
        with Heartbeats(flow, source, target):
            eventually(lambda: arrived_at() is not None, 60)
            first = arrived_at()
            eventually(lambda: arrived_at() > first, 60)
    questions = {"aliases": ["east"], "groups": {}}
    theirs = java_answers(kafka, tmp_path, {"bootstrap.servers": west.bootstrap_servers}, questions)
    assert "east" in theirs["upstream_clusters"]
    assert theirs["replication_hops"] == {"east": 1}
    assert our_answers(west, DefaultReplicationPolicy(**NOW), questions) == in_order(theirs)


def test_without_a_topic_of_checkpoints_there_is_no_empty_answer(west):
    with ClusterClient(west.connection) as client:
        ours = MirrorClient(client, DefaultReplicationPolicy())
        with pytest.raises(UnknownTopicOrPartition, match=r"nowhere\.checkpoints\.internal"):
            ours.remote_consumer_offsets("billing", "nowhere")
