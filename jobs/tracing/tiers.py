"""What tiered storage keeps of a partition: what is local, what is remote, what lags, who reads it.

Bytes of remote records are estimates: offsets times the mean size of an offset of the local part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

KEYS = (
    *("remote.storage.enable", "retention.ms", "retention.bytes"),
    *("local.retention.ms", "local.retention.bytes"),
)
_AS_WHOLE = "-2"


class Reads(StrEnum):
    """From where a group reads next: it would begin at its committed offset."""

    REMOTE = "remote"
    FAR_BEHIND = "far_behind"
    GONE = "gone"
    UNKNOWN = "unknown"
    TAIL = "tail"


@dataclass(frozen=True, slots=True)
class TierSettings:
    """Whether a topic is tiered (None: unknown); limits of the local part, None: without one."""

    tiered: bool | None
    local_ms: int | None = None
    local_bytes: int | None = None


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
        return TierSettings(tiered=None)
    if configs.get("remote.storage.enable") != "true":
        return TierSettings(tiered=False)

    def limit(name: str) -> int | None:
        text = configs.get(f"local.{name}", _AS_WHOLE)
        number = int(configs.get(name, -1) if text == _AS_WHOLE else text)
        return number if number >= 0 else None

    return TierSettings(
        tiered=True, local_ms=limit("retention.ms"), local_bytes=limit("retention.bytes")
    )


def partition_row(settings: TierSettings, ends: Ends, measured: Measured) -> dict[str, Any]:
    """Return the values of a partition by their names; None: unknown. Topic and number are not among them."""
    start, local, end, size = ends.log_start, ends.local_start, ends.end, measured.local_bytes
    is_tiered = bool(settings.tiered)
    copied_to = None if ends.highest is None else ends.highest + 1
    offsets = _between(local, end)
    mean = size / offsets if size is not None and offsets else None
    copy_lag = _between(copied_to, end)
    no_remote = 0 if settings.tiered is False else None
    return {
        "tiered": {True: "yes", False: "no", None: "unknown"}[settings.tiered],
        "log_start": start,
        "local_start": local,
        "highest_tiered": ends.highest,
        "end": end,
        "local_bytes": size,
        "remote_bytes": _bytes(mean, _between(start, copied_to)) if is_tiered else no_remote,
        "first_ms": measured.first_ms,
        "replay_bytes": _bytes(mean, _between(start, local)) if is_tiered else no_remote,
        "copy_lag": copy_lag,
        "copy_lag_ms": _between(measured.pending_ms, measured.last_ms) if copy_lag else copy_lag,
        "delete_lag": _delete_lag(settings, ends, measured) if is_tiered else None,
        "reason": ends.reason,
    }


def _between(low: int | None, high: int | None) -> int | None:
    return None if low is None or high is None else max(high - low, 0)


def _bytes(mean: float | None, offsets: int | None) -> int | None:
    if offsets == 0:
        return 0
    return None if mean is None or offsets is None else round(mean * offsets)


def _delete_lag(settings: TierSettings, ends: Ends, measured: Measured) -> int | None:
    """Return how many local offsets are beyond the local retention by time or by size."""
    offsets, size = _between(ends.local_start, ends.end), measured.local_bytes
    if not offsets:
        return offsets
    lags: list[int | None] = [0]
    if settings.local_ms is not None:
        lags.append(_between(ends.local_start, measured.kept_from))
    if settings.local_bytes is not None:
        over = None if size is None else max(size - settings.local_bytes, 0)
        lags.append(None if over is None else over * offsets // max(size or 0, 1))
    known = [one for one in lags if one is not None]
    return min(max(known), offsets) if len(known) == len(lags) else None


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
    if least is None or most is None or fewest is None or all_local is None:
        return Reads.UNKNOWN
    if most == 0 or 2 * most < fewest:
        return Reads.TAIL
    return Reads.FAR_BEHIND if 0 < all_local <= 2 * least else Reads.UNKNOWN


def topic_row(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums of a topic's partitions; a sum is unknown (None) where one of a partition is.

    A replay of all partitions is complete from the latest of their first records.
    """
    sums = {name: [row[name] for row in rows] for name in SUMS}
    firsts = [
        row["first_ms"] for row in rows if row["end"] is None or row["end"] > row["log_start"]
    ]
    return {
        "tiered": rows[0]["tiered"],
        "partitions": len(rows),
        **{name: None if None in found else sum(found) for name, found in sums.items()},
        "first_ms": None if None in firsts else max(firsts, default=None),
    }


SUMS = ("local_bytes", "remote_bytes", "replay_bytes", "copy_lag", "delete_lag")
