"""Start offsets and refusals of a flow's partitions: pure rules over the answers of both clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from jobs.cluster.descriptions import OffsetRange, TopicDescription, TopicPartition
from jobs.replication.copy.contract import CopyState, PartitionProgress, PartitionStart
from jobs.replication.flow.spec import OnRecreated

# Is in every reason that goes away when a person accepts the new topic.
CREATED_AGAIN = "created again"


@dataclass(frozen=True, slots=True)
class RemotePlace:
    """Where a source topic goes: the remote topic, how many partitions it has, what is wrong with it.

    `is_retriable`: it may go away without a change by a person.
    """

    remote_topic: str
    partitions: int
    problem: str | None = None
    is_retriable: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """What the flow knew before.

    Committed positions and where the remote partitions ended at those commits, topic ids seen,
    topics to be started afresh.
    """

    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    remote_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    reset_topics: frozenset[str] = frozenset()
    on_recreated: OnRecreated = OnRecreated.STOP


@dataclass(frozen=True, slots=True)
class FlowPlan:
    """Partitions that can be copied, partitions that cannot (with the reason), and the ids seen."""

    starts: tuple[PartitionStart, ...] = ()
    refused: tuple[PartitionProgress, ...] = ()
    topic_ids: Mapping[str, str] = field(default_factory=dict)

    def shape(self) -> frozenset[tuple[str, int, str]]:
        """Return what must stay the same for running tasks to stay right.

        Every partition with the id of its topic, or with the state in which it is refused.
        """
        copied = {(s.topic, s.partition, self.topic_ids.get(s.topic, "")) for s in self.starts}
        return frozenset(copied | {(r.topic, r.partition, r.state.value) for r in self.refused})


def plan_flow(
    topics: Sequence[TopicDescription],
    places: Mapping[str, RemotePlace],
    ranges: Mapping[TopicPartition, OffsetRange],
    known: Known,
) -> FlowPlan:
    """Return where every partition of the selected topics starts, or why it does not.

    Invariants: each partition appears once; a partition that is refused keeps its position.
    """
    starts: list[PartitionStart] = []
    refused: list[PartitionProgress] = []
    for topic in topics:
        for described in topic.partitions:
            where = TopicPartition(topic.name, described.partition)
            verdict = _judge(where, topic, places.get(topic.name), ranges.get(where), known)
            if isinstance(verdict, PartitionStart):
                starts.append(verdict)
            else:
                refused.append(verdict)
    refused += _gone(topics, known)
    seen = {t.name: t.topic_id for t in topics if t.topic_id}
    return FlowPlan(tuple(starts), tuple(refused), _remembered(seen, known))


def _judge(
    where: TopicPartition,
    topic: TopicDescription,
    place: RemotePlace | None,
    offsets: OffsetRange | None,
    known: Known,
) -> PartitionStart | PartitionProgress:
    position = known.positions.get(where)
    if place is None or where.partition >= place.partitions:
        is_retriable = place is None or place.is_retriable
        state = CopyState.RETRYING if is_retriable else CopyState.FAILED
        return _refuse(where, position, state, _no_place(where, place))
    if offsets is None or offsets.log_start_offset is None or offsets.high_watermark is None:
        reason = (offsets and offsets.error) or "the source did not answer which offsets it has"
        return _refuse(where, position, CopyState.RETRYING, f"{where}: {reason}.")
    afresh = where.topic in known.reset_topics
    if is_recreated(topic, known) and not afresh:
        if known.on_recreated is OnRecreated.STOP:
            return _refuse(where, position, CopyState.FAILED, _recreated(topic, position, known))
        afresh = True
    if position is None or afresh:
        return PartitionStart(*where, offsets.log_start_offset, place.remote_topic)
    if position > offsets.high_watermark:
        return _refuse(where, position, CopyState.FAILED, _truncated(where, position, offsets))
    return PartitionStart(*where, position, place.remote_topic, known.remote_ends.get(where))


def is_recreated(topic: TopicDescription, known: Known) -> bool:
    """Return whether this topic has another id than the one that was copied before."""
    before = known.topic_ids.get(topic.name)
    return before is not None and topic.topic_id is not None and before != topic.topic_id


def _remembered(seen: Mapping[str, str], known: Known) -> dict[str, str]:
    """Keep the old id of a re-created topic until a person or the flow's setting accepts the new one."""
    ids = {**known.topic_ids}
    for topic, topic_id in seen.items():
        accepts = topic in known.reset_topics or known.on_recreated is OnRecreated.FROM_START
        if topic not in ids or accepts:
            ids[topic] = topic_id
    return ids


def _refuse(
    where: TopicPartition, position: int | None, state: CopyState, reason: str
) -> PartitionProgress:
    return PartitionProgress(*where, position or 0, state, reason)


def _gone(topics: Iterable[TopicDescription], known: Known) -> list[PartitionProgress]:
    """Report partitions that were copied before and whose topic is no longer on the source."""
    present = {topic.name for topic in topics}
    return [
        _refuse(
            where,
            position,
            CopyState.STOPPED,
            f"Topic {where.topic} no longer exists on the source (or the flow's filter no longer "
            f"selects it). Copied up to offset {position}; the copy on the target stays.",
        )
        for where, position in sorted(known.positions.items())
        if where.topic not in present and where.topic in known.topic_ids
    ]


def _no_place(where: TopicPartition, place: RemotePlace | None) -> str:
    if place is None:
        return f"{where}: the remote topic could not be created; it is retried."
    if place.problem:
        return place.problem
    return (
        f"Target topic {place.remote_topic} has {place.partitions} partitions, so partition "
        f"{where.partition} of {where.topic} has no place. Add partitions to the target topic: "
        f"kafka-topics.sh --alter --topic {place.remote_topic} --partitions {where.partition + 1}"
    )


def _recreated(topic: TopicDescription, position: int | None, known: Known) -> str:
    return (
        f"Topic {topic.name} was deleted and {CREATED_AGAIN} (id {known.topic_ids[topic.name]} -> "
        f"{topic.topic_id}). Position {position} belongs to the old topic, so nothing is copied. "
        "Accept the new topic to copy it from its beginning."
    )


def _truncated(where: TopicPartition, position: int, offsets: OffsetRange) -> str:
    return (
        f"{where} ends at offset {offsets.high_watermark} but was copied up to {position}: its log "
        f"was truncated or the topic was {CREATED_AGAIN}. Accept the new topic to copy it from its "
        "beginning."
    )
