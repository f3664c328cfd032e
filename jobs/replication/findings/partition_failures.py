"""Stuck partitions, lost records, and topics that are no longer the ones that were copied. Pure.

MirrorMaker 2 is silent about all of it: its tasks stay RUNNING, since `MirrorSourceTask.poll` swallows the
errors of its consumer, and after lost records it resumes where the log begins now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from jobs.checks.check import check
from jobs.findings import Finding
from jobs.replication.findings.checks import STILL, of
from jobs.replication.findings.codes import Code, about
from jobs.replication.findings.memory import FlowMemory, IdMark, Mark
from jobs.replication.findings.snapshot import FlowSnapshot, PartitionSnapshot, TopicSnapshot
from jobs.severity import Severity

# How long a changed id is reported: copying may continue as before.
TELL_CHANGES_FOR = timedelta(days=1)


def remember_partitions(snapshot: FlowSnapshot, before: FlowMemory) -> FlowMemory:
    """Return the marks after this look; what is not known now keeps its mark."""
    if snapshot.partitions is None:
        return before
    total = sum(p.position for p in snapshot.partitions if p.position is not None)
    return replace(
        before,
        behind={p.where: mark for p in snapshot.partitions if (mark := _mark(p, snapshot, before))},
        no_data={p.where: span for p in snapshot.partitions if (span := _no_data(p, before))},
        total=total,
        moved_at=before.moved_at if total == before.total else snapshot.at,
    )


def remember_topics(snapshot: FlowSnapshot, before: FlowMemory) -> FlowMemory:
    """Return the marks with the ids that topics have now."""
    if snapshot.topics is None:
        return before
    source = {t.topic: t.topic_id for t in snapshot.topics}
    target = {t.remote_topic: t.remote_topic_id for t in snapshot.topics}
    return replace(
        before,
        source_ids=_ids(source, before.source_ids, snapshot.at),
        target_ids=_ids(target, before.target_ids, snapshot.at),
    )


@check(*of(Code.NOT_MOVING, Code.STUCK_PARTITION))
def find_standstill(snapshot: FlowSnapshot, memory: FlowMemory) -> Iterator[Finding]:
    """Yield one finding when the whole flow is stuck, else one per partition that does."""
    if not snapshot.should_move or snapshot.partitions is None:
        return
    limit, moved_at = snapshot.limit(Code.NOT_MOVING, STILL), memory.moved_at
    still = [p for p in snapshot.partitions if _stands_still(p, snapshot, memory, limit)]
    if still and (moved_at is None or snapshot.at - moved_at >= limit):
        yield _flow_stands_still(snapshot, memory, still)
        return
    for one in snapshot.partitions:
        limit = snapshot.limit(Code.STUCK_PARTITION, STILL, one.where.topic)
        if _stands_still(one, snapshot, memory, limit):
            yield _partition_stands_still(one, snapshot, memory)


@check(*of(Code.RETENTION_LOSS, Code.SOURCE_CUT, Code.TARGET_CUT))
def find_losses(snapshot: FlowSnapshot, memory: FlowMemory) -> Iterator[Finding]:
    """Yield partitions whose source was shortened at one end or the other."""
    for partition in snapshot.partitions or ():
        yield from _deleted(partition, snapshot, memory)
        yield from _cut(partition, snapshot)
        yield from _remote_cut(partition, snapshot)


@check(*of(Code.SOURCE_RECREATED, Code.TARGET_RECREATED))
def find_other_topics(snapshot: FlowSnapshot, memory: FlowMemory) -> Iterator[Finding]:
    """Yield topics that were deleted and made again, on either side."""
    for topic in snapshot.topics or ():
        yield from _source_recreated(topic, snapshot, memory)
        yield from _target_recreated(topic, snapshot, memory)


def _end(partition: PartitionSnapshot) -> int | None:
    return partition.end_offset if partition.data_end is None else partition.data_end


def _mark(partition: PartitionSnapshot, snapshot: FlowSnapshot, before: FlowMemory) -> Mark | None:
    known, end = before.behind.get(partition.where), _end(partition)
    if partition.position is None or end is None:
        return known
    if end <= partition.position:
        return None
    is_same = known is not None and known.position == partition.position
    return known if is_same else Mark(partition.position, snapshot.at, end)


def _no_data(partition: PartitionSnapshot, before: FlowMemory) -> tuple[int, int] | None:
    """Return between which offsets there is nothing to copy; remembered, since logs are deleted later."""
    position, end, data_end = partition.position, partition.end_offset, partition.data_end
    if position is None:
        return before.no_data.get(partition.where)
    if end is not None and data_end is not None and data_end <= position < end:
        return position, end
    known = before.no_data.get(partition.where)
    return known if known is not None and known[0] == position else None


def _stands_still(
    partition: PartitionSnapshot, snapshot: FlowSnapshot, memory: FlowMemory, limit: timedelta
) -> bool:
    mark = memory.behind.get(partition.where)
    if partition.rests or mark is None or partition.position is None or _end(partition) is None:
        return False
    return snapshot.at - mark.since >= limit


def _flow_stands_still(
    snapshot: FlowSnapshot, memory: FlowMemory, still: Sequence[PartitionSnapshot]
) -> Finding:
    marks = [memory.behind[p.where] for p in still]
    waiting = sum((_end(p) or 0) - (p.position or 0) for p in still)
    grown = sum((_end(p) or 0) - mark.end for p, mark in zip(still, marks, strict=True))
    since = min(mark.since for mark in marks)
    states = _states(snapshot)
    says = f", although {states}" if states else ""
    return Finding(
        Code.NOT_MOVING,
        Severity.CRITICAL if grown > 0 else Severity.WARNING,
        f"The flow replicates no records{says}: {len(still):,} partitions have {waiting:,} records waiting.",
        _restart(snapshot),
        evidence={
            "partitions_waiting": len(still),
            "records_waiting": waiting,
            "records_written_since": grown,
            "still_for_s": int((snapshot.at - since).total_seconds()),
            "states": states,
        },
        since=since,
    )


def _partition_stands_still(
    partition: PartitionSnapshot, snapshot: FlowSnapshot, memory: FlowMemory
) -> Finding:
    mark, end = memory.behind[partition.where], _end(partition) or 0
    position = partition.position or 0
    return Finding(
        Code.STUCK_PARTITION,
        Severity.CRITICAL,
        f"{partition.where} is stuck at offset {position:,} while other partitions of the flow advance: "
        f"{end - position:,} records wait.",
        _restart(snapshot),
        evidence={
            "position_offset": position,
            "source_end_offset": end,
            "records_waiting": end - position,
            "records_written_since": end - mark.end,
            "still_for_s": int((snapshot.at - mark.since).total_seconds()),
        },
        since=mark.since,
        **about(partition.where),
    )


def _states(snapshot: FlowSnapshot) -> str:
    """Return what the tasks of MirrorMaker 2's source connector say, in words; "" when nothing is known."""
    tasks = [
        said.status.state
        for key, said in (snapshot.statuses or {}).items()
        if key.task is not None and key.connector == "MirrorSourceConnector"
    ]
    counts = {state: tasks.count(state) for state in sorted(set(tasks))}
    return ", ".join(f"{n} task{'s' if n > 1 else ''} say {state}" for state, n in counts.items())


def _restart(snapshot: FlowSnapshot) -> str:
    if not snapshot.is_watched:
        return "Check the log of the flow's run; restart the flow if the log shows no error."
    return (
        f"Check MirrorMaker 2's log of {snapshot.source} to {snapshot.target} for warnings of "
        "MirrorSourceTask, check that its processes run, and restart them: it resumes at its position."
    )


def _deleted(
    partition: PartitionSnapshot, snapshot: FlowSnapshot, memory: FlowMemory
) -> Iterator[Finding]:
    position, start = partition.position, partition.log_start_offset
    if position is None or start is None or start <= position:
        return
    nothing = memory.no_data.get(partition.where)
    if nothing is not None and nothing[0] == position and start <= nothing[1]:
        return
    yield Finding(
        Code.RETENTION_LOSS,
        Severity.CRITICAL,
        f"{partition.where}: up to {start - position:,} records were deleted on {snapshot.source} before "
        "they were replicated.",
        "Raise the topic's retention.ms or retention.bytes, or the flow's throughput. Restore the records "
        "from a backup if they are needed.",
        evidence={
            "position_offset": position,
            "log_start_offset": start,
            "offsets_lost_at_most": start - position,
        },
        **about(partition.where),
    )


def _cut(partition: PartitionSnapshot, snapshot: FlowSnapshot) -> Iterator[Finding]:
    position, end = partition.position, partition.end_offset
    if position is None or end is None or end >= position:
        return
    yield Finding(
        Code.SOURCE_CUT,
        Severity.CRITICAL,
        f"{partition.where} ends at {end:,} on {snapshot.source}, below the flow's position ({position:,}): "
        "the topic was deleted and re-created, or truncated by an unclean leader election.",
        "Offsets below the old position are of other records now: do not translate offsets of this "
        "partition. Decide whether to replicate the new records from the beginning, and reset the flow's "
        "position.",
        evidence={"position_offset": position, "source_end_offset": end},
        **about(partition.where),
    )


def _remote_cut(partition: PartitionSnapshot, snapshot: FlowSnapshot) -> Iterator[Finding]:
    end = partition.remote_end
    if end is None:
        return
    sync = partition.last_sync
    needed = max(sync[1] + 1 if sync else 0, partition.remote_end_then or 0)
    if end >= needed:
        return
    yield Finding(
        Code.TARGET_CUT,
        Severity.CRITICAL,
        f"The copy of {partition.where} ends at {end:,} on {snapshot.target}, but had reached {needed:,}: it "
        "was re-created, emptied, or truncated by an unclean leader election.",
        "The flow does not replicate the missing records again. Reset its position while the source still "
        "has them, and do not use older checkpoints and offset syncs of this partition.",
        evidence={
            "target_end_offset": end,
            "target_end_before_offset": needed,
            "sync_upstream_offset": sync[0] if sync else None,
            "sync_downstream_offset": sync[1] if sync else None,
        },
        **about(partition.where),
    )


def _ids(now: Mapping[str, str], before: Mapping[str, IdMark], at: datetime) -> dict[str, IdMark]:
    return {name: _id(before.get(name), topic_id, at) for name, topic_id in now.items() if name} | {
        name: mark for name, mark in before.items() if name not in now
    }


def _id(known: IdMark | None, topic_id: str, at: datetime) -> IdMark:
    if known is None:
        return IdMark(topic_id)
    if not topic_id or topic_id == known.topic_id:
        return known
    return IdMark(topic_id, known.topic_id, at) if known.topic_id else IdMark(topic_id)


def _source_recreated(
    topic: TopicSnapshot, snapshot: FlowSnapshot, memory: FlowMemory
) -> Iterator[Finding]:
    mark = memory.source_ids.get(topic.topic)
    copied, now, since = topic.copied_topic_id, topic.topic_id, None
    if copied and now:
        if copied == now:
            return
    elif mark is not None and _is_new(mark, snapshot.at):
        copied, now, since = mark.before, mark.topic_id, mark.changed_at
    else:
        return
    warning = (
        "MirrorMaker 2 appends the new records to the old copy and reports nothing. "
        if snapshot.is_watched
        else ""
    )
    yield Finding(
        Code.SOURCE_RECREATED,
        Severity.CRITICAL,
        f"{topic.topic} was deleted and re-created on {snapshot.source}: it is another topic with the same "
        "name.",
        f"{warning}Older offsets are invalid: do not fail over with them. Delete the copy and reset the "
        "positions to replicate only the new topic, or accept that the copy holds both.",
        subject=topic.topic,
        topic=topic.topic,
        evidence={"topic_id_before": copied, "topic_id_now": now},
        since=since,
    )


def _target_recreated(
    topic: TopicSnapshot, snapshot: FlowSnapshot, memory: FlowMemory
) -> Iterator[Finding]:
    mark = memory.target_ids.get(topic.remote_topic)
    if mark is None or not _is_new(mark, snapshot.at):
        return
    yield Finding(
        Code.TARGET_RECREATED,
        Severity.CRITICAL,
        f"{topic.remote_topic} was deleted and re-created on {snapshot.target}: the replicated records are "
        "gone.",
        "The flow continues at its position and does not replicate them again. Reset its position while the "
        "source has the records; older checkpoints and offset syncs of this topic are invalid.",
        subject=topic.remote_topic,
        topic=topic.topic,
        evidence={"topic_id_before": mark.before, "topic_id_now": mark.topic_id},
        since=mark.changed_at,
    )


def _is_new(mark: IdMark, at: datetime) -> bool:
    return mark.changed_at is not None and at - mark.changed_at < TELL_CHANGES_FOR
