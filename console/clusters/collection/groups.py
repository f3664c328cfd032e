"""The round for groups: members, committed offsets and lag.

Committed offsets are read before end offsets (`read_group_offsets`), so that a group which commits
in between is never ahead of the end that it is compared with. The newest timestamps are read after
both: those of the round for offsets are older than the commit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from django.db import transaction

from console.clusters.collection.group_rows import (
    CUT,
    UNHEARD,
    group_values,
    kept_totals,
    left_out_text,
    of_shares,
    totals,
    with_types,
)
from console.clusters.collection.requests import ClusterRequests
from console.clusters.collection.rows import remove, write_seen
from console.clusters.models import (
    Cluster,
    Group,
    GroupOffset,
    Partition,
)
from console.frame.rounds import Outcome, sentence_about
from jobs import limits
from jobs.cluster.admin.groups import SHARE, GroupOffsets, SharesRead
from jobs.cluster.descriptions import (
    CommittedOffset,
    GroupDescription,
    OffsetRange,
    ShareOffset,
    TopicPartition,
)
from jobs.cluster.errors import ClusterFault
from jobs.limits import may_exist, short
from jobs.replication.flow.lag import LagStatus, group_lag

# Reading a timestamp means fetching a record: the groups with the largest lag come first.
TIMESTAMPS_PER_ROUND = 200

OffsetKey = tuple[str, TopicPartition]
V = TypeVar("V")


def collect_groups(cluster: Cluster, kafka: ClusterRequests, now: datetime) -> Outcome:
    """Ask for all groups and their offsets, compute the lag, write what changed."""
    listing = kafka.list_groups()
    ids, left_out = _first_groups(cluster, [group.group_id for group in listing.groups])
    described = with_types(listing.groups, kafka.describe_groups(ids) if ids else {})
    shares = [i for i in ids if described[i].type == SHARE]
    others = [i for i in ids if described[i].type != SHARE]
    offsets = kafka.read_group_offsets(others) if others else GroupOffsets({}, {})
    shared = kafka.read_shares(shares) if shares else SharesRead({}, {}, {})
    parts = {where for own in shared.offsets.values() for where in own}
    ranges = kafka.read_offset_ranges(sorted(parts)) if parts else {}
    round_ = _Round(
        cluster=cluster,
        described=_by_rows(described),
        offsets=_by_row_id(replace(offsets, ranges={**ranges, **offsets.ranges})),
        shared=SharesRead(
            _by_rows(shared.offsets), _by_rows(shared.errors), _by_rows(shared.left_out)
        ),
        cut=frozenset(_row_id(one) for one in ids if not limits.is_group_id(one)),
        stored=_stored_offsets(cluster),
        heads=_heads_of(cluster),
    )
    seen = round_.offsets_seen()
    round_.read_timestamps(kafka, seen)
    round_.date_commits(seen, now)
    with transaction.atomic():
        round_.save(seen, now, is_complete=not listing.errors)
    missing = sentence_about("groups are incomplete", round_.errors(), len(ids))
    missing = f"{left_out} {missing}"
    unheard = "; ".join(dict.fromkeys(listing.errors))
    if unheard:
        missing = f"{UNHEARD}, not every coordinator answered: {unheard}. {missing}"
    return Outcome({"row_count": len(ids)}, missing.strip())


def _first_groups(cluster: Cluster, ids: Collection[str]) -> tuple[list[str], str]:
    """Return the groups that are kept, those that are known first, and a sentence about the others."""
    kept = list(ids)
    if len(kept) > limits.GROUPS:
        known = set(Group.objects.filter(cluster=cluster).values_list("group_id", flat=True))
        kept = sorted(kept, key=lambda one: (_row_id(one) not in known, one))[: limits.GROUPS]
    left_out = len(ids) - len(kept)
    why = f"a cluster has at most {limits.GROUPS:,}"
    return (
        kept,
        f"{limits.LEFT_OUT}{left_out:,} {limits.GROUPS_LEFT_OUT}, {why}." if left_out else "",
    )


def _row_id(group_id: str) -> str:
    """Return what the row of a group is called: its id, or what is left of one that no row can have."""
    return group_id if limits.is_group_id(group_id) else short(group_id)


def _by_row_id(offsets: GroupOffsets) -> GroupOffsets:
    return replace(
        offsets,
        committed=_by_rows(offsets.committed),
        data_ends={(_row_id(i), where): end for (i, where), end in offsets.data_ends.items()},
        errors=_by_rows(offsets.errors),
        left_out=_by_rows(offsets.left_out),
    )


def _by_rows(found: Mapping[str, V]) -> dict[str, V]:
    return {_row_id(group_id): one for group_id, one in found.items()}


@dataclass(slots=True)
class _Round:
    """The answers of one round beside what is stored, by the ids of rows.

    `left_out` is how much of a group is not kept, `cut` are groups whose rows have another name.
    """

    cluster: Cluster
    described: Mapping[str, GroupDescription]
    offsets: GroupOffsets
    stored: dict[OffsetKey, GroupOffset]
    heads: Mapping[TopicPartition, Partition]
    shared: SharesRead
    cut: frozenset[str] = frozenset()
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def read(self) -> Mapping[str, Mapping[TopicPartition, CommittedOffset | ShareOffset]]:
        """The groups whose offsets were read, with them."""
        return {**self.offsets.committed, **self.shared.offsets}

    def errors(self) -> dict[str, str]:
        """Return why groups are incomplete, by group."""
        unread = dict.fromkeys(
            self.described.keys() - self.read.keys(), "committed offsets could not be read"
        )
        unread |= self.shared.errors
        told = unread | {i: group.error for i, group in self.described.items() if group.error}
        told |= {i: left_out_text(count) for i, count in self.left_out.items()}
        return told | {i: f"{CUT} {told.get(i, '')}".rstrip() for i in self.cut}

    def offsets_seen(self) -> dict[OffsetKey, dict[str, Any]]:
        """Return the values of every partition where a group has a commit or a member."""
        seen: dict[OffsetKey, dict[str, Any]] = {}
        counts = Counter(where.topic for where in self.heads)
        self.left_out = Counter({**self.offsets.left_out, **self.shared.left_out})
        read = self.read
        left = limits.ROUND_PARTITIONS - sum(map(len, read.values()))
        for group_id, group in self.described.items():
            committed = read.get(group_id)
            if committed is None:
                continue
            # What members say that they read: they may name what does not exist.
            held = [one for one in group.assigned - committed.keys() if may_exist(*one, counts)]
            kept = sorted(held)[: max(0, min(limits.GROUP_PARTITIONS - len(committed), left))]
            left -= len(kept)
            if len(kept) < len(held):
                self.left_out[group_id] += len(held) - len(kept)
            for where in sorted([*committed, *kept]):
                values = self._values(group_id, where, committed.get(where))
                seen[group_id, where] = values | {"is_assigned": where in group.assigned}
        return seen

    def _values(
        self, group_id: str, where: TopicPartition, commit: CommittedOffset | ShareOffset | None
    ) -> dict[str, Any]:
        offsets = self.offsets.ranges.get(where) or _range_of(self.heads.get(where))
        if isinstance(commit, ShareOffset):
            return of_shares(commit, offsets)
        committed = commit.offset if commit else None
        lag = group_lag(
            committed=committed,
            log_start_offset=offsets.log_start_offset,
            end_offset=offsets.end_offset,
            data_end=self.offsets.data_ends.get((group_id, where)),
            high_watermark=offsets.high_watermark,
        )
        unknown = commit is not None and commit.error is not None
        return {
            "committed_offset": committed,
            "start_offset": None,
            "log_start_offset": offsets.log_start_offset,
            "end_offset": offsets.end_offset,
            "high_watermark": offsets.high_watermark,
            "lag": lag.records,
            "lag_to_high_watermark": lag.to_high_watermark,
            "lag_status": LagStatus.UNKNOWN.value if unknown else lag.status.value,
            "next_timestamp_ms": None,
            "lag_ms": None,
            "error": (commit.error if commit else None) or offsets.error or "",
        }

    def read_timestamps(
        self, kafka: ClusterRequests, seen: Mapping[OffsetKey, dict[str, Any]]
    ) -> None:
        """Complete the lag in time, reading the next record of a group where it is not known yet."""
        behind = {
            key: values
            for key, values in seen.items()
            if values["lag"] and values["committed_offset"] is not None
        }
        unknown: list[OffsetKey] = []
        for key, values in behind.items():
            values["next_timestamp_ms"] = self._known_timestamp(key, values)
            if values["next_timestamp_ms"] is None:
                unknown.append(key)
        unknown.sort(key=lambda key: -behind[key]["lag"])
        # One question can carry one offset per partition; a second group there waits for its turn.
        asked: dict[TopicPartition, int] = {}
        for key in unknown:
            if len(asked) < TIMESTAMPS_PER_ROUND:
                asked.setdefault(key[1], _next_offset(behind[key]))
        found = kafka.read_timestamp_at(asked) if asked else {}
        for key in unknown:
            if asked.get(key[1]) == _next_offset(behind[key]):
                behind[key]["next_timestamp_ms"] = found.get(key[1])
        newest = _read_newest(kafka, {where for _, where in behind})
        for key, values in seen.items():
            values["lag_ms"] = _lag_ms(values, newest.get(key[1]))

    def date_commits(self, seen: Mapping[OffsetKey, dict[str, Any]], now: datetime) -> None:
        """Set since when commits are where they are; it starts again when records begin to wait."""
        for key, values in seen.items():
            committed, row = values["committed_offset"], self.stored.get(key)
            is_same = row is not None and row.committed_offset == committed
            began = (
                row.committed_since if row and is_same and (row.lag or not values["lag"]) else None
            )
            values["committed_since"] = None if committed is None else began or now

    def _known_timestamp(self, key: OffsetKey, values: Mapping[str, Any]) -> int | None:
        """Return the stored timestamp while the group has not moved: records never change."""
        row = self.stored.get(key)
        if row is None or row.committed_offset is None:
            return None
        before = {
            "committed_offset": row.committed_offset,
            "log_start_offset": row.log_start_offset,
        }
        return row.next_timestamp_ms if _next_offset(before) == _next_offset(values) else None

    def save(
        self, seen: Mapping[OffsetKey, dict[str, Any]], now: datetime, *, is_complete: bool
    ) -> None:
        """Write groups and offsets; what could not be read keeps its last values."""
        rows = self._save_groups(seen, now, is_complete=is_complete)
        write_seen(
            GroupOffset,
            self.stored,
            seen,
            lambda key: GroupOffset(
                group=rows[key[0]], topic=key[1].topic, partition=key[1].partition
            ),
            now,
        )
        gone = [row for key, row in self.stored.items() if key not in seen and key[0] in self.read]
        remove(GroupOffset, gone)

    def _save_groups(
        self, seen: Mapping[OffsetKey, dict[str, Any]], now: datetime, *, is_complete: bool
    ) -> dict[str, Group]:
        stored = {row.group_id: row for row in Group.objects.filter(cluster=self.cluster)}
        read = self.read
        per_group: dict[str, list[dict[str, Any]]] = {}
        topics: dict[str, set[str]] = {}
        for (group_id, where), values in seen.items():
            per_group.setdefault(group_id, []).append(values)
            topics.setdefault(group_id, set()).add(where.topic)
        wanted = {
            i: group_values(group, stored.get(i), self.left_out[i], self.shared.errors.get(i, ""))
            | (
                totals(per_group.get(i, []), len(topics.get(i, ())), self.left_out[i])
                if i in read
                else kept_totals(stored.get(i))
            )
            for i, group in self.described.items()
        }
        for i in self.cut & wanted.keys():
            wanted[i]["error"] = f"{wanted[i]['error']} {CUT}".lstrip()
        written = write_seen(
            Group, stored, wanted, lambda i: Group(cluster=self.cluster, group_id=i), now
        )
        if is_complete:
            # A coordinator that did not answer takes its groups out of the list, not out of Kafka.
            remove(Group, [row for i, row in stored.items() if i not in wanted])
        return {i: written.get(i) or stored[i] for i in wanted}


def _read_newest(
    kafka: ClusterRequests, partitions: Collection[TopicPartition]
) -> Mapping[TopicPartition, OffsetRange]:
    try:
        return kafka.read_offset_ranges(partitions) if partitions else {}
    except ClusterFault:
        return {}  # the lag in records is known: only that in time is not


def _lag_ms(values: Mapping[str, Any], newest: OffsetRange | None) -> int | None:
    """Return the time from the next record of a group to the newest one; None when one is not known.

    `newest` was read after the group's commit: what is older says nothing about the records behind it.
    """
    if not values["lag"]:
        lag: int | None = values["lag"]
        return lag
    first, last = values["next_timestamp_ms"], newest.max_timestamp_ms if newest else None
    # Negative where the records between were deleted meanwhile.
    return None if first is None or last is None or last < first else last - first


def _next_offset(values: Mapping[str, Any]) -> int:
    """Return the first offset that the group has not committed and that still exists."""
    return max(int(values["committed_offset"]), int(values["log_start_offset"] or 0))


def _stored_offsets(cluster: Cluster) -> dict[OffsetKey, GroupOffset]:
    rows = GroupOffset.objects.filter(group__cluster=cluster).select_related("group")
    return {(r.group.group_id, TopicPartition(r.topic, r.partition)): r for r in rows}


def _heads_of(cluster: Cluster) -> dict[TopicPartition, Partition]:
    """Return the partitions with the offsets of the round just before."""
    rows = (
        Partition.objects.filter(cluster=cluster).select_related("topic").defer("replicas", "isr")
    )
    return {TopicPartition(row.topic.name, row.partition): row for row in rows}


def _range_of(row: Partition | None) -> OffsetRange:
    if row is None:
        return OffsetRange()
    return OffsetRange(row.log_start_offset, row.end_offset, row.high_watermark)
