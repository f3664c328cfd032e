"""Observers, also those of brokers with automatic promotion: events and findings. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.promotion.advice import ReplicaStanding
from jobs.availability.promotion.candidates import how_far
from jobs.availability.promotion.expected_times import seconds
from jobs.availability.promotion.required_isr import required_isr_of
from jobs.availability.what_if.model.cluster import PartitionModel


class ObserverEventKind(StrEnum):
    """What happened to an observer; the value is stable, for programs."""

    PROMOTED = "promoted"
    DEMOTED = "demoted"
    BECAME_LEADER = "became_leader"
    LEFT_LEADERSHIP = "left_leadership"
    ASSIGNED = "assigned"
    UNASSIGNED = "unassigned"


@dataclass(frozen=True, slots=True)
class ObserverEvent:
    """Something that happened between two looks at a partition; `at_ms` is the time of the later one.

    `lasted_ms`: for demotions, for how long it was in the ISR; None: not known.
    """

    kind: ObserverEventKind
    topic: str
    partition: int
    broker_id: int
    at_ms: int
    sentence: str
    lasted_ms: int | None = None


class ObserverFindingCode(StrEnum):
    """The kind of a finding about an observer; the value is stable, for programs."""

    PROMOTED_TOO_LONG = "promoted_too_long"
    NOT_NEEDED = "not_needed"
    LEADS = "leads"
    NOT_ALIVE = "not_alive"
    NOT_CAUGHT_UP = "not_caught_up"
    NOT_PROMOTED = "not_promoted"


@dataclass(frozen=True, slots=True)
class ObserverFinding:
    """A finding about one observer of one partition, and what to do."""

    code: ObserverFindingCode
    topic: str
    partition: int
    broker_id: int
    sentence: str
    todo: str


@dataclass(frozen=True, slots=True)
class ObserverLimits:
    """Limits of findings, in milliseconds and records.

    `promotion_ms`: time for the brokers to promote an observer before a finding is opened; `demotion_ms`:
    time to demote it when the sync replicas are in the ISR.
    """

    longest_promoted_ms: int = 3_600_000
    most_lag_records: int = 1_000
    most_caught_up_age_ms: int = 30_000
    promotion_ms: int = 60_000
    demotion_ms: int = 300_000


def events(
    before: PartitionModel,
    after: PartitionModel,
    at_ms: int,
    tracked: PromotionHistory | None = None,
) -> tuple[ObserverEvent, ...]:
    """Return what happened to the observers of a partition between two states; `tracked` is of the earlier
    one.

    A replica that is an observer in one of them only was assigned or unassigned; what it did in the ISR
    before or after is no promotion. What happened and ended between the two looks is not seen.
    """
    found = [*_roles(before, after, at_ms)]
    for broker in (one for one in after.observers if one in before.observers):
        found += _isr(broker, before, after, at_ms, tracked or PromotionHistory())
        found += _leadership(broker, before, after, at_ms)
    return tuple(found)


def _event(
    kind: ObserverEventKind,
    after: PartitionModel,
    broker: int,
    at_ms: int,
    sentence: str,
    lasted_ms: int | None = None,
) -> ObserverEvent:
    place = f"{after.topic}-{after.partition}"
    told = sentence.format(broker=broker, place=place)
    return ObserverEvent(kind, after.topic, after.partition, broker, at_ms, told, lasted_ms)


def _roles(before: PartitionModel, after: PartitionModel, at_ms: int) -> Iterator[ObserverEvent]:
    for one in (one for one in after.observers if one not in before.observers):
        words = "Broker {broker} became an observer of {place}."
        yield _event(ObserverEventKind.ASSIGNED, after, one, at_ms, words)
    for one in (one for one in before.observers if one not in after.observers):
        words = "Broker {broker} is no longer an observer of {place}."
        yield _event(ObserverEventKind.UNASSIGNED, after, one, at_ms, words)


def _isr(
    broker: int,
    before: PartitionModel,
    after: PartitionModel,
    at_ms: int,
    tracked: PromotionHistory,
) -> Iterator[ObserverEvent]:
    if broker in after.isr and broker not in before.isr:
        had = len(before.isr)
        words = (
            f"Observer {{broker}} joined the ISR of {{place}}, which had {had} members; min.insync.replicas "
            f"is {before.min_insync_replicas or 'unknown'}."
        )
        yield _event(ObserverEventKind.PROMOTED, after, broker, at_ms, words)
    elif broker in before.isr and broker not in after.isr:
        since = tracked.promoted_since_ms.get(broker)
        lasted = None if since is None else max(0, at_ms - since)
        long = "" if lasted is None else f" after {seconds(lasted)}"
        words = f"Observer {{broker}} left the ISR of {{place}}{long}."
        yield _event(ObserverEventKind.DEMOTED, after, broker, at_ms, words, lasted)


def _leadership(
    broker: int, before: PartitionModel, after: PartitionModel, at_ms: int
) -> Iterator[ObserverEvent]:
    if after.leader == broker != before.leader:
        words = "Observer {broker} became leader of {place}."
        yield _event(ObserverEventKind.BECAME_LEADER, after, broker, at_ms, words)
    elif before.leader == broker != after.leader:
        words = "Observer {broker} is no longer leader of {place}."
        yield _event(ObserverEventKind.LEFT_LEADERSHIP, after, broker, at_ms, words)


def findings(
    partition: PartitionModel,
    tracked: PromotionHistory,
    standings: Mapping[int, ReplicaStanding],
    alive: frozenset[int],
    limits: ObserverLimits,
    now_ms: int,
) -> tuple[ObserverFinding, ...]:
    """Return the findings about the observers of a partition, in the order of the observers."""
    found: list[ObserverFinding] = []
    for broker in partition.observers:
        news = (
            _of_promoted(broker, partition, tracked, limits, now_ms)
            if broker in partition.isr
            else _of_waiting(broker, standings.get(broker, ReplicaStanding()), alive, limits)
        )
        found += [_finding(partition, broker, *one) for one in news]
    return (*found, *_not_promoted(partition, tracked, limits, now_ms))


_Finding = tuple[ObserverFindingCode, str, str]


def _finding(
    partition: PartitionModel, broker: int, code: ObserverFindingCode, sentence: str, todo: str
) -> ObserverFinding:
    return ObserverFinding(code, partition.topic, partition.partition, broker, sentence, todo)


def _of_promoted(
    broker: int,
    partition: PartitionModel,
    tracked: PromotionHistory,
    limits: ObserverLimits,
    now_ms: int,
) -> Iterator[_Finding]:
    since, recovered = tracked.promoted_since_ms.get(broker), tracked.recovered_since_ms
    if recovered is not None and now_ms - recovered > limits.demotion_ms:
        yield (
            ObserverFindingCode.NOT_NEEDED,
            f"Observer {broker} is in the ISR, although the sync replicas are in sync for "
            f"{seconds(now_ms - recovered)}.",
            "Demote it, or find out why the brokers do not.",
        )
    elif since is not None and now_ms - since > limits.longest_promoted_ms:
        yield (
            ObserverFindingCode.PROMOTED_TOO_LONG,
            f"Observer {broker} is in the ISR for {seconds(now_ms - since)}: every write with acks=all "
            "waits for it.",
            "Restore the sync replicas that it replaces.",
        )
    if partition.leader == broker:
        yield (
            ObserverFindingCode.LEADS,
            f"Observer {broker} is the leader: clients connect to its site.",
            "Elect the preferred replica as soon as it is in the ISR (kafka-leader-election "
            "--election-type preferred).",
        )


def _of_waiting(
    broker: int, standing: ReplicaStanding, alive: frozenset[int], limits: ObserverLimits
) -> Iterator[_Finding]:
    if broker not in alive:
        yield (
            ObserverFindingCode.NOT_ALIVE,
            f"Observer {broker} is down: it cannot be promoted.",
            f"Start broker {broker}.",
        )
        return
    lag, age = standing.lag_records, standing.caught_up_ago_ms
    is_far = lag is not None and lag > limits.most_lag_records
    is_old = age is not None and age > limits.most_caught_up_age_ms
    if is_far if lag is not None else is_old:
        yield (
            ObserverFindingCode.NOT_CAUGHT_UP,
            f"Observer {broker} has not caught up: {how_far(standing)}.",
            f"Check network and disks of broker {broker}, and throttles.",
        )


def _not_promoted(
    partition: PartitionModel, tracked: PromotionHistory, limits: ObserverLimits, now_ms: int
) -> Iterator[ObserverFinding]:
    short = tracked.short_since_ms
    if short is None or now_ms - short <= limits.promotion_ms:
        return
    waiting = [one for one in partition.observers if one not in partition.isr]
    if waiting:
        yield _finding(
            partition,
            waiting[0],
            ObserverFindingCode.NOT_PROMOTED,
            f"The ISR is too small for {seconds(now_ms - short)}, and no observer was promoted.",
            "Check that an observer is alive and has caught up, and that the quorum has a majority.",
        )


@dataclass(frozen=True, slots=True)
class PromotionHistory:
    """The state of a partition between two evaluations; times are Unix milliseconds.

    `promoted_since_ms`: observers in the ISR, since when. `recovered_since_ms` None: the policy still
    needs an observer. `short_since_ms` None: no in-sync replica is missing.
    """

    promoted_since_ms: Mapping[int, int] = field(default_factory=dict)
    recovered_since_ms: int | None = None
    short_since_ms: int | None = None


def update_history(
    before: PromotionHistory | None,
    partition: PartitionModel,
    policy: PromotionPolicy,
    now_ms: int,
    relaxed_from: int | None = None,
) -> PromotionHistory:
    """Return the state after an evaluation at `now_ms`.

    `before` None: first evaluation, all times begin now. If the clock was set back they begin again, because
    a hold time that never ran must not count. A partition without a leader is not recovered.
    """
    before = before or PromotionHistory()
    need = required_isr_of(partition, policy, relaxed_from)
    since = before.promoted_since_ms
    return PromotionHistory(
        promoted_since_ms={
            one: min(since.get(one, now_ms), now_ms) for one in need.observers_in_isr
        },
        recovered_since_ms=_since(
            before.recovered_since_ms,
            now_ms,
            is_so=need.is_recovered and partition.leader is not None,
        ),
        short_since_ms=_since(before.short_since_ms, now_ms, is_so=need.short > 0),
    )


def _since(before: int | None, now_ms: int, *, is_so: bool) -> int | None:
    if not is_so:
        return None
    return now_ms if before is None or before > now_ms else before
