"""Roll-ups: how many partitions of a cluster, a topic, a broker or a rack stand on which step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum

from jobs.availability.status.severity import Severity, Standing


class ScopeKind(StrEnum):
    """What a roll-up is of."""

    CLUSTER = "cluster"
    TOPIC = "topic"
    BROKER = "broker"
    RACK = "rack"


Scope = tuple[ScopeKind, str]
WHOLE: Scope = (ScopeKind.CLUSTER, "")
# Placeholder for the topic of the changed partition; no topic has this name.
_OWN_TOPIC: Scope = (ScopeKind.TOPIC, "")


# Which count tells how many partitions are in a state.
STATE_COUNTS = {
    Severity.OFFLINE: "offline",
    Severity.UNDER_MIN_ISR: "state_under_min_isr",
    Severity.AT_MIN_ISR: "state_at_min_isr",
    Severity.UNDER_REPLICATED: "state_under_replicated",
}


@dataclass(slots=True)
class Counts:
    """Counts over the partitions of a scope: those with a replica there, for a broker or a rack.

    `under_replicated`, `at_min_isr`, `under_min_isr` and `offline` are the counts of Kafka's tool, which
    overlap, `broker_...` those of the brokers' metrics (see `severity.Counted`); `state_...` count
    partitions by their state, each once (offline is both). `unsure`: those of which it is not known whether a
    replica is missing or being added.
    `out_of_sync` are replicas (of a broker or rack: those that it has), `leaders` led partitions (likewise),
    `rf_below_min` partitions with fewer replicas than min.insync.replicas asks for.
    """

    partitions: int = 0
    under_replicated: int = 0
    at_min_isr: int = 0
    under_min_isr: int = 0
    offline: int = 0
    broker_at_min_isr: int = 0
    broker_under_min_isr: int = 0
    unsure: int = 0
    state_under_replicated: int = 0
    state_at_min_isr: int = 0
    state_under_min_isr: int = 0
    rf_below_min: int = 0
    out_of_sync: int = 0
    leaders: int = 0

    def add(self, other: Counts, sign: int = 1) -> None:
        """Take other counts in, or out with sign -1."""
        self.partitions += sign * other.partitions
        self.under_replicated += sign * other.under_replicated
        self.at_min_isr += sign * other.at_min_isr
        self.under_min_isr += sign * other.under_min_isr
        self.offline += sign * other.offline
        self.broker_at_min_isr += sign * other.broker_at_min_isr
        self.broker_under_min_isr += sign * other.broker_under_min_isr
        self.unsure += sign * other.unsure
        self.state_under_replicated += sign * other.state_under_replicated
        self.state_at_min_isr += sign * other.state_at_min_isr
        self.state_under_min_isr += sign * other.state_under_min_isr
        self.rf_below_min += sign * other.rf_below_min
        self.out_of_sync += sign * other.out_of_sync
        self.leaders += sign * other.leaders

    @property
    def unwritable(self) -> int:
        """Partitions without a leader, or whose leader refuses writes with acks=all."""
        return self.offline + self.state_under_min_isr

    @property
    def worst(self) -> Severity:
        """The worst severity of any partition."""
        for severity in sorted(Severity, reverse=True):
            if severity and getattr(self, STATE_COUNTS[severity]):
                return severity
        return Severity.OK

    @property
    def ok(self) -> int:
        """Partitions that have everything."""
        wrong: int = sum(getattr(self, name) for name in STATE_COUNTS.values())
        return self.partitions - wrong


COUNTED = tuple(each.name for each in fields(Counts))


@dataclass(frozen=True, slots=True)
class Placed:
    """What a partition counts as: its topic, replicas, leader and standing."""

    topic: str
    replicas: tuple[int, ...]
    leader: int | None
    standing: Standing


def shares_of(one: Placed, rack_of: Mapping[int, str]) -> Iterator[tuple[Scope, Counts]]:
    """Yield what a partition adds to which roll-ups; brokers without a rack are in none."""
    missing = one.standing.missing
    whole = _counts(one, len(missing), int(one.leader is not None))
    yield WHOLE, whole
    yield (ScopeKind.TOPIC, one.topic), whole
    racks: dict[str, list[int]] = {}
    for broker in dict.fromkeys(one.replicas):
        own = _counts(one, int(broker in missing), int(broker == one.leader))
        yield (ScopeKind.BROKER, str(broker)), own
        if rack_of.get(broker):
            racks.setdefault(rack_of[broker], []).append(broker)
    for rack, brokers in racks.items():
        out = sum(broker in missing for broker in brokers)
        yield (ScopeKind.RACK, rack), _counts(one, out, int(one.leader in brokers))


_Kind = tuple[tuple[int, ...], int | None, Standing] | None


class Tally:
    """Counts by scope, kept by taking partitions in and out.

    What a partition's change comes to is computed once for all that have the same replicas and go the same
    way: when a broker dies, thousands do.
    """

    def __init__(
        self, rack_of: Mapping[int, str], known: Mapping[Scope, Counts] | None = None
    ) -> None:
        self._rack_of = rack_of
        self.counts: dict[Scope, Counts] = dict(known or {})
        self._changes: dict[tuple[_Kind, _Kind], Sequence[tuple[Scope, Counts]]] = {}

    def use_racks(self, rack_of: Mapping[int, str]) -> None:
        """Count by other racks from now on; counts stay as they are."""
        self._rack_of = rack_of
        self._changes = {}

    def move(self, before: Placed | None, after: Placed | None) -> set[Scope]:
        """Take a partition out as it was and in as it is; return the scopes whose counts changed."""
        if before is not None and after is not None and before.topic != after.topic:
            return self.move(before, None) | self.move(None, after)
        one = after or before
        touched = set()
        for scope, change in self._change(before, after):
            own = (ScopeKind.TOPIC, one.topic) if one and scope == _OWN_TOPIC else scope
            self.counts.setdefault(own, Counts()).add(change)
            touched.add(own)
        return touched

    def _change(
        self, before: Placed | None, after: Placed | None
    ) -> Sequence[tuple[Scope, Counts]]:
        key = (_kind_of(before), _kind_of(after))
        found = self._changes.get(key)
        if found is None:
            found = self._changes[key] = self._computed(before, after)
        return found

    def _computed(
        self, before: Placed | None, after: Placed | None
    ) -> Sequence[tuple[Scope, Counts]]:
        found: dict[Scope, Counts] = {}
        for one, sign in ((before, -1), (after, 1)):
            for scope, counts in shares_of(one, self._rack_of) if one is not None else ():
                own = _OWN_TOPIC if scope[0] is ScopeKind.TOPIC else scope
                found.setdefault(own, Counts()).add(counts, sign)
        return [(scope, change) for scope, change in found.items() if change != Counts()]


def _kind_of(one: Placed | None) -> _Kind:
    return None if one is None else (one.replicas, one.leader, one.standing)


def _counts(one: Placed, out_of_sync: int, leaders: int) -> Counts:
    counts = Counts(
        partitions=1,
        out_of_sync=out_of_sync,
        leaders=leaders,
        rf_below_min=int(one.standing.is_rf_below_min),
        unsure=int(one.standing.is_unsure),
    )
    for name in one.standing.counted_as:
        setattr(counts, name.value, 1)
    if one.standing.severity:
        setattr(counts, STATE_COUNTS[one.standing.severity], 1)
    return counts
