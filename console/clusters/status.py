"""State of a cluster with reason and remedy: pure rules, worst first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from django.conf import settings

from console.clusters.models import Cluster, CollectionRound, Noun
from console.frame.pages.freshness import Freshness, freshness_of_round, oldest, stale_after_s
from console.frame.pages.states import spoken
from jobs.availability.status.severity import Severity as PartitionSeverity
from jobs.cluster.errors import ClusterIdChanged, RegisteredTwice, SeveralClusters
from jobs.numbers import format_age
from jobs.severity import Severity


class ClusterState(StrEnum):
    """The states of a cluster as crosslog sees it."""

    OFF = "off"
    NEW = "new"
    ANOTHER_CLUSTER = "another_cluster"
    UNREACHABLE = "unreachable"
    FAILING = "failing"
    OFFLINE = "offline"
    UNDER_MIN_ISR = "under_min_isr"
    AT_MIN_ISR = "at_min_isr"
    BROKER_MISSING = "broker_missing"
    STALE = "stale"
    UNDER_REPLICATED = "under_replicated"
    OK = "ok"


SEVERITIES = {
    ClusterState.OFF: Severity.UNKNOWN,
    ClusterState.NEW: Severity.INFO,
    ClusterState.ANOTHER_CLUSTER: Severity.CRITICAL,
    ClusterState.UNREACHABLE: Severity.CRITICAL,
    ClusterState.FAILING: Severity.CRITICAL,
    ClusterState.OFFLINE: Severity.CRITICAL,
    ClusterState.UNDER_MIN_ISR: Severity.CRITICAL,
    ClusterState.AT_MIN_ISR: Severity.WARNING,
    ClusterState.BROKER_MISSING: Severity.CRITICAL,
    ClusterState.STALE: Severity.WARNING,
    ClusterState.UNDER_REPLICATED: Severity.WARNING,
    ClusterState.OK: Severity.HEALTHY,
}
PARTITION_SEVERITIES = {
    PartitionSeverity.OK: Severity.HEALTHY,
    PartitionSeverity.UNDER_REPLICATED: Severity.WARNING,
    PartitionSeverity.AT_MIN_ISR: Severity.WARNING,
    PartitionSeverity.UNDER_MIN_ISR: Severity.CRITICAL,
    PartitionSeverity.OFFLINE: Severity.CRITICAL,
}
_OF_LADDER = {
    PartitionSeverity.UNDER_REPLICATED: (
        ClusterState.UNDER_REPLICATED,
        "Partitions are under-replicated.",
    ),
    PartitionSeverity.AT_MIN_ISR: (
        ClusterState.AT_MIN_ISR,
        "Partitions are at min ISR: the loss of one more replica refuses writes with acks=all.",
    ),
    PartitionSeverity.UNDER_MIN_ISR: (
        ClusterState.UNDER_MIN_ISR,
        "Partitions are under min ISR: writes with acks=all are refused.",
    ),
    PartitionSeverity.OFFLINE: (
        ClusterState.OFFLINE,
        "Partitions have no leader: reads and writes fail.",
    ),
}


_WORDS = {
    ClusterState.OK: "Healthy",
    ClusterState.OFF: "Disabled",
    ClusterState.ANOTHER_CLUSTER: "Cluster ID mismatch",
    ClusterState.BROKER_MISSING: "Broker down",
}


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """State, reason, remedy, and since when (None: not known)."""

    state: ClusterState
    reason: str = ""
    hint: str = ""
    since: datetime | None = None

    @property
    def word(self) -> str:
        """The state as pages show it."""
        return _WORDS.get(self.state) or spoken(self.state)

    @property
    def severity(self) -> Severity:
        return SEVERITIES[self.state]


def judge_cluster(
    cluster: Cluster,
    rounds: Iterable[CollectionRound],
    worst: PartitionSeverity,
    dead_brokers: int,
    now: datetime,
    *,
    is_followed: bool = False,
) -> ClusterStatus:
    """Return the state of a cluster; `is_followed`: `worst` is newer than its rounds.

    A round that fails or is late does not hide what was seen, when that is as bad: with a dead broker,
    offsets and groups cannot be read because partitions are offline.
    """
    if not cluster.is_enabled:
        return ClusterStatus(ClusterState.OFF, "Collection is disabled for this cluster.")
    rounds = list(rounds)
    failing = [r for r in rounds if r.failing_since is not None]
    seen = _seen(worst, dead_brokers)
    if failing:
        why = _failing(cluster, rounds, failing)
        seen_by = frozenset() if is_followed else _SEEN_BY
        is_seen_now = why.state is ClusterState.FAILING and not seen_by & {r.noun for r in failing}
        return seen if is_seen_now and _rank(seen) >= _rank(why) else why
    late = _late(cluster, rounds, now)
    if late is not None:
        return late if _rank(seen) < _rank(late) else replace(seen, reason=_joined(seen, late))
    if not any(r.succeeded_at for r in rounds):
        return ClusterStatus(ClusterState.NEW, "The first collection has not finished yet.")
    return seen if seen.state is not ClusterState.OK or _is_judged(rounds) else _NOT_JUDGED


# The first round of all also waits for its programs to start.
_FIRST_ROUND_S = 60.0
_NO_TURN = (
    "The worker of the queue collect is not running or is overloaded. Check its log and the load of the "
    "machine, then start it or add a worker."
)


def _late(cluster: Cluster, rounds: list[CollectionRound], now: datetime) -> ClusterStatus | None:
    """Return that rounds come later than they should, None when they do not: nothing fails, nothing comes."""
    entries = [freshness_of_row(row.noun, row) for row in rounds if row.succeeded_at]
    if not entries:
        limit_s = max(_FIRST_ROUND_S, stale_after_s(settings.COLLECT_INTERVAL_S, None))
        if not Freshness("", cluster.created_at, stale_after_s=limit_s).is_late(now):
            return None
        reason = (
            f"Registered {format_age(cluster.created_at, now)}; no collection has finished yet."
        )
        return ClusterStatus(ClusterState.STALE, reason, _NO_TURN, cluster.created_at)
    late = oldest([entry for entry in entries if entry.is_late(now)])
    if late is None or late.succeeded_at is None:
        return None
    is_all = all(entry.is_late(now) for entry in entries)
    shown = "All data" if is_all else f"Data of {late.noun}"
    reason = f"{shown} last collected {format_age(late.succeeded_at, now)}."
    return ClusterStatus(ClusterState.STALE, reason, _NO_TURN, late.succeeded_at)


def _joined(seen: ClusterStatus, late: ClusterStatus) -> str:
    return f"{seen.reason} {late.reason}"


def freshness_of_row(noun: str, row: CollectionRound | None) -> Freshness:
    """Return how fresh the rows of one noun are; without a round they were never read."""
    return freshness_of_round(noun, row, settings.COLLECT_INTERVAL_S)


def freshness_of_versions(cluster: Cluster) -> Freshness:
    """Return how fresh is what its brokers said that they offer; every round for brokers asks."""
    late = stale_after_s(settings.COLLECT_INTERVAL_S, None)
    return Freshness("versions", cluster.versions_at, stale_after_s=late)


# What the state of partitions and brokers comes from.
_SEEN_BY = frozenset({Noun.BROKERS.value, Noun.TOPICS.value})
# How bad a state is beside a round that fails or is late; all others are worse than these.
_RANKS = {
    ClusterState.OK: 0,
    ClusterState.UNDER_REPLICATED: 1,
    ClusterState.STALE: 2,
    ClusterState.FAILING: 2,
    ClusterState.AT_MIN_ISR: 2,
    ClusterState.BROKER_MISSING: 2,
}
_WORST_RANK = 3


_NOT_JUDGED = ClusterStatus(ClusterState.NEW, "Brokers and partitions have not been collected yet.")


def _is_judged(rounds: Iterable[CollectionRound]) -> bool:
    return {row.noun for row in rounds if row.succeeded_at} >= _SEEN_BY


def _rank(status: ClusterStatus) -> int:
    return _RANKS.get(status.state, _WORST_RANK)


def _seen(worst: PartitionSeverity, dead_brokers: int) -> ClusterStatus:
    """Return what the last rounds saw of brokers and partitions."""
    dead, hint = "", ""
    if dead_brokers:
        dead = f"{dead_brokers} broker{' is' if dead_brokers == 1 else 's are'} down."
        hint = "Start the broker; its log has the reason of the shutdown."
    if worst is not PartitionSeverity.OK:
        state, reason = _OF_LADDER[worst]
        return ClusterStatus(state, f"{reason} {dead}".strip(), hint)
    if dead_brokers:
        return ClusterStatus(ClusterState.BROKER_MISSING, dead, hint)
    return ClusterStatus(ClusterState.OK)


# What answers is not what was registered, or not that alone.
_OTHER_CLUSTER = frozenset({ClusterIdChanged.code, SeveralClusters.code, RegisteredTwice.code})


def _failing(
    cluster: Cluster, rounds: list[CollectionRound], failing: list[CollectionRound]
) -> ClusterStatus:
    first = failing[0]
    if first.error_code in _OTHER_CLUSTER:
        state = ClusterState.ANOTHER_CLUSTER
    elif len(failing) == len(Noun) or len(failing) == len(rounds):
        state = ClusterState.UNREACHABLE
    else:
        state = ClusterState.FAILING
    since = min((r.failing_since for r in failing if r.failing_since), default=None)
    return ClusterStatus(state, first.error, first.hint, since)
