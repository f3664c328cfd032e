"""A plan to move consumer groups from one cluster of a flow to the other, as plain values.

`origin` is the cluster that the groups leave, `destination` the one where they resume.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_sync_store import KeptSync


class Direction(StrEnum):
    """From a flow's source to its target, or back."""

    FAILOVER = "failover"
    FAILBACK = "failback"


class Untranslated(StrEnum):
    """What to do with partitions without a translated offset.

    `refuse` blocks their group; `earliest` starts them at the beginning of the log, which skips nothing
    that is there and repeats much; `leave` sets no offset, so the consumer's `auto.offset.reset` decides.
    """

    REFUSE = "refuse"
    EARLIEST = "earliest"
    LEAVE = "leave"


class CheckState(StrEnum):
    """How a pre-check ended, best first; `unknown` where something may not be read.

    The words of releases up to 0.5 (ok, warn, block), which signed reports keep, are read as well.
    """

    PASSED = "passed"
    UNKNOWN = "unknown"
    WARNING = "warning"
    FAILED = "failed"

    @classmethod
    def _missing_(cls, value: object) -> CheckState | None:
        return STATES_BEFORE.get(str(value))


_LADDER = list(CheckState)
STATES_BEFORE = {"ok": CheckState.PASSED, "warn": CheckState.WARNING, "block": CheckState.FAILED}


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: 1 partition, 2 partitions."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def worst_of(states: Iterable[CheckState]) -> CheckState:
    """Return the worst of some states; PASSED without any."""
    return max(states, key=_LADDER.index, default=CheckState.PASSED)


@dataclass(frozen=True, slots=True)
class Check:
    """One pre-check: what was looked at, how it ended, what says so, and what to do."""

    key: str
    state: CheckState
    what: str
    evidence: str = ""
    next: str = ""

    def to_mapping(self) -> dict[str, str]:
        return {
            "key": self.key,
            "state": self.state.value,
            "what": self.what,
            "evidence": self.evidence,
            "next": self.next,
        }

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Check:
        return cls(**{**values, "state": CheckState(values["state"])})


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One partition of a group: its offset on the origin, and where it resumes.

    `lo` and `hi` bound the offset of the first record that the group has not read (`hi` None: nothing
    bounds it). `target` is what is set, None where nothing is; it skips nothing as far as the bounds hold.
    `before` is what the group has there now, None for no commit. `reread_most` is how many offsets are read
    again at most, None when unknown. `at_risk` are records of the origin that the destination does not
    have, `not_copied` those of them that the group has read: they come later, and are read again.
    `only_here` are offsets of the origin's partition (from, end) that no flow brought from the destination,
    so that they exist only here. `how` is `forward`, `back`, or empty without any flow. `internal`: Kafka
    Streams made the topic for this group, and makes its own on the destination.
    """

    origin: TopicPartition
    committed: int
    destination: TopicPartition | None = None
    how: str = ""
    lo: int | None = None
    hi: int | None = None
    reason: str = ""
    evidence: tuple[KeptSync, ...] = ()
    mm2: int | None = None
    target: int | None = None
    before: int | None = None
    log_start: int | None = None
    log_end: int | None = None
    reread_most: int | None = None
    at_risk: int | None = None
    not_copied: int | None = None
    only_here: tuple[int, int] | None = None
    metadata: str = ""
    problem: str = ""
    internal: bool = False

    @property
    def exact(self) -> bool:
        """Whether there is only one possible answer, and it is what is set."""
        return self.lo is not None and self.lo == self.hi == self.target

    def to_mapping(self) -> dict[str, Any]:
        there = self.destination
        return {
            "topic": self.origin.topic,
            "partition": self.origin.partition,
            "committed": self.committed,
            "to_topic": there.topic if there else None,
            "how": self.how,
            "lo": self.lo,
            "hi": self.hi,
            "exact": self.exact,
            "reason": self.reason,
            "evidence": [list(sync) for sync in self.evidence],
            "mm2": self.mm2,
            "target": self.target,
            "before": self.before,
            "log_start": self.log_start,
            "log_end": self.log_end,
            "reread_most": self.reread_most,
            "at_risk": self.at_risk,
            "not_copied": self.not_copied,
            "only_here": list(self.only_here) if self.only_here else None,
            "metadata": self.metadata,
            "problem": self.problem,
            "internal": self.internal,
        }

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> PlanItem:
        topic, partition, there = values["topic"], values["partition"], values["to_topic"]
        only_here = values["only_here"]
        plain = {k: v for k, v in values.items() if k in _PLAIN}
        return cls(
            origin=TopicPartition(topic, partition),
            destination=TopicPartition(there, partition) if there is not None else None,
            evidence=tuple(KeptSync(*pair) for pair in values["evidence"]),
            only_here=(only_here[0], only_here[1]) if only_here else None,
            **plain,
        )


_PLAIN = frozenset(PlanItem.__dataclass_fields__) - {
    "origin", "destination", "evidence", "only_here",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """What happens to one group; `checks` are its own, those of its topics stand in the plan."""

    group: str
    type: str = ""
    checks: tuple[Check, ...] = ()
    items: tuple[PlanItem, ...] = ()
    verdict: CheckState = CheckState.PASSED

    @property
    def to_be_set(self) -> tuple[PlanItem, ...]:
        """The partitions that get an offset."""
        return tuple(one for one in self.items if one.target is not None and one.destination)

    @property
    def reread_most(self) -> int | None:
        """How many offsets are read again at most, None when unknown."""
        found = [one.reread_most for one in self.to_be_set]
        return None if None in found else sum(one for one in found if one is not None)

    def to_mapping(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "type": self.type,
            "verdict": self.verdict.value,
            "reread_most": self.reread_most,
            "checks": [check.to_mapping() for check in self.checks],
            "items": [item.to_mapping() for item in self.items],
        }

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> GroupPlan:
        return cls(
            values["group"],
            values["type"],
            tuple(map(Check.from_mapping, values["checks"])),
            tuple(map(PlanItem.from_mapping, values["items"])),
            CheckState(values["verdict"]),
        )


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """What was looked at of a topic and its counterpart on the destination; ids tell re-created topics."""

    topic: str
    to_topic: str
    topic_id: str = ""
    to_topic_id: str = ""
    checks: tuple[Check, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        return {
            "topic": self.topic,
            "to_topic": self.to_topic,
            "topic_id": self.topic_id,
            "to_topic_id": self.to_topic_id,
            "checks": [check.to_mapping() for check in self.checks],
        }

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> TopicPlan:
        return cls(**{**values, "checks": tuple(map(Check.from_mapping, values["checks"]))})


@dataclass(frozen=True, slots=True)
class FailoverRequest:
    """What a person asked for: patterns or names of groups and topics (as the origin calls them)."""

    direction: Direction = Direction.FAILOVER
    groups: tuple[str, ...] = (".*",)
    topics: tuple[str, ...] = (".*",)
    untranslated: Untranslated = Untranslated.REFUSE

    def to_mapping(self) -> dict[str, Any]:
        return {
            "direction": self.direction.value,
            "asked_groups": list(self.groups),
            "asked_topics": list(self.topics),
            "untranslated": self.untranslated.value,
        }

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> FailoverRequest:
        return cls(
            Direction(values["direction"]),
            tuple(values["asked_groups"]),
            tuple(values["asked_topics"]),
            Untranslated(values["untranslated"]),
        )


@dataclass(frozen=True, slots=True)
class FailoverPlan:
    """The whole plan; `read_at_ms` is when its evidence was read, which is how old the plan is."""

    flow: str
    request: FailoverRequest
    origin: str
    destination: str
    read_at_ms: int
    origin_cluster_id: str = ""
    destination_cluster_id: str = ""
    checks: tuple[Check, ...] = ()
    topics: tuple[TopicPlan, ...] = ()
    groups: tuple[GroupPlan, ...] = field(default=())

    @property
    def verdict(self) -> CheckState:
        """The worst of the plan's own checks; groups have verdicts of their own."""
        return worst_of(check.state for check in self.checks)

    def group(self, name: str) -> GroupPlan | None:
        """Return one group; None when it is not in the plan."""
        return next((one for one in self.groups if one.group == name), None)

    def to_mapping(self, *, with_groups: bool = True) -> dict[str, Any]:
        found: dict[str, Any] = {
            "flow": self.flow,
            **self.request.to_mapping(),
            "origin": self.origin,
            "destination": self.destination,
            "origin_cluster_id": self.origin_cluster_id,
            "destination_cluster_id": self.destination_cluster_id,
            "read_at_ms": self.read_at_ms,
            "verdict": self.verdict.value,
            "checks": [check.to_mapping() for check in self.checks],
            "topics": [topic.to_mapping() for topic in self.topics],
        }
        if with_groups:
            found["groups"] = [group.to_mapping() for group in self.groups]
        return found

    @classmethod
    def from_mapping(
        cls, values: Mapping[str, Any], groups: Iterable[Mapping[str, Any]] | None = None
    ) -> FailoverPlan:
        """Return the inverse of `to_mapping`; `groups` in place of those that the mapping has."""
        listed = values.get("groups", ()) if groups is None else groups
        return cls(
            values["flow"],
            FailoverRequest.from_mapping(values),
            values["origin"],
            values["destination"],
            values["read_at_ms"],
            values["origin_cluster_id"],
            values["destination_cluster_id"],
            tuple(map(Check.from_mapping, values["checks"])),
            tuple(map(TopicPlan.from_mapping, values["topics"])),
            tuple(map(GroupPlan.from_mapping, listed)),
        )
