"""Groups of the streams protocol with the tasks of their members (StreamsGroupDescribe, API 89, KIP-1071)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias, cast

from kio.schema.streams_group_describe.v0.response import (
    Assignment,
    Member,
    Subtopology,
    TaskIds,
    TaskOffset,
    TopicInfo,
)
from kio.schema.types import GroupId

from jobs.cluster.errors import ClusterFault, Remedy
from jobs.cluster.group_members import (
    DescriptionStatus,
    StreamsDescription,
    StreamsGroup,
    StreamsMember,
    StreamsNode,
    StreamsSubtopology,
    StreamsTasks,
    Tasks,
)
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import UNSUPPORTED_VERSION, VersionNotOffered, Where, answer_fault
from jobs.cluster.protocol.groups.coordinators import Asking, ask_coordinators
from jobs.cluster.protocol.transport.apis import DESCRIBE_STREAMS_GROUPS
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.streams_describe import (
    DescribedGroup,
    Node,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    TopologyDescription,
)

_DESCRIBING = "Describing streams groups"
GROUPS_PER_REQUEST = 5

_Groups: TypeAlias = dict[str, StreamsGroup | ClusterFault]


class NoStreamsGroups(VersionNotOffered):
    """The broker does not speak of streams groups."""

    code = "no_streams_groups"
    remedy = Remedy.FINAL
    hint = "Update the cluster to Kafka 4.1 or newer, and set its feature streams.version to 1."


async def describe_streams_groups(
    cluster: RawCluster, ids: Collection[str], *, budget_s: float
) -> _Groups:
    """Return each group with its members, or its fault; raises `ClusterFault` without any coordinator.

    A group that does not exist, or follows another protocol, is a fault, and `NoStreamsGroups` where the
    broker knows no such groups.
    """
    asking: Asking[StreamsGroup] = Asking(_DESCRIBING, _described, GROUPS_PER_REQUEST)
    return await ask_coordinators(cluster, ids, asking, budget_s=budget_s)


def read_streams_groups(captured: bytes, version: int, cluster: str = "capture") -> _Groups:
    """Return the groups of an answer from the wire, correlation id first; raises `RecordFormatError`."""
    return _groups(DESCRIBE_STREAMS_GROUPS.read(captured, version), (cluster, None))


async def _described(connection: BrokerConnection, group_ids: Sequence[str]) -> _Groups:
    broker = connection.cluster, connection.server.broker_id
    if connection.versions.best(DESCRIBE_STREAMS_GROUPS.speaks) is None:
        return dict.fromkeys(group_ids, _no_streams_groups(broker))
    request = StreamsGroupDescribeRequest(
        group_ids=tuple(cast("GroupId", group_id) for group_id in group_ids),
        include_authorized_operations=False,
        include_topology_description=True,
    )
    return _groups(await connection.request(DESCRIBE_STREAMS_GROUPS, request), broker)


def _no_streams_groups(broker: tuple[str, int | None]) -> ClusterFault:
    text = f"{Where(*broker, _DESCRIBING)}: its Kafka is older than 4.1 or has streams groups off."
    return NoStreamsGroups(text, cluster=broker[0])


def _groups(answer: StreamsGroupDescribeResponse, broker: tuple[str, int | None]) -> _Groups:
    return {group.group_id: _group(group, broker) for group in answer.groups}


def _group(group: DescribedGroup, broker: tuple[str, int | None]) -> StreamsGroup | ClusterFault:
    if int(group.error_code) == UNSUPPORTED_VERSION:
        return _no_streams_groups(broker)
    where = Where(*broker, f"Describing streams group {group.group_id}")
    topology = group.topology
    subtopologies = None if topology is None else topology.subtopologies
    # A broker that offers version 0 only answers without.
    told = group if isinstance(group, DescribedGroup) else None
    return answer_fault(group.error_code, where, group.error_message) or StreamsGroup(
        group.group_id,
        group.group_state,
        group.group_epoch,
        group.assignment_epoch,
        None if topology is None else topology.epoch,
        None if subtopologies is None else tuple(_subtopology(one) for one in subtopologies),
        tuple(_member(member) for member in group.members),
        told.topology_description_status if told else DescriptionStatus.NOT_REQUESTED,
        _description(told.topology_description) if told else None,
    )


def _description(told: TopologyDescription | None) -> StreamsDescription | None:
    if told is None:
        return None
    return StreamsDescription(
        tuple((one.subtopology_id, tuple(map(_node, one.nodes))) for one in told.subtopologies),
        tuple((_node(one.source), _node(one.processor)) for one in told.global_stores),
    )


def _node(one: Node) -> StreamsNode:
    sink = () if one.sink_topic is None else (one.sink_topic,)
    topics = (*one.source_topics, *sink)
    return StreamsNode(one.name, one.node_type, topics, one.stores, one.successors)


def _subtopology(one: Subtopology) -> StreamsSubtopology:
    return StreamsSubtopology(
        one.subtopology_id,
        tuple(one.source_topics),
        _names(one.repartition_source_topics),
        tuple(one.repartition_sink_topics),
        _names(one.state_changelog_topics),
    )


def _names(topics: Iterable[TopicInfo]) -> tuple[str, ...]:
    return tuple(topic.name for topic in topics)


def _member(member: Member) -> StreamsMember:
    endpoint = member.user_endpoint
    return StreamsMember(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        instance_id=member.instance_id,
        rack=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        endpoint=None if endpoint is None else f"{endpoint.host}:{endpoint.port}",
        tags={tag.key: tag.value for tag in member.client_tags},
        assignment=_tasks(member.assignment),
        target=_tasks(member.target_assignment),
        offsets=_offsets(member.task_offsets),
        end_offsets=_offsets(member.task_end_offsets),
        is_classic=member.is_classic,
    )


def _tasks(given: Assignment) -> StreamsTasks:
    return StreamsTasks(
        _by_subtopology(given.active_tasks),
        _by_subtopology(given.standby_tasks),
        _by_subtopology(given.warmup_tasks),
    )


def _by_subtopology(tasks: Iterable[TaskIds]) -> Tasks:
    return {one.subtopology_id: tuple(int(number) for number in one.partitions) for one in tasks}


def _offsets(told: Iterable[TaskOffset]) -> dict[tuple[str, int], int]:
    return {(one.subtopology_id, one.partition): one.offset for one in told}
