"""What a row of a group holds: what was described, totals over its partitions, and share groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from console.clusters.models import Group
from jobs import limits
from jobs.cluster.descriptions import GroupDescription, OffsetRange, ShareOffset
from jobs.limits import short
from jobs.numbers import largest_of, sum_of
from jobs.replication.flow.lag import LagStatus

_CLASSIC, _DEAD = frozenset({"classic", "consumer"}), "Dead"


def with_types(
    listed: Iterable[GroupDescription], described: Mapping[str, GroupDescription]
) -> dict[str, GroupDescription]:
    """Return what is known of groups: what is described, with the type and protocol that the list tells.

    A type that no broker describes is only known from the list.
    """
    found = {}
    for one in listed:
        told = described.get(one.group_id)
        if told is not None:
            is_unread = bool(told.error) or (told.state == _DEAD and one.type not in _CLASSIC)
            found[one.group_id] = (
                replace(one, error=told.error)
                if is_unread
                else replace(told, protocol=one.protocol)
            )
    return found


def of_shares(told: ShareOffset, offsets: OffsetRange) -> dict[str, Any]:
    """Return the values of a partition of a share group: its broker reckons the lag (KIP-1226)."""
    status = LagStatus.UNKNOWN if told.lag is None else LagStatus.OK
    status = LagStatus.NO_COMMIT if told.start_offset is None and not told.error else status
    return {
        "committed_offset": None,
        "start_offset": told.start_offset,
        "log_start_offset": offsets.log_start_offset,
        "end_offset": offsets.end_offset,
        "high_watermark": offsets.high_watermark,
        "lag": told.lag,
        "lag_to_high_watermark": None,
        "lag_status": status.value,
        "next_timestamp_ms": None,
        "lag_ms": None,
        "error": told.error or offsets.error or "",
    }


def group_values(
    group: GroupDescription, row: Group | None, left_out: int, unread: str
) -> dict[str, Any]:
    if group.error:
        kept = row or Group(state=group.state, type=group.type, protocol=short(group.protocol))
        return {name: getattr(kept, name) for name in _DESCRIBED} | {"error": group.error}
    return {
        "state": group.state,
        "type": group.type,
        "protocol": short(group.protocol),
        "assignor": short(group.assignor or ""),
        "member_count": group.member_count,
        "coordinator": group.coordinator,
        "error": left_out_text(left_out) if left_out else unread,
    }


def left_out_text(count: int) -> str:
    return (
        f"{limits.LEFT_OUT}{count:,} partitions of the group are left out; at most "
        f"{limits.GROUP_PARTITIONS:,} are kept, of a cluster {limits.ROUND_PARTITIONS:,}. "
        "Its lag is at least what is shown."
    )


# How the sentence begins that a round has whose list of groups is not complete.
UNHEARD = "Groups may be missing"
CUT = (
    f"{limits.CUT_ID}it has NUL, more than {limits.GROUP_ID:,} characters or more than "
    f"{limits.GROUP_ID_BYTES:,} bytes."
)
_DESCRIBED = ("state", "type", "protocol", "assignor", "member_count", "coordinator")
_LAGS = ("unknown_count", "unknown_ms_count", "lag", "lag_ms", "lag_to_high_watermark")
_TOTALS = ("topic_count", "partition_count", *_LAGS)


def totals(offsets: Iterable[Mapping[str, Any]], topic_count: int, left_out: int) -> dict[str, Any]:
    rows = list(offsets)
    # Where a member starts without a commit is its own affair (auto.offset.reset): no number, not 0.
    lag, lag_ms = sum_of(row["lag"] for row in rows), largest_of(row["lag_ms"] for row in rows)
    return {
        "topic_count": topic_count,
        "partition_count": len(rows) + left_out,
        "unknown_count": left_out + lag.unknown,
        "unknown_ms_count": left_out + lag_ms.unknown,
        "lag": lag.value,
        "lag_to_high_watermark": sum_of(row["lag_to_high_watermark"] for row in rows).value,
        "lag_ms": lag_ms.value,
    }


def kept_totals(row: Group | None) -> dict[str, Any]:
    kept = row or Group()
    return {name: getattr(kept, name) for name in _TOTALS}
