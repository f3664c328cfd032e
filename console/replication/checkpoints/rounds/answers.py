"""The answers of a round: for groups, topics and the flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from console.replication.checkpoints.rounds.facts import Member
from jobs.numbers import Total, sum_of
from jobs.replication.checkpoints.obstacles import Readiness
from jobs.replication.checkpoints.readiness import Part, Verdict
from jobs.replication.checkpoints.reasons import gravest

NOTHING: Total[int] = Total(None, 0)


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """The answer for a group: over everything, per topic, and its partitions.

    `behind` are the records between it and its checkpoints, and of how many partitions they are not known;
    `checkpoint_at_ms` is when the oldest checkpoint was written that it has left behind, else the oldest at
    all; `reason` the word that a person should hear of first. `is_same`: nothing that decides it has changed
    since it was last written, and `parts` may be empty. `key` is of all that decides it.
    """

    group: str
    member: Member | None
    verdict: Verdict
    topics: Mapping[str, Verdict]
    parts: Sequence[Part]
    behind: Total[int] = NOTHING
    checkpoint_at_ms: int | None = None
    reason: str = ""
    key: tuple[int, int] = (0, 0)
    is_same: bool = False

    @property
    def is_covered(self) -> bool:
        return self.verdict.readiness is not Readiness.NOT_COVERED


@dataclass(slots=True)
class Answers:
    """All answers of a round."""

    flow: Verdict
    groups: list[GroupAnswer] = field(default_factory=list)
    topics: dict[str, tuple[Verdict, int]] = field(default_factory=dict)

    @property
    def behind(self) -> Total[int]:
        """The records between all groups that count and their checkpoints."""
        counted = [one.behind for one in self.groups if one.is_covered]
        value = sum_of(one.value for one in counted if one.value is not None).value
        return Total(value, sum(one.unknown for one in counted))


def behind_of(parts: Sequence[Part]) -> Total[int]:
    """Return the records between a group and its checkpoints; unknown are partitions that count."""
    behind = ((part.lag.behind, part.is_covered) for part in parts)
    return sum_of(records for records, is_covered in behind if is_covered or records is not None)


def checkpoint_at_of(parts: Sequence[Part]) -> int | None:
    """Return when the oldest checkpoint was written that was left behind, else the oldest at all."""
    kept = [(part.lag.behind or 0, part.facts.checkpoint) for part in parts]
    written = [(behind, one.at_ms) for behind, one in kept if one and one.at_ms is not None]
    left = [at_ms for behind, at_ms in written if behind]
    return min(left or [at_ms for _, at_ms in written], default=None)


def reason_of(parts: Sequence[Part]) -> str:
    """Return the word that a person should hear of first."""
    return gravest(part.lag.reason for part in parts) or ""
