"""What a cluster tells of tiered storage: ends of logs, sizes, times, and where groups are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jobs.cluster.admin.groups import (
    first_offsets,
    list_groups,
    read_committed_or_why,
)
from jobs.cluster.admin.log_dirs import describe_replica_logs
from jobs.cluster.admin.offsets import read_last_timestamp, read_timestamp_at
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.committed_batches import UNKNOWN_S
from jobs.cluster.protocol.data.offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    LATEST_TIERED,
    list_offsets,
)
from jobs.cluster.protocol.leaders import ask_leaders
from jobs.cluster.protocol.metadata import PartitionMetadata
from jobs.tracing.tiers import Ends, Measured, Tiered, TierSettings

# For one question to all leaders.
_BUDGET_S = 15.0
_LANE = "log-dirs"
Settings = Mapping[str, TierSettings]


@dataclass(frozen=True, slots=True)
class Committed:
    """Committed offsets by group, the state of each group (Stable, Empty, ...), and what was not read."""

    offsets: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_ends(
    client: ClusterClient, places: Collection[TopicPartition], settings: Settings
) -> dict[TopicPartition, Ends]:
    """Return the ends of each log: one after the other, so that each is at most what a later one would be."""
    # Without tiered storage all of a log is local.
    plain = {where for where in places if settings[where.topic].tiered is Tiered.NO}
    found = {where: Ends() for where in places}

    async def ask(cluster: RawCluster) -> None:
        for name, moment in (
            ("log_start", EARLIEST),
            ("local_start", EARLIEST_LOCAL),
            ("highest", LATEST_TIERED),
            ("end", LATEST),
        ):
            is_of_tiers = moment in (EARLIEST_LOCAL, LATEST_TIERED)
            asked = [where for where in places if not (is_of_tiers and where in plain)]
            moments = dict.fromkeys(asked, moment)
            listed = await list_offsets(
                cluster, moments, read_committed=False, budget_s=_BUDGET_S, unknown_s=UNKNOWN_S
            )
            for where, one in listed.items():
                if isinstance(one, ClusterFault):
                    known = found[where].reason
                    found[where] = replace(found[where], reason=known or one.message)
                else:
                    read: dict[str, Any] = {name: one.offset}
                    found[where] = replace(found[where], **read)

    client.ask("Listing offsets", ask, timeout_s=5 * _BUDGET_S)
    for where in plain:
        found[where] = replace(found[where], local_start=found[where].log_start)
    return found


def read_committed(client: ClusterClient) -> Committed:
    """Return where the groups of the cluster are; what could not be read is in the notes."""
    try:
        listing = list_groups(client)
        states = {one.group_id: one.state for one in listing.groups}
        committed, errors = read_committed_or_why(client, states)
    except ClusterFault as fault:
        return Committed(notes=(f"Groups are unknown: {fault.message}",))
    kept, left_out = first_offsets(committed)
    known = {
        group: {where: one.offset for where, one in offsets.items() if one.offset is not None}
        for group, offsets in kept.items()
    }
    notes = [f"Groups may be missing: {error}" for error in listing.errors]
    if errors:
        first = next(iter(errors.values()))
        notes.append(f"The committed offsets of {len(errors):,} groups are unknown: {first}")
    if left_out:
        notes.append(
            f"{sum(left_out.values()):,} committed offsets beyond the limits were left out."
        )
    return Committed(known, states, tuple(notes))


def measure(
    client: ClusterClient, ends: Mapping[TopicPartition, Ends], settings: Settings, now_ms: int
) -> tuple[dict[TopicPartition, Measured], tuple[str, ...]]:
    """Return sizes and times of partitions, and notes about sizes that are unknown.

    The time of the first record is read from remote storage where the log begins there.
    """
    sizes, faults = _local_sizes(client, ends)
    kept = _kept_from(client, ends, settings, now_ms)
    firsts, pending, lasts = {}, {}, {}
    for where, one in ends.items():
        if one.end is None:
            continue
        if one.log_start is not None and one.log_start < one.end:
            firsts[where] = one.log_start
        if one.highest is not None and one.highest + 1 < one.end:
            pending[where], lasts[where] = one.highest + 1, one.end
    first_ms, pending_ms = read_timestamp_at(client, firsts), read_timestamp_at(client, pending)
    last_ms = read_last_timestamp(client, lasts)
    found = {
        where: Measured(
            sizes.get(where),
            kept.get(where),
            first_ms.get(where),
            pending_ms.get(where),
            last_ms.get(where),
        )
        for where in ends
    }
    if not faults:
        return found, ()
    return found, (
        f"The sizes of {len(faults):,} partitions, and what follows from them, are unknown: {faults[0]}",
    )


def _local_sizes(
    client: ClusterClient, places: Collection[TopicPartition]
) -> tuple[dict[TopicPartition, int], list[str]]:
    """Return the bytes that the leader of each partition has on its disk, and why some are unknown."""

    async def ask(cluster: RawCluster) -> dict[TopicPartition, int | ClusterFault]:
        async def send(
            leader: int, asked: Mapping[TopicPartition, PartitionMetadata]
        ) -> dict[TopicPartition, int | ClusterFault]:
            logs = await describe_replica_logs(await cluster.connection_to(leader, _LANE), asked)
            return {
                where: one.size_bytes for where, one in logs.replicas.items() if not one.is_future
            }

        return await ask_leaders(cluster, places, send, _BUDGET_S, UNKNOWN_S)

    answers = client.ask("Reading log directories", ask, timeout_s=2 * _BUDGET_S)
    sizes = {where: one for where, one in answers.items() if not isinstance(one, ClusterFault)}
    return sizes, [one.message for one in answers.values() if isinstance(one, ClusterFault)]


def _kept_from(
    client: ClusterClient, ends: Mapping[TopicPartition, Ends], settings: Settings, now_ms: int
) -> dict[TopicPartition, int]:
    """Return the first offset within the local retention by time; what is unknown is left out."""
    limits = {where: settings[where.topic].local_ms for where in ends}
    moments = {where: max(now_ms - ms, 0) for where, ms in limits.items() if ms is not None}

    async def ask(cluster: RawCluster) -> dict[TopicPartition, int]:
        listed = await list_offsets(
            cluster, moments, read_committed=False, budget_s=_BUDGET_S, unknown_s=UNKNOWN_S
        )
        found = {}
        for where, one in listed.items():
            if not isinstance(one, ClusterFault):
                offset = ends[where].end if one.offset is None else one.offset
                if offset is not None:
                    found[where] = offset
        return found

    return client.ask("Listing offsets", ask, timeout_s=2 * _BUDGET_S) if moments else {}
