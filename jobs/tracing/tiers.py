"""What tiered storage keeps of a partition: what is local, what is remote, what lags, who reads it.

Bytes of remote records are estimates: offsets times the mean size of an offset of the local part. The
active segment is never copied, and no request tells where it begins: what is not copied is compared with
its bound `segment.bytes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

KEYS = (
    "remote.storage.enable",
    "remote.log.copy.disable",
    "retention.ms",
    "retention.bytes",
    "local.retention.ms",
    "local.retention.bytes",
    "segment.bytes",
)
_AS_WHOLE = "-2"


class Tiered(StrEnum):
    """Whether a topic has tiered storage."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Explain(StrEnum):
    """Why offsets beyond the local retention are still local."""

    COPY_DISABLED = "copy_disabled"
    NOTHING_COPIED = "nothing_copied"
    COPY_BEHIND = "copy_behind"
    ACTIVE_SEGMENT = "active_segment"
    WHOLE_SEGMENTS = "whole_segments"
    DELETION_PENDING = "deletion_pending"
    UNKNOWN = "unknown"


# Sentences for the codes.
EXPLAINED = {
    Explain.COPY_DISABLED: "Copying is disabled (remote.log.copy.disable): what is not copied stays.",
    Explain.NOTHING_COPIED: "Nothing is copied yet, or the leader does not know it. It stays until it is.",
    Explain.COPY_BEHIND: "More than a segment (segment.bytes) is not copied: copying is behind, or an open "
    "transaction holds it back. Closed segments are deleted only after they are copied.",
    Explain.ACTIVE_SEGMENT: "All that is not copied fits in the active segment, which is neither copied nor "
    "deleted until it is closed (segment.bytes, segment.ms, at the next record after that).",
    Explain.WHOLE_SEGMENTS: "At most a segment is beyond the local retention: only whole ones are deleted.",
    Explain.DELETION_PENDING: "Copied and beyond the local retention: deleted at a next check of the broker "
    "(log.retention.check.interval.ms).",
    Explain.UNKNOWN: "What is beyond the local retention is unknown.",
}


class Reads(StrEnum):
    """From where a group reads next: it would begin at its committed offset."""

    GONE = "gone"
    REMOTE = "remote"
    FAR_BEHIND = "far_behind"
    TAIL = "tail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TierSettings:
    """The settings of a topic; limits of the local part, None: without a limit, or unknown."""

    tiered: Tiered
    local_ms: int | None = None
    local_bytes: int | None = None
    segment_bytes: int | None = None
    is_copying: bool = True


@dataclass(frozen=True, slots=True)
class Ends:
    """Offsets of a log, read one after the other in this order. None: unknown.

    `highest` is the last offset in remote storage, also None when there is none. `reason`: why one is
    unknown.
    """

    log_start: int | None = None
    local_start: int | None = None
    highest: int | None = None
    end: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """What else was read of a partition. None: unknown.

    `kept_from` is the first offset within the local retention by time (`end`: none is). The times are of the
    first record, the first one that is not copied, and the last one.
    """

    local_bytes: int | None = None
    kept_from: int | None = None
    first_ms: int | None = None
    pending_ms: int | None = None
    last_ms: int | None = None


def tier_settings(configs: Mapping[str, str] | None) -> TierSettings:
    """Return what the effective settings of a topic mean; None: they could not be read."""
    if configs is None:
        return TierSettings(Tiered.UNKNOWN)
    if configs.get("remote.storage.enable") != "true":
        return TierSettings(Tiered.NO)

    def limit(name: str) -> int | None:
        text = configs.get(f"local.{name}", _AS_WHOLE)
        number = int(configs.get(name, -1) if text == _AS_WHOLE else text)
        return number if number >= 0 else None

    segment = configs.get("segment.bytes")
    return TierSettings(
        Tiered.YES,
        limit("retention.ms"),
        limit("retention.bytes"),
        None if segment is None else int(segment),
        configs.get("remote.log.copy.disable") != "true",
    )


def partition_row(settings: TierSettings, ends: Ends, measured: Measured) -> dict[str, Any]:
    """Return the values of a partition by their names; None: unknown. Topic and number are not among them."""
    start, local, end, size = ends.log_start, ends.local_start, ends.end, measured.local_bytes
    is_tiered = settings.tiered is Tiered.YES
    copied_to = None if ends.highest is None or not is_tiered else ends.highest + 1
    mean = _mean(size, _between(local, end))
    copy_lag = _between(copied_to, end)
    copy_bytes = _bytes(mean, copy_lag)
    delete_lag = _delete_lag(settings, ends, measured, mean) if is_tiered else None
    lag_ms = None
    if copy_lag == 0:
        lag_ms = 0
    elif copy_lag and measured.pending_ms is not None and measured.last_ms is not None:
        lag_ms = max(measured.last_ms - measured.pending_ms, 0)
    no_remote = 0 if settings.tiered is Tiered.NO else None
    return {
        "tiered": settings.tiered.value,
        "log_start": start,
        "local_start": local,
        "highest_tiered": ends.highest,
        "end": end,
        "local_bytes": size,
        "remote_bytes": _bytes(mean, _between(start, copied_to)) if is_tiered else no_remote,
        "first_ms": measured.first_ms,
        "replay_offsets": _between(start, end),
        "replay_remote_bytes": _bytes(mean, _between(start, local)) if is_tiered else no_remote,
        "copy_lag": copy_lag,
        "copy_lag_bytes": copy_bytes,
        "copy_lag_ms": lag_ms,
        "delete_lag": delete_lag,
        "explain": _explain(settings, ends, delete_lag, mean) if is_tiered else "",
        "reason": ends.reason,
    }


def _between(low: int | None, high: int | None) -> int | None:
    return None if low is None or high is None else max(high - low, 0)


def _mean(size: int | None, offsets: int | None) -> float | None:
    return size / offsets if size is not None and offsets else None


def _bytes(mean: float | None, offsets: int | None) -> int | None:
    if offsets == 0:
        return 0
    return None if mean is None or offsets is None else round(mean * offsets)


def _delete_lag(
    settings: TierSettings, ends: Ends, measured: Measured, mean: float | None
) -> int | None:
    """Return how many local offsets are beyond the local retention by time or by size."""
    local, offsets = ends.local_start, _between(ends.local_start, ends.end)
    if local is None or offsets is None:
        return None
    if offsets == 0:
        return 0
    lag = 0
    if settings.local_ms is not None:
        if measured.kept_from is None:
            return None
        lag = measured.kept_from - local
    if settings.local_bytes is not None:
        if measured.local_bytes is None:
            return None
        if mean:
            lag = max(lag, int((measured.local_bytes - settings.local_bytes) / mean))
    return min(max(lag, 0), offsets)


def _explain(settings: TierSettings, ends: Ends, delete_lag: int | None, mean: float | None) -> str:
    if delete_lag == 0:
        return ""
    if delete_lag is None or ends.local_start is None or (ends.highest is None and ends.reason):
        return Explain.UNKNOWN
    if not settings.is_copying:
        return Explain.COPY_DISABLED
    if ends.highest is None:
        return Explain.NOTHING_COPIED
    copied = min(max(ends.highest + 1 - ends.local_start, 0), delete_lag)
    if copied >= delete_lag - copied:
        size, fits, more = copied, Explain.WHOLE_SEGMENTS, Explain.DELETION_PENDING
    else:
        size, fits, more = (
            (ends.end or 0) - ends.highest - 1,
            Explain.ACTIVE_SEGMENT,
            Explain.COPY_BEHIND,
        )
    judged = _bytes(mean, size)
    if judged is None or settings.segment_bytes is None:
        return Explain.UNKNOWN
    return fits if judged <= settings.segment_bytes else more


def group_reads(committed: int, before: Ends, after: Ends) -> Reads:
    """Return from where a group reads that committed this offset between two readings of the ends of a log.

    The ends only grow, so what both readings say was so when the offset was read; else it is unknown.
    FAR_BEHIND is a lag of half of the local offsets or more.
    """
    if before.log_start is not None and committed < before.log_start:
        return Reads.GONE
    if after.log_start is None or committed < after.log_start:
        return Reads.UNKNOWN
    if before.local_start is not None and committed < before.local_start:
        return Reads.REMOTE
    if after.local_start is None or committed < after.local_start:
        return Reads.UNKNOWN
    return _reads_locally(committed, before, after)


def _reads_locally(committed: int, before: Ends, after: Ends) -> Reads:
    least, most = _between(committed, before.end), _between(committed, after.end)
    fewest = _between(after.local_start, before.end)
    all_local = _between(before.local_start, after.end)
    if most == 0:
        return Reads.TAIL
    if least is None or most is None or fewest is None or all_local is None:
        return Reads.UNKNOWN
    if 2 * most < fewest:
        return Reads.TAIL
    return Reads.FAR_BEHIND if 0 < all_local <= 2 * least else Reads.UNKNOWN


def topic_row(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums of a topic's partitions; a sum is unknown (None) where one of a partition is."""

    def total(name: str) -> int | None:
        values = [row[name] for row in rows]
        return None if None in values else sum(values)

    firsts = [row["first_ms"] for row in rows if row["replay_offsets"] != 0]
    names = ("local_bytes", "remote_bytes", "replay_remote_bytes", "copy_lag", "delete_lag")
    return {
        "tiered": rows[0]["tiered"],
        "partitions": len(rows),
        **{name: total(name) for name in names},
        # A replay of all partitions begins where the last of them begins.
        "complete_from_ms": None if None in firsts else max(firsts, default=None),
    }
