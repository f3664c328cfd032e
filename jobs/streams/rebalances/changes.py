"""A change of an application between two moments, as a value and as JSON. Pure."""

from __future__ import annotations

import base64
import json
import zlib
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


class Place(NamedTuple):
    """An instance, and where it is."""

    process_id: str
    place: str


class Move(NamedTuple):
    """A task that one instance has no more in a role and another one has; None: no instance."""

    task: str
    role: Role
    source: Place | None
    target: Place | None


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


_KINDS = {
    "instances": Instance,
    "joined": Place,
    "left": Place,
    "restarted": Place,
    "joins": ThreadJoins,
}


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two moments of an application.

    Of many `instances` and moves the first are kept; `move_count` is of all (None: not known).
    `is_partial`: one of the moments is beyond the limits, so who joined, left and moved is not known (no
    ids, counts are None). `generations` is how many the group had at most, None where nothing tells;
    `joins` holds only threads that joined more often. `stopped_tasks` counts the active tasks that changed
    their thread. Who ran them since `since_ms` is not known: each was without an active thread for
    `unavailable_ms` at most (None: not watched, or no task changed its thread). `waiting_since_ms` is from
    when on some tasks may have had no thread. `is_gap`: the group was not watched, and there may have been
    several rebalances. `packed` has the moves, which lists do not read.
    """

    at_ms: int
    reasons: tuple[Reason, ...]
    generation: int | None
    instances: tuple[Instance, ...]
    joined: tuple[Place, ...] = ()
    left: tuple[Place, ...] = ()
    restarted: tuple[Place, ...] = ()
    packed: str = ""
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

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves, unpacked each time."""
        if not self.packed:
            return ()
        names, moves = json.loads(zlib.decompress(base64.b64decode(self.packed)))
        places = [None if one is None else Place(*one) for one in names]
        return tuple(Move(task, Role(role), places[a], places[b]) for task, role, a, b in moves)

    def to_json(self) -> dict[str, Any]:
        """Return what JSON keeps; tuples become lists there."""
        return {"form": FORM} | {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_json(cls, told: Mapping[str, Any] | None) -> Change | None:
        """Return the change of `to_json`; None for none, and for one of another form."""
        if told is None or told.get("form") != FORM:
            return None
        values = {name: one for name, one in told.items() if name != "form"}
        values["reasons"] = tuple(map(Reason, told["reasons"]))
        for name, kind in _KINDS.items():
            values[name] = tuple(kind(*one) for one in told[name])
        return cls(**values)


def pack_moves(moves: Sequence[Move]) -> str:
    """Return moves as `Change.packed` has them; empty for none."""
    if not moves:
        return ""
    number = {one: at for at, one in enumerate(dict.fromkeys(end for m in moves for end in m[2:]))}
    told = [list(number), [(*one[:2], number[one.source], number[one.target]) for one in moves]]
    return base64.b64encode(zlib.compress(json.dumps(told).encode())).decode()


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
