"""Share groups on a real cluster beside what kafka-share-groups.sh says (reported/share_groups_left_out)."""

import uuid

import pytest

from jobs.cluster.admin.groups import describe_groups, list_groups, read_shares
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from tests.live.kafka_tools import run
from tests.live.records import produce
from tests.live.topics import new_topic
from tests.waiting import PATIENCE, eventually

CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
TOOL = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
GROUPS = "org.apache.kafka.tools.GroupsCommand"
WITHIN_S = 60


@pytest.fixture(scope="module")
def client(east):
    with ClusterClient(east.connection, timeout_s=30 * PATIENCE) as client:
        yield client


@pytest.fixture(scope="module")
def topic(east) -> str:
    return new_topic(east, 2)


@pytest.fixture(scope="module")
def group(east, client, topic):
    """A share group of one member that has read five records of partition 0, and nothing of partition 1."""
    name = f"g-share-{uuid.uuid4().hex[:8]}"
    quiet = east.node(1).plan.folder / "log4j2-tool.properties"
    words = ["--bootstrap-server", east.bootstrap_servers, "--topic", topic, "--group", name]
    with east.jvm.start_tool(CONSUMER, words, logging=quiet) as tool:
        try:
            eventually(lambda: len(described(client, name).assigned) == 2, WITHIN_S)
            # Before the broker has a start offset, records are passed by: auto.offset.reset is latest.
            eventually(
                lambda: (produce(east, topic, 5, 0), start(client, name, topic))[1] is not None,
                WITHIN_S,
                every=1,
            )
            yield name
        finally:
            tool.kill()


def described(client, name):
    return describe_groups(client, [name])[name]


def start(client, name, topic):
    told = read_shares(client, [name]).offsets.get(name, {})
    one = told.get(TopicPartition(topic, 0))
    return one.start_offset if one else None


def tool_says(east, group, what):
    """Return the rows of kafka-share-groups.sh as mappings; a dash is None."""
    lines = [
        line.split()
        for line in run(east, TOOL, "--describe", "--group", group, what).splitlines()
        if line
    ]
    names = next(line for line in lines if line[0] == "GROUP")
    rows = [line for line in lines if line[0] == group]
    return [
        dict(zip(names, [None if one == "-" else one for one in row], strict=False)) for row in rows
    ]


def number(text):
    return None if text is None else int(text)


def test_a_share_group_is_listed_as_kafkas_tool_lists_it(east, client, group):
    listed = {one.group_id: one for one in list_groups(client, every_type=True).groups}
    row = next(
        line.split() for line in run(east, GROUPS, "--list").splitlines() if line.startswith(group)
    )
    assert [listed[group].type, listed[group].protocol] == [row[1].lower(), row[2]]


def test_what_moves_offsets_does_not_see_it(client, group):
    assert group not in {one.group_id for one in list_groups(client).groups}


def test_members_and_state_are_those_of_kafkas_tool(east, client, group):
    ours = described(client, group)
    state = tool_says(east, group, "--state")[0]
    assert (ours.state, ours.member_count) == (state["STATE"], int(state["#MEMBERS"]))
    assert ours.type == "share"


def test_start_offsets_and_lag_are_those_of_kafkas_tool(east, client, group, topic):
    def both():
        theirs = {
            (row["TOPIC"], int(row["PARTITION"])): (number(row["START-OFFSET"]), number(row["LAG"]))
            for row in tool_says(east, group, "--offsets")
        }
        told = read_shares(client, [group]).offsets[group]
        ours = {tuple(where): (one.start_offset, one.lag) for where, one in told.items()}
        return ours == theirs, ours, theirs

    eventually(lambda: both()[0], WITHIN_S, every=1)
    assert start(client, group, topic) is not None


def test_a_group_that_does_not_exist_is_dead_and_of_no_share(client):
    assert described(client, "nothing-here").state == "Dead"


def test_the_round_has_the_group_with_the_values_of_its_broker(east, client, group, topic, db):
    from django.utils import timezone

    from console.clusters.collection import collect
    from console.clusters.models import Cluster, Group, GroupOffset

    row = Cluster.objects.create(
        alias="east", bootstrap_servers=east.bootstrap_servers, created_at=timezone.now()
    )
    collect.collect_cluster(row.pk)
    found = Group.objects.get(group_id=group)
    assert (found.type, found.protocol, found.member_count, found.state) == (
        "share",
        "share",
        1,
        "Stable",
    )
    first = GroupOffset.objects.get(group=found, partition=0)
    assert (first.committed_offset, first.start_offset) == (None, start(client, group, topic))
