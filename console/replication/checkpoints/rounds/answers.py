"""The answers of a round: for groups, topics and the flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from console.replication.checkpoints.rounds.facts import Member
from jobs.replication.checkpoints.lag import gravest
from jobs.replication.checkpoints.obstacles import Readiness
from jobs.replication.checkpoints.readiness import Part, Verdict


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """The answer for a group: over everything, per topic, and its partitions.

    `behind` are the records between it and its checkpoints where both are known; `checkpoint_at_ms` is when
    the oldest checkpoint was written that it has left behind, else the oldest at all; `reason` the word that
    a person should hear of first. `is_same`: nothing that decides it has changed since it was last written,
    and `parts` may be empty. `key` stands for all that decides it.
    """

    group: str
    member: Member | None
    verdict: Verdict
    topics: Mapping[str, Verdict]
    parts: Sequence[Part]
    behind: int | None = None
    checkpoint_at_ms: int | None = None
    reason: str = ""
    key: tuple[int, int] = (0, 0)
    is_same: bool = False

    @property
    def is_covered(self) -> bool:
        """Whether the group counts."""
        return self.verdict.readiness is not Readiness.NOT_COVERED


@dataclass(slots=True)
class Answers:
    """All answers of a round."""

    flow: Verdict
    groups: list[GroupAnswer] = field(default_factory=list)
    topics: dict[str, tuple[Verdict, int]] = field(default_factory=dict)


def behind_of(parts: Sequence[Part]) -> int | None:
    """Return the records between a group and its checkpoints, where both are known."""
    known = [part.lag.behind for part in parts if part.lag.behind is not None]
    return sum(known) if known else None


def checkpoint_at_of(parts: Sequence[Part]) -> int | None:
    """Return when the oldest checkpoint was written that was left behind, else the oldest at all."""
    kept = [(part.lag.behind or 0, part.facts.checkpoint) for part in parts]
    written = [(behind, one.at_ms) for behind, one in kept if one and one.at_ms is not None]
    left = [at_ms for behind, at_ms in written if behind]
    return min(left or [at_ms for _, at_ms in written], default=None)


def reason_of(parts: Sequence[Part]) -> str:
    """Return the word that a person should hear of first."""
    return gravest(part.lag.reason for part in parts) or ""
