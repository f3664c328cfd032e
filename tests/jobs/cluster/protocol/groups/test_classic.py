"""Groups of the classic protocol: read from captures of a real broker, and asked of coordinators."""

import struct

import pytest
from kio.schema.describe_groups.v6 import response as describes
from kio.schema.errors import ErrorCode

from jobs.cluster.errors import NotAuthorized, ProtocolMismatch, TimedOut
from jobs.cluster.group_members import ClassicGroup, ClassicMember
from jobs.cluster.protocol.errors import AnswerFault
from jobs.cluster.protocol.groups.classic import (
    GROUPS_PER_REQUEST,
    describe_classic_groups,
    read_classic_groups,
)
from jobs.wire.errors import RecordFormatError
from tests.jobs.cluster.protocol.fake_broker import FIND_COORDINATOR, NOW, PATIENT, Hang
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of
from tests.jobs.cluster.protocol.groups.captures import capture, scenarios
from tests.jobs.cluster.protocol.groups.coordinating import coordinators

DESCRIBE_GROUPS = 15
# A frame with the number of no request.
NONSENSE = struct.pack(">ii", 4, 99)
MEMBER = ClassicMember("m-1", None, "c", "/127.0.0.1", b"wants", b"given")


def described(error=ErrorCode.none, state="Stable", protocol="range", message=None):
    """Answer for all requested groups."""

    def answer(asked):
        member = describes.DescribedGroupMember(
            member_id="m-1", group_instance_id=None, client_id="c", client_host="/127.0.0.1",
            member_metadata=b"wants", member_assignment=b"given",
        )  # fmt: skip
        return describes.DescribeGroupsResponse(
            throttle_time=NOW,
            groups=tuple(
                describes.DescribedGroup(
                    error_code=error, error_message=message, group_id=group_id, group_state=state,
                    protocol_type="consumer", protocol_data=protocol,
                    members=() if error or state == "Dead" else (member,),
                )
                for group_id in asked.message.groups
            ),
        )  # fmt: skip

    return answer


async def describe(*servers, ids=("a",), budget_s=60.0):
    async with cluster_of(*servers, timing=PATIENT) as cluster:
        return await describe_classic_groups(cluster, ids, budget_s=budget_s)


def prepare(broker, answer, of_group=lambda _: 1):
    broker.offered[DESCRIBE_GROUPS] = (0, 6)
    broker.answers |= {FIND_COORDINATOR: coordinators(of_group), DESCRIBE_GROUPS: answer}


@pytest.mark.parametrize("scenario", scenarios("classic_two_instances", "one_without_endpoint"))
def test_members_of_a_real_group_have_the_bytes_that_were_captured(scenario):
    outside, answer, version = capture(scenario, "describe_groups")
    told = outside["describe_groups"]
    group = read_classic_groups(answer, version)[outside["group"]]
    assert (group.state, group.protocol_type, group.protocol) == (
        told["state"], told["protocol_type"], told["protocol"],
    )  # fmt: skip
    assert group.members == tuple(
        ClassicMember(
            member["member_id"], member["group_instance_id"], member["client_id"],
            member["client_host"], bytes.fromhex(member["member_metadata_hex"]),
            bytes.fromhex(member["member_assignment_hex"]),
        )
        for member in told["members"]
    )  # fmt: skip


@pytest.mark.parametrize("scenario", scenarios("streams_protocol"))
def test_a_streams_group_is_no_classic_group(scenario):
    outside, answer, version = capture(scenario, "describe_groups")
    fault = read_classic_groups(answer, version)[outside["group"]]
    assert isinstance(fault, AnswerFault)
    assert "GROUP_ID_NOT_FOUND" in fault.message
    assert "not a classic group" in fault.message


@pytest.mark.parametrize("scenario", scenarios("classic_two_instances"))
def test_every_truncation_and_a_byte_too_many_are_refused_by_name(scenario):
    _, answer, version = capture(scenario, "describe_groups")
    for size in range(len(answer)):
        with pytest.raises(RecordFormatError, match="DescribeGroups answer of version 6"):
            read_classic_groups(answer[:size], version)
    with pytest.raises(RecordFormatError, match="1 bytes too many"):
        read_classic_groups(answer + b"\0", version)


async def test_a_group_is_told_as_its_coordinator_tells_it_also_in_a_state_nobody_knows():
    async with brokers() as (one,):
        prepare(one, described(state="Pondering"))
        found = await describe(one)
    assert found == {"a": ClassicGroup("a", "Pondering", "consumer", "range", (MEMBER,), 1)}


async def test_few_groups_are_asked_for_at_once():
    ids = [f"g{number}" for number in range(GROUPS_PER_REQUEST + 1)]
    async with brokers() as (one,):
        prepare(one, described())
        found = await describe(one, ids=ids)
    assert list(found) == ids
    assert [len(asked.groups) for asked in one.of(DESCRIBE_GROUPS)] == [GROUPS_PER_REQUEST, 1]


async def test_a_group_that_cannot_be_read_does_not_take_the_others_along():
    async with brokers() as (one,):
        prepare(one, lambda asked: NONSENSE if "b" in asked.message.groups else described()(asked))
        found = await describe(one, ids=["a", "b", "c"])
    assert isinstance(found["b"], ProtocolMismatch)
    assert [found[group_id].group_id for group_id in "ac"] == ["a", "c"]


async def test_a_coordinator_that_hangs_costs_its_own_groups_only():
    async with brokers(2) as (one, other):
        prepare(one, described(), of_group={"a": 1, "b": 2}.get)
        prepare(other, Hang, of_group={"a": 1, "b": 2}.get)
        found = await describe(one, other, ids=["a", "b"], budget_s=5.0)
    assert isinstance(found["a"], ClassicGroup)
    assert isinstance(found["b"], TimedOut)


@pytest.mark.parametrize(
    ("highest", "answer"),
    [
        pytest.param(6, described(ErrorCode.group_id_not_found, "Dead"), id="by an error"),
        pytest.param(5, described(state="Dead"), id="by its state, before Kafka 4"),
    ],
)
async def test_a_group_that_is_not_there_is_a_fault(highest, answer):
    async with brokers() as (one,):
        prepare(one, answer)
        one.offered[DESCRIBE_GROUPS] = (0, highest)
        found = await describe(one)
    assert "group a" in found["a"].message
    assert "GROUP_ID_NOT_FOUND" in found["a"].message


async def test_a_group_that_may_not_be_described_is_refused():
    async with brokers() as (one,):
        prepare(one, described(ErrorCode.group_authorization_failed))
        found = await describe(one)
    assert isinstance(found["a"], NotAuthorized)
