"""What a runbook is made of: trouble, cause, what is known, steps with commands and checks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from jobs.availability.runbooks.kafka_commands import KafkaTools


class Trouble(StrEnum):
    """How bad it is: the words of `Severity`, and RF < min ISR apart."""

    UNDER_REPLICATED = "under_replicated"
    AT_MIN_ISR = "at_min_isr"
    UNDER_MIN_ISR = "under_min_isr"
    OFFLINE = "offline"
    RF_BELOW_MIN_ISR = "rf_below_min_isr"


class TroubleCause(StrEnum):
    """Why; the value is stable, for programs."""

    BROKER_DEAD = "broker_dead"
    BROKER_FENCED = "broker_fenced"
    CONTROLLED_SHUTDOWN = "controlled_shutdown"
    LAGGING_FOLLOWER = "lagging_follower"
    LOG_DIR_OFFLINE = "log_dir_offline"
    REPLICA_THROTTLED = "replica_throttled"
    REASSIGNMENT_IN_PROGRESS = "reassignment_in_progress"
    UNCLEAN_ELECTION = "unclean_election"
    LAST_SITE_LOST = "last_site_lost"
    QUORUM_LOST = "quorum_lost"
    STANDBY_PROMOTED_TOO_LONG = "standby_promoted_too_long"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RunbookFacts:
    """What fills the commands in. Empty or None: not known, and a step that needs it says so instead.

    `broker` is the one that it is about; None: the first replica that is not in the ISR. `spares`: live
    brokers without a replica. `observers`: placement observers. `page`, `quorum_page` and `brokers_page`
    are addresses of crosslog's pages where the same is seen. `trouble` and `cause` are what was seen of the
    partition; None: it is healthy, or not known.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    leader: int | None = None
    elr: tuple[int, ...] = ()
    observers: tuple[int, ...] = ()
    spares: tuple[int, ...] = ()
    broker: int | None = None
    rack: str | None = None
    min_insync_replicas: int | None = None
    tools: KafkaTools = field(default_factory=KafkaTools)
    page: str = ""
    quorum_page: str = ""
    brokers_page: str = ""
    trouble: Trouble | None = None
    cause: TroubleCause | None = None

    @property
    def missing(self) -> tuple[int, ...]:
        """Sync replicas that are not in the ISR; observers are out of it on purpose."""
        return tuple(r for r in self.replicas if r not in self.isr and r not in self.observers)

    @property
    def subject(self) -> int | None:
        """The broker that it is about; None where nobody knows."""
        if self.broker is not None:
            return self.broker
        return next(iter(self.missing), None)


@dataclass(frozen=True, slots=True)
class Check:
    """How to see that a step worked: a command, what it must show, and where crosslog shows it."""

    command: str
    expect: str
    page: str = ""


@dataclass(frozen=True, slots=True)
class RunbookStep:
    """One step; `commands` are lines of a shell in their order, empty where a person does something else."""

    number: int
    sentence: str
    commands: tuple[str, ...]
    check: Check
    is_dangerous: bool = False

    @property
    def command(self) -> str | None:
        """The commands as one text, None without."""
        return "\n".join(self.commands) or None


@dataclass(frozen=True, slots=True)
class Runbook:
    """The steps for one partition's trouble. `summary`: what it means for producers and consumers.

    `applies`: the partition was seen in this state, with this cause. `actual` is the state that it is in
    instead, a sentence; empty where it is this one, or where no partition is named.
    """

    trouble: Trouble
    cause: TroubleCause
    title: str
    summary: str
    steps: tuple[RunbookStep, ...]
    prevent: str
    topic: str = ""
    partition: int | None = None
    applies: bool = False
    actual: str = ""

    def to_mapping(self) -> dict[str, Any]:
        """Return JSON values."""
        told = asdict(self)
        told |= {"trouble": self.trouble.value, "cause": self.cause.value}
        return told
