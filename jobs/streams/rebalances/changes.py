"""A change of an application between two moments, as a value and as JSON. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, NamedTuple

from jobs.streams.application import Role

FORM = 1
MOST_MOVES, MOST_INSTANCES, MOST_THREADS = 500, 100, 100


class Reason(StrEnum):
    """Why a group rebalanced, as far as two moments of it show."""

    FIRST_SEEN = "first seen"
    FIRST_MEMBERS = "first members"
    JOINED = "instance joined"
    LEFT = "instance left"
    RESTARTED = "instance restarted"
    REJOINED = "member rejoined"
    THREADS = "threads changed"
    TOOK_OVER = "standby or warm-up took over"
    PROBING = "probing rebalance"
    FOLLOW_UP = "follow-up rebalance"
    SHUTDOWN = "shutdown requested"
    VERSION = "version probing"
    TOPOLOGY = "topology changed"
    PARTITIONS = "partitions added"
    UNKNOWN = "not known"


class Instance(NamedTuple):
    """An instance after a change, with how many tasks it has in each role."""

    process_id: str
    place: str
    threads: int
    active: int
    standby: int
    warm_up: int


class Move(NamedTuple):
    """A task that one instance has no more in a role and another one has; None: no instance."""

    task: str
    role: Role
    source: str | None
    target: str | None


class ThreadJoins(NamedTuple):
    """How often a thread joined between two moments."""

    client_id: str
    process_id: str
    joins: int


class Flapping(NamedTuple):
    """A thread that joined more often than its group had generations, over the rebalances where it did."""

    client_id: str
    process_id: str
    joins: int
    generations: int
    rebalances: int


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two moments of an application; instances are named by process ids.

    Of many `instances`, `joined`, `left`, `restarted` and `moves` the first are kept; the counts are of all.
    `is_partial`: one of the moments is beyond the limits, so who joined, left and moved is not known (counts
    are None). `places` gives where each named instance is. `generations` is how many the group had at most,
    None where nothing tells; `joins` holds only threads that joined more often. `stopped_tasks` counts the
    active tasks that another thread runs now, or none. Who ran them since `since_ms` is not known: each was
    without an active thread for `unavailable_ms` at most (None: not watched, or no task changed its thread).
    `waiting_since_ms` is from when on some tasks may have had no thread. `is_gap`: the group was not watched,
    and there may have been several rebalances.
    """

    at_ms: int
    reasons: tuple[Reason, ...]
    generation: int | None
    instances: tuple[Instance, ...]
    instance_count: int
    places: Mapping[str, str]
    joined: tuple[str, ...] = ()
    joined_count: int | None = 0
    left: tuple[str, ...] = ()
    left_count: int | None = 0
    restarted: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()
    move_count: int | None = 0
    stopped_tasks: int | None = 0
    next_rebalance_ms: int | None = None
    generations: int | None = None
    joins: tuple[ThreadJoins, ...] = ()
    is_partial: bool = False
    is_gap: bool = False
    since_ms: int | None = None
    unavailable_ms: int | None = None
    waiting_since_ms: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON; moves name instances by their places in `places`."""
        number = {one: at for at, one in enumerate(self.places)}
        told: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        for name in ("reasons", "joined", "left", "restarted"):
            told[name] = list(told[name])
        told["instances"] = [list(one) for one in self.instances]
        told["joins"] = [list(one) for one in self.joins]
        told["places"] = list(self.places.items())
        told["moves"] = [
            [
                one.task,
                one.role,
                None if one.source is None else number[one.source],
                None if one.target is None else number[one.target],
            ]
            for one in self.moves
        ]
        return {"form": FORM, **told}

    @classmethod
    def from_json(cls, told: Mapping[str, Any] | None) -> Change | None:
        """Return the change of `to_json`; None for none, and for one of another form."""
        if told is None or told.get("form") != FORM:
            return None
        values = {name: one for name, one in told.items() if name != "form"}
        names = [one for one, _ in told["places"]]
        values |= {name: tuple(told[name]) for name in ("joined", "left", "restarted")}
        values |= {
            "reasons": tuple(Reason(one) for one in told["reasons"]),
            "instances": tuple(Instance(*one) for one in told["instances"]),
            "joins": tuple(ThreadJoins(*one) for one in told["joins"]),
            "places": dict(told["places"]),
            "moves": tuple(
                Move(
                    task,
                    Role(role),
                    None if source is None else names[source],
                    None if target is None else names[target],
                )
                for task, role, source, target in told["moves"]
            ),
        }
        return cls(**values)


def flapping(changes: Sequence[Change]) -> tuple[Flapping, ...]:
    """Return the threads that joined more often than their group had generations, the worst first.

    Gaps do not count: a thread counts its joins modulo 256.
    """
    found: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for change in changes:
        if not change.is_gap and change.generations is not None:
            for one in change.joins:
                found[one.client_id, one.process_id].append((one.joins, change.generations))
    counted = [
        Flapping(*who, sum(one for one, _ in own), sum(one for _, one in own), len(own))
        for who, own in found.items()
    ]
    return tuple(sorted(counted, key=lambda one: (one.generations - one.joins, one.client_id)))
