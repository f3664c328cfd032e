"""Groups of the streams protocol: read from a capture of a real broker, and asked of coordinators."""

import json
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.streams_group_describe.v0 import response as describes

from jobs.cluster.errors import NotAuthorized
from jobs.cluster.group_members import StreamsGroup, StreamsNode, StreamsSubtopology
from jobs.cluster.protocol.groups.streams import (
    NoStreamsGroups,
    describe_streams_groups,
    read_streams_groups,
)
from jobs.cluster.protocol.transport import streams_describe as v1
from jobs.wire.errors import RecordFormatError
from tests.jobs.cluster.protocol.fake_broker import FIND_COORDINATOR, NOW, PATIENT
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of
from tests.jobs.cluster.protocol.groups.captures import capture, scenarios
from tests.jobs.cluster.protocol.groups.coordinating import coordinators

STREAMS_GROUP_DESCRIBE = 89
# A broker of Kafka 4.4.0 with its InMemoryTopologyDescriptionPlugin.
KAFKA_4_4 = json.loads(Path(__file__).with_name("streams_describe_4.4.0.json").read_text("utf-8"))
ANSWER_1 = bytes.fromhex(KAFKA_4_4["response_hex"])


def described(error=ErrorCode.none, state="Stable", topology=None):
    def answer(asked):
        return describes.StreamsGroupDescribeResponse(
            throttle_time=NOW,
            groups=tuple(
                describes.DescribedGroup(
                    error_code=error, error_message=None, group_id=group_id, group_state=state,
                    group_epoch=3, assignment_epoch=2, topology=topology, members=(),
                )
                for group_id in asked.message.group_ids
            ),
        )  # fmt: skip

    return answer


async def describe(answer, *, offered=(0, 0)):
    async with brokers() as (one,):
        if offered is not None:
            one.offered[STREAMS_GROUP_DESCRIBE] = offered
        one.answers |= {FIND_COORDINATOR: coordinators(lambda _: 1), STREAMS_GROUP_DESCRIBE: answer}
        async with cluster_of(one, timing=PATIENT) as cluster:
            return (await describe_streams_groups(cluster, ["a"], budget_s=60.0))["a"]


@pytest.fixture(params=scenarios("streams_protocol"))
def captured(request) -> StreamsGroup:
    outside, answer, version = capture(request.param, "streams_group_describe")
    return read_streams_groups(answer, version)[outside["group"]]


def test_a_real_group_is_told_with_its_epochs(captured):
    assert captured.state == "Stable"
    assert (captured.group_epoch, captured.assignment_epoch, captured.topology_epoch) == (12, 12, 0)


def test_stores_and_edges_of_a_real_topology_are_told(captured):
    prefix = captured.group_id
    assert captured.subtopologies[1] == StreamsSubtopology(
        "1",
        ("customers",),
        (f"{prefix}-by-customer-repartition",),
        (),
        (f"{prefix}-customers-changelog", f"{prefix}-totals-by-customer-changelog"),
    )
    assert set(captured.subtopologies[0].repartition_sink_topics) == {
        f"{prefix}-by-customer-repartition",
        f"{prefix}-by-product-repartition",
    }


def test_members_of_a_real_group_are_told_with_their_tasks(captured):
    member = {one.endpoint: one for one in captured.members}["h2.example:7092"]
    assert member.assignment == member.target
    assert member.assignment.active == {"0": (0, 1, 2), "1": (0, 1, 2), "2": (0, 1)}
    assert member.assignment.standby == {"1": (3, 4, 5), "2": (2, 3)}
    assert member.assignment.warm_up == member.offsets == member.end_offsets == {}
    assert (member.rack, member.tags, member.is_classic) == ("zone-b", {"zone": "zone-b"}, False)
    assert member.client_id.startswith(f"{captured.group_id}-{member.process_id}-")


@pytest.mark.parametrize("scenario", scenarios("classic_two_instances"))
def test_a_classic_group_is_no_streams_group(scenario):
    outside, answer, version = capture(scenario, "streams_group_describe")
    fault = read_streams_groups(answer, version)[outside["group"]]
    assert "GROUP_ID_NOT_FOUND" in fault.message


@pytest.mark.parametrize("scenario", scenarios("streams_protocol"))
def test_every_truncation_and_a_byte_too_many_are_refused_by_name(scenario):
    _, answer, version = capture(scenario, "streams_group_describe")
    for content in [answer[:size] for size in range(len(answer))] + [answer + b"\0"]:
        with pytest.raises(RecordFormatError, match="StreamsGroupDescribe answer of version 0"):
            read_streams_groups(content, version)


async def test_a_state_nobody_knows_and_no_topology_are_told_as_they_are():
    assert await describe(described(state="Pondering")) == StreamsGroup(
        "a", "Pondering", 3, 2, None, None, ()
    )


async def test_a_topology_that_is_not_ready_has_an_epoch_and_no_subtopologies():
    group = await describe(described(topology=describes.Topology(epoch=4, subtopologies=None)))
    assert (group.topology_epoch, group.subtopologies) == (4, None)


@pytest.mark.parametrize(
    ("offered", "answer"),
    [
        pytest.param(None, None, id="older than 4.1"),
        pytest.param((0, 0), described(ErrorCode.unsupported_version), id="switched off"),
    ],
)
async def test_a_broker_without_streams_groups_says_so_in_one_sentence(offered, answer):
    fault = await describe(answer, offered=offered)
    assert isinstance(fault, NoStreamsGroups)
    assert fault.message == (
        "Describing streams groups at broker 1: "
        "its Kafka is older than 4.1 or has streams groups off."
    )


async def test_a_group_whose_topics_may_not_be_described_is_refused():
    assert isinstance(
        await describe(described(ErrorCode.topic_authorization_failed)), NotAuthorized
    )


def test_a_broker_of_kafka_4_4_tells_the_topology():
    group = read_streams_groups(ANSWER_1, 1)["orders-app"]
    assert (group.description_status, group.group_epoch) == (3, 3)
    assert [name for name, _ in group.description.subtopologies] == ["0", "1", "2"]
    nodes = {one.name: one for _, own in group.description.subtopologies for one in own}
    assert nodes["KSTREAM-JOIN-0000000012"] == StreamsNode(
        "KSTREAM-JOIN-0000000012", 2, (), ("customers",), ("KSTREAM-SINK-0000000013",)
    )
    assert nodes["by-product-repartition-sink"].topics == ("orders-app-by-product-repartition",)


def test_every_truncation_of_version_1_and_a_byte_too_many_are_refused_by_name():
    for content in [ANSWER_1[:size] for size in range(len(ANSWER_1))] + [ANSWER_1 + b"\0"]:
        with pytest.raises(RecordFormatError, match="StreamsGroupDescribe answer of version 1"):
            read_streams_groups(content, 1)


def described_1(asked):
    assert asked.message.include_topology_description
    node = v1.Node(name="source", node_type=1, source_topics=("orders",), successors=("all",))
    table = v1.Node(name="all", node_type=2, stores=("table",))
    told = v1.TopologyDescription(
        subtopologies=(v1.NodesOfSubtopology(subtopology_id="0", nodes=(node,)),),
        global_stores=(v1.GlobalStore(source=node, processor=table),),
    )
    return v1.StreamsGroupDescribeResponse(
        throttle_time=NOW,
        groups=(
            v1.DescribedGroup(
                error_code=ErrorCode.none, error_message=None, group_id="a", group_state="Stable",
                group_epoch=3, assignment_epoch=2, topology=None, members=(),
                topology_description=told, topology_description_status=3, assignor_name="sticky",
            ),
        ),
    )  # fmt: skip


async def test_a_description_is_requested_where_the_broker_offers_it():
    group = await describe(described_1, offered=(0, 1))
    source = StreamsNode("source", 1, ("orders",), (), ("all",))
    assert group.description.subtopologies == (("0", (source,)),)
    assert group.description.global_stores == ((source, StreamsNode("all", 2, (), ("table",))),)


async def test_a_broker_that_offers_version_0_only_has_no_description():
    group = await describe(described(), offered=(0, 0))
    assert (group.description_status, group.description) == (0, None)
