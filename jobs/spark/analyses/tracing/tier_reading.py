"""What a cluster tells of tiered storage: ends of logs, sizes, times, and where groups are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from jobs.cluster.admin.groups import first_offsets, list_groups, read_committed_or_why
from jobs.cluster.admin.offsets import read_timestamp_at
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.data.offsets import EARLIEST, EARLIEST_LOCAL, LATEST, LATEST_TIERED
from jobs.spark.analyses.records.ranges import list_moments
from jobs.streams.collection.topic_facts import read_topic_facts
from jobs.streams.observation import TopicFacts
from jobs.tracing.tiers import Ends, Measured, TierSettings

_SIGNS = {
    "log_start": EARLIEST,
    "local_start": EARLIEST_LOCAL,
    "highest": LATEST_TIERED,
    "end": LATEST,
}
_BUDGET_S = 15.0
Settings = Mapping[str, TierSettings]


class Committed(NamedTuple):
    """Committed offsets by group, the state of each group (Stable, Empty, ...), and what was not read."""

    offsets: Mapping[str, Mapping[TopicPartition, int | None]]
    states: Mapping[str, str]
    notes: tuple[str, ...]


def read_ends(
    client: ClusterClient, places: Collection[TopicPartition], settings: Settings
) -> dict[TopicPartition, Ends]:
    """Return the ends of each log: one after the other, so that each is at most what a later one would be."""
    found: dict[TopicPartition, dict[str, Any]] = {where: {} for where in places}
    faults: dict[TopicPartition, ClusterFault] = {}
    # Without tiered storage all of a log is local. What has no leader is waited for once.
    for name, sign in _SIGNS.items():
        is_of_tiers = sign in (EARLIEST_LOCAL, LATEST_TIERED)
        asked = [
            where
            for where, one in found.items()
            if (one or sign == EARLIEST)
            and not (is_of_tiers and settings[where.topic].tiered is False)
        ]
        moments = dict.fromkeys(asked, sign)
        listed = list_moments(client, moments, is_committed=False, faults=faults)
        for where, offset in listed.items():
            found[where][name] = offset
    for where, one in found.items():
        if settings[where.topic].tiered is False:
            one["local_start"] = one.get("log_start")
        if where in faults:
            one["reason"] = faults[where].message
    return {where: Ends(**one) for where, one in found.items()}


def read_committed(client: ClusterClient) -> Committed:
    """Return where the groups of the cluster are; what could not be read is in the notes."""
    try:
        listing = list_groups(client)
        states = {one.group_id: one.state for one in listing.groups}
        committed, errors = read_committed_or_why(client, states)
    except ClusterFault as fault:
        return Committed({}, {}, (f"Groups are unknown: {fault.message}",))
    kept, left_out = first_offsets(committed)
    offsets = {
        group: {where: one.offset for where, one in own.items()} for group, own in kept.items()
    }
    notes = [f"Groups may be missing: {error}" for error in listing.errors]
    notes += [f"Offsets of {len(errors):,} groups are unknown: {e}" for e in [*errors.values()][:1]]
    if left_out:
        notes.append(
            f"{sum(left_out.values()):,} committed offsets beyond the limits are left out."
        )
    return Committed(offsets, states, tuple(notes))


def measure(
    client: ClusterClient, ends: Mapping[TopicPartition, Ends], settings: Settings, now_ms: int
) -> tuple[dict[TopicPartition, Measured], list[ClusterFault]]:
    """Return sizes and times of partitions, and why some are unknown.

    The time of the first record is read from remote storage where the log begins there.
    """
    limits = {w: settings[w.topic].local_ms for w, one in ends.items() if one.end is not None}
    moments = {where: max(now_ms - ms, 0) for where, ms in limits.items() if ms is not None}
    listed = list_moments(client, moments, is_committed=False, faults={})
    kept = {where: ends[where].end if at is None else at for where, at in listed.items()}
    first_ms = read_timestamp_at(client, dict(_starts(ends, "log_start", 0)))
    pending_ms = read_timestamp_at(client, dict(_starts(ends, "highest", 1)))
    names = {where.topic for where in ends}
    reading = partial(
        read_topic_facts, topics=names, configured=(), budget_s=_BUDGET_S, with_sizes=True
    )
    answers = client.ask("Reading sizes", reading, timeout_s=2 * _BUDGET_S)
    found = {}
    for where in ends:
        own = answers.facts.get(where.topic, TopicFacts(0))
        size, last_ms = own.sizes.get(where.partition), own.newest_ms.get(where.partition)
        times = (first_ms.get(where), pending_ms.get(where), last_ms)
        found[where] = Measured(size, kept.get(where), *times)
    return found, [fault for faults in answers.faults.values() for fault in faults]


def _starts(
    ends: Mapping[TopicPartition, Ends], name: str, after: int
) -> Iterator[tuple[TopicPartition, int]]:
    """Yield where a record follows one of the ends of a log."""
    for where, one in ends.items():
        offset = getattr(one, name)
        if offset is not None and one.end is not None and offset + after < one.end:
            yield where, offset + after
