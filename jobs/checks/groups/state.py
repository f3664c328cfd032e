"""A consumer group as it was last read, and findings about it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from jobs.checks.check import Area, Check, Pattern, Threshold
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_count
from jobs.severity import Severity


class Sample(NamedTuple):
    """The lag of a group at a moment of a clock that counts the time of rounds."""

    at_s: int
    lag: int


@dataclass(frozen=True, slots=True)
class Retention:
    """How a topic deletes records: by age (None: not, or not known), and whether also by size."""

    ms: int | None
    is_by_size: bool = False


@dataclass(frozen=True, slots=True)
class OffsetState:
    """A partition with unread records of a group, or whose unread records were deleted.

    `unmoved_s` is for how long its commit did not move although records waited, None: not known.
    `retention` is None for a topic that is only compacted. `offline` are the in-sync replicas of a
    partition without a leader, None for one with a leader.
    """

    topic: str
    partition: int
    lag: int | None
    lag_ms: int | None = None
    is_assigned: bool = True
    unmoved_s: float | None = None
    next_timestamp_ms: int | None = None
    is_deleted: bool = False
    retention: Retention | None = None
    offline: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def is_dated(self) -> bool:
        """Whether it is known when retention reaches its first unread record."""
        is_known = self.retention is not None and self.retention.ms is not None
        return is_known and self.next_timestamp_ms is not None and bool(self.lag)

    def left_s(self, now_ms: float) -> float:
        """Return the least time until retention deletes the first unread record; it `is_dated`."""
        retention_ms = self.retention.ms if self.retention else None
        return ((self.next_timestamp_ms or 0) + (retention_ms or 0) - now_ms) / 1000


@dataclass(frozen=True, slots=True)
class GroupState:
    """A consumer group as the last round for groups read it.

    `unmoved_s` is for how long no commit of any partition moved; a group that `is_partial` has more
    partitions than are known. `gone_s` is for how long it has no members
    since it was seen with members, `back_s` for how long it has some again; None: neither was seen.
    """

    cluster: int
    alias: str
    group: str
    members: int | None
    lag: int | None
    lag_ms: int | None = None
    samples: Sequence[Sample] = ()
    unmoved_s: float | None = None
    gone_s: float | None = None
    back_s: float | None = None
    offsets: Sequence[OffsetState] = ()
    is_partial: bool = False


def check_of_groups(id_: str, title: str, *thresholds: Threshold, **texts: Any) -> Check:
    more = {"severity": Severity.WARNING, "area": Area.GROUP, "narrowed_by": Pattern.GROUP}
    return Check(id_, title, thresholds=thresholds, **{**more, **texts})


def values_of(check_: Check, state: GroupState, settings: Settings) -> Mapping[str, float] | None:
    return settings.values(check_, cluster=state.cluster, group=state.group)


def records(count: int | None) -> str:
    return f"{format_count(count)} record{'' if count == 1 else 's'}"


def found(
    check_: Check, state: GroupState, what: str, evidence: Mapping[str, Any], **more: Any
) -> Finding:
    """Return a finding about a group; `more` are other fields of it."""
    one = Finding(
        check_.id,
        check_.severity,
        f"Consumer group {state.group} of {state.alias} {what}",
        check_.runbook,
        state.group,
        evidence={"group": state.group, "lag_records": state.lag, **evidence},
    )
    return replace(one, **more)
