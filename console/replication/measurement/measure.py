"""From what the run, the target and the source said to the numbers of every partition: pure rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jobs.cluster.descriptions import OffsetRange, TopicPartition
from jobs.numbers import largest_of, sum_of
from jobs.replication.copy.contract import CopyState
from jobs.replication.flow.lag import replication_lag
from jobs.replication.flow.plan import CREATED_AGAIN

_BADNESS = [
    CopyState.CAUGHT_UP,
    CopyState.WATCHED,
    CopyState.COPYING,
    CopyState.STARTING,
    CopyState.PAUSED,
    CopyState.STOPPED,
    CopyState.RETRYING,
    CopyState.FAILED,
]


@dataclass(frozen=True, slots=True)
class Measured:
    """One partition: where the flow is, where the source ends, and the lag between (None: unknown).

    `data_end` is the offset after the last real record, where it was looked for.
    """

    topic: str
    partition: int
    remote_topic: str = ""
    state: CopyState = CopyState.STARTING
    reason: str = ""
    position: int | None = None
    log_start_offset: int | None = None
    end_offset: int | None = None
    data_end: int | None = None
    lag: int | None = None
    lag_ms: int | None = None
    rate_per_s: float | None = None
    last_timestamp_ms: int | None = None
    head_timestamp_ms: int | None = None
    path: str = ""
    path_reason: str = ""
    bytes_per_s: float | None = None
    batch_bytes: int | None = None
    packed: int = 0
    retries: int = 0
    commit_ms: float | None = None
    throttled_ms: int = 0
    quota_ms: int = 0
    duplicates: int = 0
    findings: tuple[str, ...] = field(default=())

    @property
    def where(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def is_behind(self) -> bool:
        """Whether the source is known to have more offsets than were copied."""
        end = self.end_offset if self.data_end is None else self.data_end
        return self.position is not None and end is not None and end > self.position


def from_progress(progress: Mapping[str, Any]) -> list[Measured]:
    """Return the partitions of a run's progress document, still without the source's side."""
    places = progress["topics"]
    return [
        Measured(
            topic=row["topic"],
            partition=row["partition"],
            remote_topic=(places.get(row["topic"]) or {}).get("remote_topic") or "",
            state=CopyState(row["state"]),
            reason=row["reason"],
            position=row["position"],
            rate_per_s=row.get("rate_per_s"),
            last_timestamp_ms=row["last_timestamp_ms"],
            path=row["path"],
            path_reason=row["path_reason"],
            bytes_per_s=row.get("bytes_per_s"),
            batch_bytes=row["bytes"] // row["batches"] if row["batches"] else None,
            packed=row["packed"],
            retries=row["retries"],
            commit_ms=row["commit_ms"],
            throttled_ms=row["throttled_ms"],
            quota_ms=row.get("quota_ms", 0),
            duplicates=row["duplicates"],
            findings=tuple(row["findings"]),
        )
        for row in progress["partitions"]
    ]


def has_surveyed(progress: Mapping[str, Any]) -> bool:
    """Return whether the run has seen both clusters: only then its list of partitions is complete."""
    return bool(progress["surveyed"])


def waits_because(progress: Mapping[str, Any]) -> str:
    """Return why the run has not seen both clusters yet; empty when it just started or has seen them."""
    return "" if has_surveyed(progress) else str(progress["fault"])


def not_surveyed(known: Measured, progress: Mapping[str, Any]) -> Measured:
    """Return a partition known from before, while the new run has not seen the clusters yet."""
    reason = waits_because(progress)
    state = CopyState.RETRYING if reason else CopyState.STARTING
    return replace(known, state=state, reason=reason, rate_per_s=None, bytes_per_s=None)


def at_rest(known: Measured, position: int | None) -> Measured:
    """Return a partition that no run copies now; why it failed is kept, its rate is not."""
    failed = known.state is CopyState.FAILED
    moved = position is not None and position != known.position
    return replace(
        known,
        state=known.state if failed else CopyState.STOPPED,
        reason=known.reason if failed else "",
        position=known.position if position is None else position,
        rate_per_s=None,
        bytes_per_s=None,
        last_timestamp_ms=None if moved else known.last_timestamp_ms,
    )


def watched(measured: Measured) -> Measured:
    """Return a partition that MirrorMaker 2 copies: caught up, or not by the position that it committed."""
    caught_up = measured.lag == 0
    state = CopyState.CAUGHT_UP if caught_up else CopyState.WATCHED
    return replace(measured, state=state, reason="")


def with_source(measured: Measured, offsets: OffsetRange | None) -> Measured:
    """Add where the source starts and ends; both are unknown when it did not say."""
    if offsets is None or offsets.error:
        return replace(measured, log_start_offset=None, end_offset=None)
    return replace(
        measured, log_start_offset=offsets.log_start_offset, end_offset=offsets.end_offset
    )


def with_lag(measured: Measured) -> Measured:
    """Add the lag in records and in milliseconds of record time."""
    lag = replication_lag(
        position=measured.position,
        log_start_offset=measured.log_start_offset,
        end_offset=measured.end_offset,
        last_timestamp_ms=measured.last_timestamp_ms,
        head_timestamp_ms=measured.head_timestamp_ms,
        data_end=measured.data_end,
    )
    return replace(measured, lag=lag.records, lag_ms=lag.ms)


@dataclass(frozen=True, slots=True)
class Totals:
    """A topic or a flow: the sum of known lags, the largest time lag, and how many are in which state.

    `unknown` and `unknown_ms` are how many partitions have no number.

    `held_back` is how many are paused, by the reason.
    """

    partitions: int
    states: Mapping[str, int]
    state: CopyState
    reason: str
    lag: int | None
    lag_ms: int | None
    rate_per_s: float | None
    held_back: Mapping[str, int] = field(default_factory=dict)
    unknown: int = 0
    unknown_ms: int = 0

    @property
    def failed(self) -> int:
        """Number of failed partitions."""
        return self.states.get(CopyState.FAILED.value, 0)


def total(rows: Sequence[Measured]) -> Totals:
    """Add up partitions; a number is None when no partition knows it."""
    state, reason = _worst(rows)
    states: dict[str, int] = {}
    for row in rows:
        states[row.state.value] = states.get(row.state.value, 0) + 1
    lag, lag_ms = sum_of(row.lag for row in rows), largest_of(row.lag_ms for row in rows)
    return Totals(
        partitions=len(rows),
        states=states,
        state=state,
        reason=reason,
        lag=lag.value,
        lag_ms=lag_ms.value,
        rate_per_s=sum_of(row.rate_per_s for row in rows).value,
        held_back=Counter(row.reason for row in rows if row.state is CopyState.PAUSED),
        unknown=lag.unknown,
        unknown_ms=lag_ms.unknown,
    )


def _worst(rows: Sequence[Measured]) -> tuple[CopyState, str]:
    """Return the worst state and why; what is paused decides only where nothing else is."""
    going = [row for row in rows if row.state is not CopyState.PAUSED]
    worst = max(going or rows, key=lambda row: _BADNESS.index(row.state), default=None)
    if worst is None:
        return CopyState.STARTING, ""
    if needs_reason(worst.state):
        return worst.state, worst.reason
    paused = [row.reason for row in rows if row.state is CopyState.PAUSED]
    told = f"{len(paused)} of {len(rows)} partitions: {paused[0]}" if paused else ""
    return worst.state, told


def needs_reason(state: CopyState) -> bool:
    """Return whether a partition in this state is not copied, so that a person asks why."""
    return _BADNESS.index(state) >= _BADNESS.index(CopyState.PAUSED)


def accepts_new_topic(rows: Iterable[Measured]) -> bool:
    """Return whether one of these partitions failed because its topic was re-created."""
    return any(row.state is CopyState.FAILED and CREATED_AGAIN in row.reason for row in rows)


def by_topic(rows: Iterable[Measured]) -> dict[str, list[Measured]]:
    """Group partitions by their topic."""
    groups: dict[str, list[Measured]] = {}
    for row in rows:
        groups.setdefault(row.topic, []).append(row)
    return groups
