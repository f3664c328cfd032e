"""Share groups and other types in the round for groups (tests/conformance/reported/share_groups_left_out)."""

import pytest

from console.clusters.models import CollectionRound, Group, GroupOffset, Noun
from console.clusters.queries import commit_offsets
from jobs.cluster.descriptions import GroupDescription, ShareOffset, TopicPartition
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.clusters.making import make_cluster, run_rounds

pytestmark = pytest.mark.django_db

BOTH = frozenset({TopicPartition("barn.share", 0), TopicPartition("barn.share", 1)})


@pytest.fixture
def kafka():
    kafka = FakeKafka()
    kafka.add_topic("barn.share", 2, end=15)
    return kafka


@pytest.fixture
def cluster():
    return make_cluster()


def offset(partition=0):
    return GroupOffset.objects.get(topic="barn.share", partition=partition)


@pytest.mark.parametrize(
    ("told", "start", "lag", "status"),
    [
        pytest.param(ShareOffset(10, 5), 10, 5, "ok", id="as its broker reckons"),
        pytest.param(ShareOffset(10, 0), 10, 0, "ok", id="all done before the start offset moves"),
        pytest.param(ShareOffset(None, None), None, None, "no_commit", id="nothing read yet"),
        pytest.param(ShareOffset(10, None), 10, None, "unknown", id="the broker does not know"),
        pytest.param(ShareOffset(None, None, "refused"), None, None, "unknown", id="refused"),
    ],
)
def test_a_share_group_has_a_start_offset_and_the_lag_of_its_broker(
    cluster, kafka, told, start, lag, status
):
    kafka.add_share_group("g-share", {("barn.share", 0): told})
    run_rounds(cluster, kafka)
    row = offset()
    assert (row.start_offset, row.lag, row.lag_status) == (start, lag, status)
    assert (row.committed_offset, row.end_offset) == (None, 15)


def test_a_share_group_is_listed_with_type_members_and_totals(cluster, kafka):
    told = {("barn.share", 0): ShareOffset(10, 5), ("barn.share", 1): ShareOffset(None, None)}
    kafka.add_share_group("g-share", told, assigned=BOTH)
    run_rounds(cluster, kafka)
    group = Group.objects.get()
    assert (group.type, group.protocol, group.member_count) == ("share", "share", 1)
    assert (group.lag, group.unknown_count, group.partition_count) == (5, 1, 2)


def test_the_lag_of_a_share_group_in_time_is_no_guess(cluster, kafka):
    kafka.add_share_group("g-share", {("barn.share", 0): ShareOffset(10, 5)})
    run_rounds(cluster, kafka)
    assert (Group.objects.get().lag_ms, Group.objects.get().unknown_ms_count) == (None, 1)


def test_a_cluster_that_does_not_support_share_groups_says_so_and_the_group_is_listed(
    cluster, kafka
):
    kafka.add_share_group("g-share", {}, state="Dead", type="share")
    kafka.shares.clear()
    why = (
        "This cluster has no DescribeShareGroupOffsets (Kafka 4.2): nothing is known of its groups."
    )
    kafka.share_errors["g-share"] = why
    run_rounds(cluster, kafka)
    assert Group.objects.get().error == why
    assert why.rstrip(".") in CollectionRound.objects.get(noun=Noun.GROUPS).error


def test_a_share_group_that_cannot_be_described_keeps_its_type_of_the_list(cluster, kafka):
    kafka.add_share_group("g-share", {("barn.share", 0): ShareOffset(10, 5)})
    kafka.described["g-share"] = GroupDescription("g-share", "Unknown", "unknown", error="refused")
    run_rounds(cluster, kafka)
    assert (Group.objects.get().type, Group.objects.get().error) == ("share", "refused")


@pytest.mark.parametrize("protocol", ["connect", "sr", "streams"])
def test_groups_of_other_protocols_are_listed(cluster, kafka, protocol):
    kafka.add_group("others", {}, protocol=protocol)
    run_rounds(cluster, kafka)
    assert Group.objects.get().protocol == protocol


def test_what_moves_groups_sees_only_those_that_commit_offsets(cluster, kafka):
    kafka.add_share_group("g-share", {("barn.share", 0): ShareOffset(10, 5)})
    kafka.add_group("connect-cluster", {}, protocol="connect")
    kafka.add_group("billing", {("barn.share", 0): 3}, protocol="consumer")
    run_rounds(cluster, kafka)
    assert [one.group_id for one in Group.objects.filter(commit_offsets())] == ["billing"]
    rows = GroupOffset.objects.filter(commit_offsets("group__"))
    assert [one.group.group_id for one in rows] == ["billing"]


def test_the_page_of_a_share_group_has_its_start_offset_and_says_that_it_is_not_moved(
    cluster, kafka, admin_client
):
    kafka.add_share_group("g-share", {("barn.share", 0): ShareOffset(10, 5)})
    run_rounds(cluster, kafka)
    page = admin_client.get(f"/clusters/{cluster.alias}/groups/g-share/").content.decode()
    assert "Start offset" in page
    assert "neither failover nor MirrorMaker 2" in page


def test_rest_lists_groups_by_type(cluster, kafka, admin_client):
    kafka.add_share_group("g-share", {("barn.share", 0): ShareOffset(10, 5)})
    kafka.add_group("billing", {("barn.share", 0): 3})
    run_rounds(cluster, kafka)
    found = admin_client.get("/api/v1/groups/?type=share").json()["results"]
    assert [(one["group_id"], one["type"], one["lag"]) for one in found] == [
        ("g-share", "share", 5)
    ]
    row = admin_client.get("/api/v1/group-offsets/?group=g-share").json()["results"][0]
    assert (row["start_offset"], row["committed_offset"]) == (10, None)


@pytest.mark.parametrize(
    ("type_", "tool"),
    [
        ("share", "kafka-share-groups.sh"),
        ("streams", "kafka-streams-groups.sh"),
        ("consumer", "kafka-consumer-groups.sh"),
        ("classic", "kafka-consumer-groups.sh"),
    ],
)
def test_the_page_of_a_group_names_the_tool_that_describes_its_type(
    cluster, kafka, admin_client, type_, tool
):
    kafka.add_group("g", {("barn.share", 0): 3}, type=type_)
    run_rounds(cluster, kafka)
    page = admin_client.get(f"/clusters/{cluster.alias}/groups/g/").content.decode()
    assert f"{tool} --bootstrap-server east.example:9092 --describe --group g" in page


def test_groups_that_are_not_ready_can_be_filtered(cluster, kafka, admin_client):
    kafka.add_group("app", {}, type="streams", protocol="streams", state="NotReady")
    kafka.add_group("billing", {})
    run_rounds(cluster, kafka)
    page = admin_client.get(f"/clusters/{cluster.alias}/groups/?state=NotReady")
    assert [one.group_id for one in page.context["table"].rows] == ["app"]
