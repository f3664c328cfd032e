"""Where each partition of a group resumes, from what the offset syncs prove. Pure."""

from __future__ import annotations

from dataclasses import replace

from jobs.cluster.descriptions import CommittedOffset, OffsetRange, TopicPartition
from jobs.replication.failover.evidence import Evidence, Leg, Way
from jobs.replication.failover.model import PlanItem, Untranslated
from jobs.replication.translation.partition_syncs import DOWNSTREAM, UPSTREAM
from jobs.replication.translation.sync_history import Certificate, repeated_at_most
from jobs.replication.translation.translator import SourceEnd
from jobs.wire.topics.streams_topics import is_repartition

NO_SYNC = "There is no offset sync of this partition."
INTERNAL = "An internal topic of Kafka Streams: the application makes its own on the destination."
NO_COUNTERPART = "No flow between the two clusters copies this topic."


def plan_item(
    found: Evidence, group: str, where: TopicPartition, committed: int, untranslated: Untranslated
) -> PlanItem:
    """Return what happens to one partition of a group."""
    bare = PlanItem(where, committed, metadata=_metadata(found, group, where))
    way = found.way(where.topic)
    if _is_internal(group, where.topic, way[1] if way else None):
        return replace(bare, problem=INTERNAL, internal=True)
    if way is None:
        return replace(bare, problem=NO_COUNTERPART, only_here=_only_on_origin(found, where))
    leg, topic = way
    there = TopicPartition(topic, where.partition)
    ranges = found.destination.range_of(there)
    before = found.destination.committed.get(group, {}).get(there, CommittedOffset(None)).offset
    item = replace(
        bare,
        destination=there,
        how=leg.way.value,
        before=before,
        log_start=ranges.log_start_offset,
        log_end=ranges.end_offset,
    )
    if found.origin.is_beyond_end(where, committed):
        item = replace(item, problem=_beyond(found, where))
    else:
        item = _forward(found, leg, item) if leg.way is Way.FORWARD else _back(found, leg, item)
    return _with_target(item, ranges, untranslated)


def _is_internal(group: str, topic: str, there: str | None) -> bool:
    """Whether Kafka Streams made a topic, and no flow copies it under the name that the application reads.

    It commits no offsets of its changelogs: one that a group commits is a topic of the user's.
    """
    names = {topic} if there is None else {topic, there}
    return topic != there and any(is_repartition(group, name) for name in names)


def _beyond(found: Evidence, where: TopicPartition) -> str:
    end = found.origin.range_of(where).high_watermark
    return f"Its committed offset is beyond the end of the partition ({end:,})."


def _metadata(found: Evidence, group: str, where: TopicPartition) -> str:
    known = found.origin.committed.get(group, {}).get(where)
    return known.metadata if known else ""


def _only_on_origin(found: Evidence, where: TopicPartition) -> tuple[int, int] | None:
    known = found.origin.range_of(where)
    if known.log_start_offset is None or known.end_offset is None:
        return None
    return known.log_start_offset, known.end_offset


def _forward(found: Evidence, leg: Leg, item: PlanItem) -> PlanItem:
    source = found.origin.range_of(item.origin).end_offset
    certificate = leg.translation.translate(
        item.origin, item.committed, end=_ends(found, leg, item)
    )
    position = leg.positions.get(item.origin)
    at_risk = None if source is None or position is None else max(source - position, 0)
    known = replace(
        item,
        at_risk=at_risk,
        not_copied=None if position is None else max(item.committed - position, 0),
        mm2=leg.translation.mm2(item.origin, item.committed),
    )
    return _certified(known, certificate)


def _ends(found: Evidence, leg: Leg, item: PlanItem) -> SourceEnd | None:
    """Return where both sides end; markers behind the last record are nothing that the group could read."""
    here = found.origin.range_of(item.origin)
    source = here.end_offset
    if source is None or item.log_end is None:
        return None
    data_end = found.origin.data_ends.get(item.origin)
    has_all = data_end is not None and data_end <= item.committed <= source
    reached = item.committed if has_all else source
    position = leg.positions.get(item.origin)
    return SourceEnd(reached, item.log_end, position, here.log_start_offset, item.log_start)


def _back(found: Evidence, leg: Leg, item: PlanItem) -> PlanItem:
    """Map an offset back to the source; behind what was copied, the flow's position is where to resume."""
    source = leg.source_of(item.origin, item.destination or item.origin)
    position, copied_end = leg.positions.get(source), leg.copied_ends.get(source)
    end = found.origin.data_ends.get(item.origin, found.origin.range_of(item.origin).end_offset)
    item = replace(item, not_copied=0)  # what goes back was copied from there
    if copied_end is not None and end is not None:
        item = replace(item, at_risk=max(end - copied_end, 0))
        if end > copied_end:
            item = replace(item, only_here=(copied_end, end))
    if copied_end is not None and position is not None and item.committed >= copied_end:
        beyond = item.only_here is not None and item.committed > copied_end
        reason = "All replicated records were read: the group resumes at the flow's position" + (
            ", and the records that it read after it exist only here." if beyond else "."
        )
        return _certified(item, Certificate(position, position, reason))
    return _certified(item, leg.translation.reverse(source, item.committed))


def _certified(item: PlanItem, certificate: Certificate | None) -> PlanItem:
    if certificate is None:
        return replace(item, problem=NO_SYNC)
    return replace(
        item,
        lo=certificate.lo,
        hi=certificate.hi,
        reason=certificate.reason,
        evidence=certificate.evidence,
    )


def _with_target(item: PlanItem, log: OffsetRange, untranslated: Untranslated) -> PlanItem:
    """Choose the offset to be set: the lower bound, or what the person said about those without one."""
    start, end = log.log_start_offset, log.end_offset
    if start is None or end is None:
        return replace(item, problem=f"Its log is not known there: {log.error}")
    if item.lo is None:
        return _without_bounds(item, start, end, untranslated)
    if item.lo > end:
        text = f"The group would resume at offset {item.lo:,}, but the log there ends at {end:,}."
        return replace(item, problem=text)
    target = max(item.lo, start)
    return replace(item, target=target, reread_most=_reread(item, target, end))


def _without_bounds(item: PlanItem, start: int, end: int, untranslated: Untranslated) -> PlanItem:
    if untranslated is not Untranslated.EARLIEST:
        return item
    return replace(item, target=start, reread_most=end - start)


def _reread(item: PlanItem, target: int, end: int) -> int | None:
    """Return how many offsets from the target on may have been read already; they are there, or come."""
    found = Certificate(item.lo or 0, item.hi, item.reason, item.evidence)
    side = UPSTREAM if item.how == Way.FORWARD else DOWNSTREAM
    return repeated_at_most(found, item.committed, target, end, item.not_copied, side)
