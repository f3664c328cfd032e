"""What the change advisor answers: steps with commands and the state around each, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobs.quorum.timeline.parts import voter_mapping
from jobs.quorum.voters.majority import QuorumOutlook
from jobs.quorum.voters.voter_sets import ReplicaKey, VoterNode, VoterSet


class RefusalCode(StrEnum):
    """Why there is no plan; the value is stable, for programs."""

    NOTHING_WANTED = "nothing_wanted"
    STATIC_QUORUM = "static_quorum"
    NO_LEADER = "no_leader"
    NO_MAJORITY = "no_majority"
    LOSES_MAJORITY = "loses_majority"
    PENDING_CHANGE = "pending_change"
    ALREADY_VOTER = "already_voter"
    NOT_A_VOTER = "not_a_voter"
    SAME_DISK = "same_disk"
    NO_DIRECTORY_ID = "no_directory_id"
    LAST_VOTER = "last_voter"
    NOT_OBSERVED = "not_observed"
    NOT_CAUGHT_UP = "not_caught_up"
    WRONG_VERSION = "wrong_version"
    TOO_MANY_CHANGES = "too_many_changes"
    CONTRADICTION = "contradiction"


class Refused(Exception):
    """A requested change that is not safe; carries the refusal."""

    def __init__(self, code: RefusalCode, sentence: str, todo: str) -> None:
        super().__init__(sentence)
        self.refusal = Refusal(code, sentence, todo)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no plan, and what to do instead."""

    code: RefusalCode
    sentence: str
    todo: str

    def to_mapping(self) -> dict[str, Any]:
        return {"code": self.code.value, "sentence": self.sentence, "todo": self.todo}


@dataclass(frozen=True, slots=True)
class DiskReplacement:
    """A voter whose disk is to be another one; `new_directory_id` None: it is not formatted yet."""

    id: int
    new_directory_id: str | None = None


@dataclass(frozen=True, slots=True)
class WantedChange:
    """A requested change: nodes to add, ids to remove, disks to replace."""

    add: tuple[VoterNode, ...] = ()
    remove: tuple[int, ...] = ()
    replace: tuple[DiskReplacement, ...] = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """Every id that it names."""
        return (*(node.id for node in self.add), *self.remove, *(one.id for one in self.replace))


@dataclass(frozen=True, slots=True)
class QuorumStatus:
    """The quorum before or after a step; `deadly_sites`: each takes the majority with it when it is lost."""

    voters: VoterSet
    outlook: QuorumOutlook
    deadly_sites: tuple[str, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        return {
            "voters": [voter_mapping(voter) for voter in self.voters],
            "alive": list(self.outlook.alive_ids),
            "majority": self.outlook.majority,
            "hasMajority": self.outlook.has_majority,
            "failuresTolerated": self.outlook.failures_tolerated,
            "deadlySites": list(self.deadly_sites),
        }


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One voter added or removed.

    `prepare` is to be true before it, as sentences and commands in their order; `command` makes the step;
    `check` is the command whose answer must show `expect` before the next step.
    """

    number: int
    is_add: bool
    key: ReplicaKey
    sentence: str
    prepare: tuple[str, ...]
    command: str
    check: str
    expect: str
    before: QuorumStatus
    after: QuorumStatus
    warnings: tuple[str, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "action": "add" if self.is_add else "remove",
            "id": self.key.id,
            "directoryId": self.key.directory_id,
            "sentence": self.sentence,
            "prepare": list(self.prepare),
            "command": self.command,
            "check": self.check,
            "expect": self.expect,
            "before": self.before.to_mapping(),
            "after": self.after.to_mapping(),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The steps to a wanted change in a safe order, or a `refusal`.

    `cautions` are to be read before any step, `warnings` are about the result.
    """

    before: QuorumStatus
    after: QuorumStatus
    steps: tuple[PlanStep, ...] = ()
    refusal: Refusal | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        return {
            "possible": self.refusal is None,
            "refusal": self.refusal.to_mapping() if self.refusal else None,
            "before": self.before.to_mapping(),
            "after": self.after.to_mapping(),
            "steps": [step.to_mapping() for step in self.steps],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "cautions": list(self.cautions),
        }
