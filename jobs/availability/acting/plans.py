"""What an actor would send, has sent, and what came of it: the words that all four actors share."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from jobs.availability.promotion.actors.kinds import ActorKind


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One request that a plan would send.

    `request` is Kafka's name of it, `to` whom it goes ("the active controller", "any broker"), `fields`
    what is in it. `command` is the same for a shell, a comment where Kafka has no tool for it; None: nothing.
    """

    request: str
    to: str
    sentence: str
    fields: dict[str, Any] = field(default_factory=dict)
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A dry run: what would be sent, to whom, and what it is expected to do.

    `refusals` are reasons for which `act` refuses; empty: it may be done. `warnings` are costs and dangers.
    `evidence` are the facts that the plan was made from; `act` looks at them again before it sends anything.
    `expected_ms` is a measured time, None where it depends on more than is known.
    `revert` is for a shell, too.
    """

    actor: ActorKind
    cluster: str
    subject: str
    requests: tuple[PlannedRequest, ...]
    expected: str
    expected_ms: int | None = None
    warnings: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    revert: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)

    @property
    def is_allowed(self) -> bool:
        """Whether nothing speaks against doing it."""
        return not self.refusals

    def to_mapping(self) -> dict[str, Any]:
        return asdict(self) | {"is_allowed": self.is_allowed}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was sent and what was seen afterwards.

    `is_done`: the expected effect was seen. `sent` are sentences in their order, `took_ms` runs from the
    first request to the effect (None: it was not seen). `undo` holds what `revert` needs, as JSON values to
    be stored.
    """

    actor: ActorKind
    subject: str
    is_done: bool
    sentence: str
    sent: tuple[str, ...] = ()
    took_ms: int | None = None
    undo: dict[str, Any] = field(default_factory=dict)

    def to_mapping(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the effect of an action is there now, with the facts that say so."""

    is_there: bool
    sentence: str
    evidence: dict[str, Any] = field(default_factory=dict)


class Actor(Protocol):
    """One way to act; the four are in this folder.

    All methods raise `ClusterFault` where the cluster says no or does not answer, and `ReadOnly` while the
    read-only switch is on (`plan` and `verify` are reads). None may be called inside a running event loop.
    """

    def plan(self) -> Plan:
        """Return what `act` would do; sends nothing that changes anything."""

    def act(self) -> Outcome:
        """Check the conditions again, act, and wait for the effect."""

    def verify(self) -> Verdict:
        """Return whether the effect is there; a negative result is checked again (see `settled`)."""

    def revert(self, undo: dict[str, Any]) -> Outcome:
        """Revert the action; `undo` is that of the outcome of `act`."""
