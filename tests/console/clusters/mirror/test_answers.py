"""What is mirrored to a cluster: by the names of topics, and by checkpoints that are read on demand."""

import pytest

from console.clusters.mirror import answers as mirror
from console.clusters.models import Cluster, Topic
from console.frame.errors import ActionRefused
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import UnknownTopicOrPartition
from jobs.replication.policy import DefaultReplicationPolicy
from tests.console.clusters.making import NOW, make_cluster

pytestmark = pytest.mark.django_db
TOPICS = (
    "orders",
    "heartbeats",
    "east.orders",
    "east.clicks",
    "east.heartbeats",
    "east.far.heartbeats",
    "east.checkpoints.internal",
    "lone.topic",
)
MIRROR = "/api/v1/clusters/west/mirror/"
OFFSETS = f"{MIRROR}consumer-offsets/"


@pytest.fixture
def west(db):
    cluster = make_cluster("west")
    for name in TOPICS:
        Topic.objects.create(cluster=cluster, name=name, changed_at=NOW)
    return cluster


def upstream(alias: str, hops: int, topics: list[str], *, has_checkpoints: bool) -> dict:
    return {
        "alias": alias,
        "replication_hops": hops,
        "remote_topics": topics,
        "checkpoints_topic": f"{alias}.checkpoints.internal",
        "has_checkpoints": has_checkpoints,
    }


def test_clusters_that_arrive_are_told_with_hops_and_topics(west, viewer, sign_in):
    east = sorted(t for t in TOPICS if t.startswith("east.") and not t.endswith("internal"))
    assert sign_in(viewer).get(MIRROR).json() == {
        "upstream_clusters": [
            upstream("east", 1, east, has_checkpoints=True),
            upstream("far", 2, [], has_checkpoints=False),
            upstream("lone", -1, ["lone.topic"], has_checkpoints=False),
        ],
        "heartbeat_topics": ["east.far.heartbeats", "east.heartbeats", "heartbeats"],
        "checkpoint_topics": ["east.checkpoints.internal"],
    }


def test_an_identity_policy_takes_every_topic_for_one_of_its_source(west, viewer, sign_in):
    found = sign_in(viewer).get(MIRROR, {"policy": "identity", "source": "north"}).json()
    topics = {one["alias"]: one["remote_topics"] for one in found["upstream_clusters"]}
    assert "orders" in topics["north"]
    assert topics["east"] == ["east.far.heartbeats", "east.heartbeats"]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        pytest.param({"separator": "a b"}, "separator", id="a separator that no topic may have"),
        pytest.param({"policy": "mine"}, "policy", id="an unknown policy"),
        pytest.param({"what": "1"}, "what", id="an unknown parameter"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_at_its_parameter(
    west, viewer, sign_in, asked, field
):
    answer = sign_in(viewer).get(MIRROR, asked)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])


def test_offsets_of_a_group_need_the_group_and_its_cluster(west, operator, sign_in):
    answer = sign_in(operator).get(OFFSETS)
    assert (answer.status_code, sorted(answer.json()["fields"])) == (400, ["group", "source"])


def test_somebody_who_may_only_look_does_not_make_crosslog_ask_the_cluster(west, viewer, sign_in):
    asked = {"group": "billing", "source": "east"}
    assert sign_in(viewer).get(OFFSETS, asked).status_code == 403
    assert sign_in(viewer).get("/clusters/west/mirror/", asked).status_code == 403


def test_offsets_come_in_the_order_of_their_partitions(west):
    def read(connection, policy, group, source):
        assert (connection.alias, group, source) == ("west", "billing", "east")
        return {
            TopicPartition("east.orders", 1): CommittedOffset(7, "of the application"),
            TopicPartition("east.clicks", 0): CommittedOffset(0),
        }

    found = mirror.consumer_offsets(west, DefaultReplicationPolicy(), "billing", "east", read)
    assert found == [
        mirror.RemoteOffset("east.clicks", 0, 0, ""),
        mirror.RemoteOffset("east.orders", 1, 7, "of the application"),
    ]


def test_what_the_cluster_cannot_say_is_a_refusal_with_what_to_do(west):
    def read(*_):
        raise UnknownTopicOrPartition(
            "There is no topic x.", cluster="west", hint="Check the alias."
        )

    with pytest.raises(ActionRefused, match=r"There is no topic x\. Check the alias\.") as refused:
        mirror.consumer_offsets(west, DefaultReplicationPolicy(), "billing", "x", read)
    assert refused.value.code == "unknown_topic_or_partition"


def test_a_cluster_that_does_not_answer_is_told_and_the_page_stays(west, operator, sign_in):
    Cluster.objects.update(bootstrap_servers="127.0.0.1:1")  # connections to it are refused
    asked = {"group": "billing", "source": "east"}
    answer = sign_in(operator).get(OFFSETS, asked)
    assert (answer.status_code, answer.json()["code"]) == (409, "unreachable")
    text = sign_in(operator).get("/clusters/west/mirror/", asked).content.decode()
    assert "Source clusters" in text
    assert answer.json()["detail"].split(".")[0] in text


def test_the_page_shows_who_arrives_and_asks_for_the_cluster_of_a_group(west, operator, sign_in):
    text = sign_in(operator).get("/clusters/west/mirror/", {"group": "billing"}).content.decode()
    for words in (
        "east.checkpoints.internal",
        "no heartbeats",
        "Enter the source cluster of the group.",
    ):
        assert words in text


def test_a_cluster_where_nothing_arrives_says_so(operator, sign_in):
    make_cluster("alone")
    assert "No remote topics" in sign_in(operator).get("/clusters/alone/mirror/").content.decode()
