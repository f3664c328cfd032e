"""What decides which actors a cluster can use, and the answer: usable or why not, price, times, commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.expected_times import Span


@dataclass(frozen=True, slots=True)
class ActorFacts:
    """The facts that decide which methods a cluster can use; None: unknown.

    `standbys` are the brokers that are set up as fenced standbys; `spares` live brokers that may take a copy;
    `held_back` maps a partition to the replicas that a throttle keeps out of its ISR; `partition_bytes` is
    the size of the partition's log at its leader, `bytes_per_s` how fast copies are made there.
    """

    racks: Mapping[int, str | None] = field(default_factory=dict)
    standbys: frozenset[int] = frozenset()
    spares: tuple[int, ...] = ()
    held_back: Mapping[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    partition_bytes: int | None = None
    bytes_per_s: float | None = None
    has_quorum: bool | None = None
    has_elr: bool | None = None
    promotes_itself: bool = False
    is_read_only: bool = False
    can_reach_controllers: bool | None = None
    can_cluster_action: bool | None = None
    can_alter_configs: bool | None = None
    can_alter_cluster: bool | None = None


@dataclass(frozen=True, slots=True)
class Usability:
    """Whether an actor can be used, at field level, and what it means.

    `problems` maps a field of `ActorFacts` (or `partition`) to a sentence; `unknown` likewise for what
    must be asked first: with it alone the actor counts as usable, and acting finds out. `act`: expected
    time from the call to the ISR, `outage`: the producer outage of a kill -9 with it, detection included,
    `revert`; None without a figure. `is_revertible` False: Kafka has no way back but copying. `brokers`
    are those it would use. Commands are for a person; a line may be a comment.
    """

    kind: ActorKind
    title: str
    summary: str
    is_usable: bool
    problems: Mapping[str, str]
    unknown: Mapping[str, str]
    cost: str
    act: Span | None
    outage: Span | None
    revert: Span | None
    is_revertible: bool
    act_commands: tuple[str, ...]
    revert_commands: tuple[str, ...]
    how_to_revert: str
    traps: tuple[str, ...]
    brokers: tuple[int, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        return asdict(self) | {"kind": self.kind.value}
