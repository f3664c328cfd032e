"""Input and output of the promotion advisor: policies, facts, evidence, advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.promotion.actors.kinds import ActorKind


class Mode(StrEnum):
    """Whether crosslog only advises (the default) or acts."""

    ADVISE = "advise"
    ACT = "act"


class AdviceAction(StrEnum):
    """What is advised; the value is stable, for programs."""

    NONE = "none"
    PROMOTE = "promote"
    DEMOTE = "demote"
    BLOCKED = "blocked"


class AdviceCode(StrEnum):
    """Why it is advised; the value is stable, for programs."""

    IN_SYNC = "in_sync"
    UNDER_MIN_ISR = "under_min_isr"
    UNDER_REPLICATED = "under_replicated"
    LEADER_IS_OBSERVER = "leader_is_observer"
    STILL_NEEDED = "still_needed"
    WAITS_FOR_HOLD = "waits_for_hold"
    RECOVERED = "recovered"
    PROMOTES_ITSELF = "promotes_itself"
    NO_OBSERVERS = "no_observers"
    NO_OBSERVER_ALIVE = "no_observer_alive"
    NO_STANDBY = "no_standby"
    OBSERVER_NOT_CAUGHT_UP = "observer_not_caught_up"
    LAG_UNKNOWN = "lag_unknown"
    WRONG_POLICY = "wrong_policy"
    WAITS_FOR_ELECTION = "waits_for_election"
    NO_LIVE_LEADER = "no_live_leader"
    NO_QUORUM = "no_quorum"


@dataclass(frozen=True, slots=True)
class TopicPolicy:
    """How one topic's observers are promoted and demoted.

    `hold_ms`: for so long the sync replicas must be back before an observer is demoted.
    `longest_promoted_ms`: an observer in the ISR for longer is warned of. An observer is caught up when it
    is at most `most_lag_records` behind or was level within `most_caught_up_age_ms`. Neither endangers
    records, only time: Kafka takes a replica into the ISR when it has reached the high watermark, never
    before.
    """

    policy: PromotionPolicy = PromotionPolicy.UNDER_MIN_ISR
    mode: Mode = Mode.ADVISE
    actor: ActorKind = ActorKind.FENCED_STANDBY
    hold_ms: int = 60_000
    longest_promoted_ms: int = 3_600_000
    most_lag_records: int = 1_000
    most_caught_up_age_ms: int = 1_000


@dataclass(frozen=True, slots=True)
class ReplicaStanding:
    """The lag of one replica; None: unknown. `lag_records` counts from the leader's log end offset."""

    lag_records: int | None = None
    lag_bytes: int | None = None
    caught_up_ago_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of an advice, checked again before acting; None: unknown.

    `at_ms` is when the facts were read (Unix time), `log_end_offset` the leader's.
    """

    at_ms: int
    leader: int | None = None
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    high_watermark: int | None = None
    log_end_offset: int | None = None
    isr: tuple[int, ...] = ()
    observer_lag_records: int | None = None


@dataclass(frozen=True, slots=True)
class PromotionFacts:
    """What is known beside the partition itself.

    `alive`: brokers that run and replicate, fenced standbys among them. `standings` by broker. `spares`: live
    brokers without a replica, for the actor that reassigns; one that it added is named as an observer of the
    partition from then on. `relaxed_from`: min.insync.replicas before it was lowered, None: it was not.
    `promoted_since_ms` and `recovered_since_ms` come from `promotion_history.update_history`. `bytes_per_s`:
    how fast a replica is copied; `partition_bytes` what a new copy holds.
    """

    at_ms: int
    racks: Mapping[int, str | None] = field(default_factory=dict)
    alive: frozenset[int] = frozenset()
    standbys: frozenset[int] = frozenset()
    standings: Mapping[int, ReplicaStanding] = field(default_factory=dict)
    spares: tuple[int, ...] = ()
    has_quorum: bool | None = True
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    high_watermark: int | None = None
    log_end_offset: int | None = None
    promoted_since_ms: Mapping[int, int] = field(default_factory=dict)
    recovered_since_ms: int | None = None
    bytes_per_s: float | None = None
    partition_bytes: int | None = None
    relaxed_from: int | None = None
    promotes_itself: bool = False


@dataclass(frozen=True, slots=True)
class DataAtRisk:
    """Acked records that may be lost by following the advice; `records` None: it cannot be known."""

    records: int | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """An observer (or spare) that could be promoted, the best first; `why_not` empty: it can be."""

    broker_id: int
    rack: str | None
    standing: ReplicaStanding
    why: str
    why_not: str = ""


NOTHING_AT_RISK = DataAtRisk(0, "No acknowledged record is at risk.")


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do with one partition's observers.

    `observer` is whom it is about (None with the actor that relaxes min.insync.replicas, or when nothing is
    to be done), `in_isr` the observers in the ISR now. `expected_ms` is the time from acting to the ISR, None
    without a figure. `still_missing`: so many in-sync replicas are missing even after it.
    `is_automatic_allowed` is False for what only a person may do (an unclean election).
    """

    topic: str
    partition: int
    action: AdviceAction
    code: AdviceCode
    why: str
    evidence: Evidence
    actor: ActorKind | None = None
    observer: int | None = None
    in_isr: tuple[int, ...] = ()
    todo: str = ""
    expected_ms: float | None = None
    data_at_risk: DataAtRisk = NOTHING_AT_RISK
    how_to_demote: str = ""
    still_missing: int = 0
    candidates: tuple[Candidate, ...] = ()
    warnings: tuple[str, ...] = ()
    is_automatic_allowed: bool = True

    @property
    def place(self) -> str:
        """The partition in Kafka's words: `orders-3`."""
        return f"{self.topic}-{self.partition}"

    def to_mapping(self) -> dict[str, Any]:
        told = asdict(self)
        for name in ("action", "code", "actor"):
            told[name] = None if told[name] is None else str(told[name])
        return told
