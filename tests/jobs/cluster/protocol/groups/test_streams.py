"""Groups of the streams protocol: read from a capture of a real broker, and asked of coordinators."""

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.streams_group_describe.v0 import response as describes

from jobs.cluster.errors import NotAuthorized
from jobs.cluster.group_members import StreamsGroup, StreamsSubtopology
from jobs.cluster.protocol.groups.streams import (
    NoStreamsGroups,
    describe_streams_groups,
    read_streams_groups,
)
from jobs.wire.errors import RecordFormatError
from tests.jobs.cluster.protocol.fake_broker import FIND_COORDINATOR, NOW, QUICK
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of
from tests.jobs.cluster.protocol.groups.captures import capture, scenarios
from tests.jobs.cluster.protocol.groups.coordinating import coordinators

STREAMS_GROUP_DESCRIBE = 89


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
        async with cluster_of(one, timing=QUICK) as cluster:
            return (await describe_streams_groups(cluster, ["a"], budget_s=20.0))["a"]


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
