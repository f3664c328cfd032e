"""Opening and ending of findings, without flapping. Pure.

What is seen twice in a row opens; what is certain at once (a changed id, a failed task, lost records) opens
with
the first look. It ends when it was not seen for a while, with the moment at which it was last seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from jobs.replication.findings.finding import Code, Finding

CLOSE_AFTER = timedelta(minutes=3)
# What the next look may already contradict: two looks must agree.
_NEEDS_TWO_LOOKS = frozenset(
    {
        Code.TARGET_CUT,
        Code.SOURCE_CUT,
        Code.RETENTION_LOSS,
        Code.GROUP_AHEAD,
        Code.GROUP_BEYOND_END,
        Code.GROUP_BEYOND_TARGET_END,
        Code.SYNCS_MISSING,
        Code.SYNCS_UNREADABLE,
        Code.HEARTBEATS_ABSENT,
        Code.CHECKPOINTS_MISSING,
        Code.TASK_FAILED,
        Code.HEARTBEATS_STALE,
        Code.TOPIC_MISSING,
        Code.PARTITIONS_DIFFER,
    }
)
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """A finding that is open: since when, and when it was last seen."""

    finding: Finding
    opened_at: datetime
    last_seen_at: datetime


@dataclass(frozen=True, slots=True)
class Change:
    """What a look changed.

    `opened`, `kept` (seen again) and `waiting` (open, but not seen or not judged now) are open; `closed`
    ended,
    at `last_seen_at`. `pending` are those that one look has seen, with its moment.
    """

    opened: tuple[OpenFinding, ...] = ()
    kept: tuple[OpenFinding, ...] = ()
    waiting: tuple[OpenFinding, ...] = ()
    closed: tuple[OpenFinding, ...] = ()
    pending: Mapping[Key, datetime] = field(default_factory=dict)


def follow(
    open_now: Iterable[OpenFinding],
    pending: Mapping[Key, datetime],
    seen: Sequence[Finding],
    judged: Collection[Code],
    now: datetime,
) -> Change:
    """Return what becomes of open and pending findings after a look."""
    found = {finding.key: finding for finding in seen}
    known = {one.finding.key: one for one in open_now}
    kept = tuple(
        replace(one, finding=found[key], last_seen_at=now)
        for key, one in known.items()
        if key in found
    )
    unseen = [one for key, one in known.items() if key not in found]
    closed = tuple(one for one in unseen if _is_over(one, judged, now))
    fresh = {key: one for key, one in found.items() if key not in known}
    opens = {key for key, one in fresh.items() if key in pending or not _needs_two(one)}
    still_pending = {
        k: at for k, at in pending.items() if k not in found and _code(k) not in judged
    }
    return Change(
        opened=tuple(_open(fresh[key], pending.get(key), now) for key in fresh if key in opens),
        kept=kept,
        waiting=tuple(one for one in unseen if one not in closed),
        closed=closed,
        pending=still_pending | {key: now for key in fresh if key not in opens},
    )


def _is_over(one: OpenFinding, judged: Collection[Code], now: datetime) -> bool:
    """What was not judged is neither confirmed nor over."""
    return one.finding.code in judged and now - one.last_seen_at >= CLOSE_AFTER


def _needs_two(finding: Finding) -> bool:
    return finding.code in _NEEDS_TWO_LOOKS


def _open(finding: Finding, first_seen_at: datetime | None, now: datetime) -> OpenFinding:
    """It began when it says so, else with the first look that saw it."""
    return OpenFinding(finding, min(finding.since or first_seen_at or now, now), now)


def _code(key: Key) -> Code:
    return Code(key[0])
