"""Groups of the classic protocol with the bytes of their members (DescribeGroups, API 15)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias, cast

from kio.schema.describe_groups.v6.request import DescribeGroupsRequest
from kio.schema.describe_groups.v6.response import DescribedGroup, DescribeGroupsResponse
from kio.schema.types import GroupId

from jobs.cluster.errors import ClusterFault
from jobs.cluster.group_members import ClassicGroup, ClassicMember
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.groups.coordinators import Asking, ask_coordinators
from jobs.cluster.protocol.transport.apis import DESCRIBE_GROUPS
from jobs.cluster.protocol.transport.connection import BrokerConnection

_DESCRIBING = "Describing groups"
# A Streams application of 200 threads takes 17 MB.
GROUPS_PER_REQUEST = 5
GROUP_ID_NOT_FOUND = 69
_DEAD = "Dead"

_Groups: TypeAlias = dict[str, ClassicGroup | ClusterFault]


async def describe_classic_groups(
    cluster: RawCluster,
    ids: Collection[str],
    *,
    budget_s: float,
    at_once: int = GROUPS_PER_REQUEST,
) -> _Groups:
    """Return each group with its members, or its fault; raises `ClusterFault` without any coordinator.

    A group that does not exist, or follows another protocol, is a fault.
    """
    asking: Asking[ClassicGroup] = Asking(_DESCRIBING, _described, at_once)
    return await ask_coordinators(cluster, ids, asking, budget_s=budget_s)


def read_classic_groups(captured: bytes, version: int, cluster: str = "capture") -> _Groups:
    """Return the groups of an answer from the wire, correlation id first; raises `RecordFormatError`."""
    return _groups(DESCRIBE_GROUPS.read(captured, version), (cluster, None))


async def _described(connection: BrokerConnection, group_ids: Sequence[str]) -> _Groups:
    request = DescribeGroupsRequest(
        groups=tuple(cast("GroupId", group_id) for group_id in group_ids),
        include_authorized_operations=False,
    )
    answer = await connection.request(DESCRIBE_GROUPS, request)
    return _groups(answer, (connection.cluster, connection.server.broker_id))


def _groups(answer: DescribeGroupsResponse, broker: tuple[str, int | None]) -> _Groups:
    return {group.group_id: _group(group, broker) for group in answer.groups}


def _group(group: DescribedGroup, broker: tuple[str, int | None]) -> ClassicGroup | ClusterFault:
    # Before version 6, a group that is not there has no error.
    error = int(group.error_code) or (GROUP_ID_NOT_FOUND if group.group_state == _DEAD else 0)
    where = Where(*broker, f"Describing group {group.group_id}")
    return answer_fault(error, where, getattr(group, "error_message", None)) or ClassicGroup(
        group.group_id,
        group.group_state,
        group.protocol_type,
        group.protocol_data,
        tuple(
            ClassicMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.member_metadata,
                member.member_assignment,
            )
            for member in group.members
        ),
        broker[1],
    )
