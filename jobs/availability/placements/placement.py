"""Placement constraints: how many replicas and observers of a topic belong into which rack.

The form is that of Confluent's `confluent.placement.constraints`, versions 1 and 2. Pure. `observer` always
means a replica that stays outside the ISR until it is promoted, never KRaft's observer of the metadata log.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobs.json_text import BadJson, each_once, parse_json

LARGEST_TEXT = 64 << 10
MOST_RACKS = 100
# The replication factor is an int16 in Kafka's CreateTopics request.
LARGEST_COUNT = (1 << 15) - 1
LONGEST_RACK = 255
VERSIONS = (1, 2)


class PromotionPolicy(StrEnum):
    """When an observer is promoted into the ISR.

    `UNDER_MIN_ISR`: the ISR is smaller than min.insync.replicas. `UNDER_REPLICATED`: it is smaller than the
    sum of `replicas`. `LEADER_IS_OBSERVER`: only after an unclean election made an observer the leader.
    """

    UNDER_MIN_ISR = "under-min-isr"
    UNDER_REPLICATED = "under-replicated"
    LEADER_IS_OBSERVER = "leader-is-observer"


@dataclass(frozen=True, slots=True)
class RackCount:
    """So many replicas (or observers) in a rack; `count` is at least 1."""

    rack: str
    count: int

    def as_json(self) -> dict[str, Any]:
        """Return the entry of `replicas` or `observers`."""
        return {"count": self.count, "constraints": {"rack": self.rack}}


@dataclass(frozen=True, slots=True)
class Placement:
    """A valid placement. `policy` is the effective one: of version 1 always `LEADER_IS_OBSERVER`."""

    version: int
    replicas: tuple[RackCount, ...]
    observers: tuple[RackCount, ...] = ()
    policy: PromotionPolicy = PromotionPolicy.LEADER_IS_OBSERVER

    @property
    def sync_count(self) -> int:
        """How many replicas are to be in the ISR: the sum of `replicas`."""
        return sum(one.count for one in self.replicas)

    @property
    def observer_count(self) -> int:
        """How many observers there are to be."""
        return sum(one.count for one in self.observers)

    @property
    def replication_factor(self) -> int:
        """Replicas and observers together."""
        return self.sync_count + self.observer_count

    @property
    def racks(self) -> tuple[str, ...]:
        """Every rack that is named, once, in the order of the text."""
        return tuple(dict.fromkeys(one.rack for one in (*self.replicas, *self.observers)))

    def wanted(self, rack: str | None) -> tuple[int, int]:
        """Return how many replicas and how many observers belong into a rack."""
        return (
            sum(one.count for one in self.replicas if one.rack == rack),
            sum(one.count for one in self.observers if one.rack == rack),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the document that `parse_placement` reads, with the policy only where it may stand."""
        told: dict[str, Any] = {
            "version": self.version,
            "replicas": [one.as_json() for one in self.replicas],
        }
        if self.observers:
            told["observers"] = [one.as_json() for one in self.observers]
        if self.version > 1:
            told["observerPromotionPolicy"] = self.policy.value
        return told


class InvalidPlacement(ValueError):
    """An invalid placement. `problems`: path like `replicas[1].constraints.rack` -> sentence, never empty.

    The path of the whole text is the empty one.
    """

    def __init__(self, problems: dict[str, str]) -> None:
        super().__init__(
            "; ".join(f"{path}: {what}" if path else what for path, what in problems.items())
        )
        self.problems = problems


def parse_placement(value: str | Mapping[str, Any]) -> Placement:
    """Return the placement of a JSON text or a document; raises `InvalidPlacement` with every problem.

    Without `version` it is version 2 where a policy is given, else 1 (as the tutorials' `t1`). Unknown keys,
    wrong types, a rack named twice in one list, counts below 1 and a policy in version 1 are refused.
    """
    document = _read(value) if isinstance(value, str) else value
    if not isinstance(document, Mapping):
        raise InvalidPlacement({"": f"An object is wanted, not {_kind(document)}."})
    reader = _Reader()
    placement = reader.placement(document)
    if reader.problems:
        raise InvalidPlacement(reader.problems)
    return placement


def _read(text: str) -> Any:
    if len(text) > LARGEST_TEXT:
        raise InvalidPlacement({"": f"The text is longer than {LARGEST_TEXT:,} characters."})
    try:
        return parse_json(text, each_once)
    except BadJson as error:
        raise InvalidPlacement({"": str(error)}) from None


def _kind(value: Any) -> str:
    names = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list"}
    return "nothing" if value is None else names.get(type(value), "an object")


class _Reader:
    """Reads a document; what is wrong is kept by its path, what is missing replaced by something harmless."""

    def __init__(self) -> None:
        self.problems: dict[str, str] = {}

    def placement(self, document: Mapping[str, Any]) -> Placement:
        self._known(document, "", ("version", "replicas", "observers", "observerPromotionPolicy"))
        version = self._version(document)
        replicas = tuple(self._racks(document, "replicas"))
        observers = tuple(self._racks(document, "observers"))
        if not (replicas or any(path.startswith("replicas") for path in self.problems)):
            self.problems["replicas"] = "At least one rack with replicas is wanted."
        return Placement(version, replicas, observers, self._policy(document, version))

    def _version(self, document: Mapping[str, Any]) -> int:
        version = document.get("version", 2 if "observerPromotionPolicy" in document else 1)
        if type(version) is not int or version not in VERSIONS:
            self.problems["version"] = f"Version 1 or 2 is wanted, not {_shown(version)}."
            return max(VERSIONS)
        return version

    def _policy(self, document: Mapping[str, Any], version: int) -> PromotionPolicy:
        path = "observerPromotionPolicy"
        if path not in document:
            return (
                PromotionPolicy.LEADER_IS_OBSERVER
                if version == 1
                else PromotionPolicy.UNDER_MIN_ISR
            )
        told = document[path]
        known = [one.value for one in PromotionPolicy]
        if told not in known:
            self.problems[path] = (
                f"There is no policy {_shown(told)}; there are {', '.join(known)}."
            )
        elif version == 1:
            self.problems[path] = "Version 1 knows no policy: take version 2, or leave it out."
        else:
            return PromotionPolicy(told)
        return PromotionPolicy.UNDER_MIN_ISR

    def _racks(self, document: Mapping[str, Any], name: str) -> Iterator[RackCount]:
        told = document.get(name, [])
        if not isinstance(told, list):
            self.problems[name] = f"A list is wanted, not {_kind(told)}."
            return
        if len(told) > MOST_RACKS:
            self.problems[name] = f"{len(told):,} racks are more than {MOST_RACKS}."
            return
        seen: dict[str, int] = {}
        for index, one in enumerate(told):
            found = self._rack(one, f"{name}[{index}]")
            if found is None:
                continue
            if found.rack in seen:
                self.problems[f"{name}[{index}].constraints.rack"] = (
                    f"Rack {found.rack} is also in {name}[{seen[found.rack]}]: list each rack once."
                )
            seen.setdefault(found.rack, index)
            yield found

    def _rack(self, told: Any, path: str) -> RackCount | None:
        if not isinstance(told, Mapping):
            self.problems[path] = f"An object is wanted, not {_kind(told)}."
            return None
        self._known(told, path, ("count", "constraints"))
        count = self._count(told, f"{path}.count")
        rack = self._rack_name(told, f"{path}.constraints")
        return None if count is None or rack is None else RackCount(rack, count)

    def _count(self, told: Mapping[str, Any], path: str) -> int | None:
        count = told.get("count")
        if type(count) is not int:
            self.problems[path] = f"A whole number is wanted, not {_shown(count)}."
        elif not 1 <= count <= LARGEST_COUNT:
            self.problems[path] = f"1 to {LARGEST_COUNT:,} is wanted, not {count}."
        else:
            return count
        return None

    def _rack_name(self, told: Mapping[str, Any], path: str) -> str | None:
        constraints = told.get("constraints")
        if not isinstance(constraints, Mapping):
            self.problems[path] = f"An object with a rack is wanted, not {_kind(constraints)}."
            return None
        self._known(constraints, path, ("rack",))
        rack = constraints.get("rack")
        if not isinstance(rack, str) or not rack.strip():
            self.problems[f"{path}.rack"] = f"The name of a rack is wanted, not {_shown(rack)}."
        elif len(rack) > LONGEST_RACK:
            self.problems[f"{path}.rack"] = f"The name is longer than {LONGEST_RACK} characters."
        else:
            return rack
        return None

    def _known(self, told: Mapping[str, Any], path: str, names: tuple[str, ...]) -> None:
        for key in told:
            if key not in names:
                where = f"{path}.{key}" if path else str(key)
                self.problems[where] = f"There is no such key; there are {', '.join(names)}."


def _shown(value: Any) -> str:
    """Return a value as a person wrote it, never much of it."""
    text = _kind(value) if isinstance(value, list | dict | None) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004  a line of an error


def check_placement(placement: Placement, racks: Mapping[int, str | None]) -> dict[str, str]:
    """Return what keeps a cluster from holding a placement: path -> sentence; empty when it can.

    `racks`: the rack of each broker, None for one without. Each rack must exist and have at least as many
    brokers as the placement wants replicas and observers there, else creating a topic fails.
    """
    here = Counter(rack for rack in racks.values() if rack is not None)
    problems: dict[str, str] = {}
    for name, entries in (("replicas", placement.replicas), ("observers", placement.observers)):
        for index, one in enumerate(entries):
            path = f"{name}[{index}]"
            if one.rack not in here:
                problems[f"{path}.constraints.rack"] = _no_rack(one.rack, here, len(racks))
            elif sum(placement.wanted(one.rack)) > here[one.rack]:
                problems[f"{path}.count"] = _too_many(placement, one.rack, here[one.rack])
    return problems


def _no_rack(rack: str, here: Counter[str], brokers: int) -> str:
    if not brokers:
        return f"No broker is known, so rack {rack} cannot be checked."
    if not here:
        return f"No broker has a rack: set broker.rack, then place topics in rack {rack}."
    return f"No broker is in rack {rack}. Racks: {', '.join(sorted(here))}."


def _too_many(placement: Placement, rack: str, brokers: int) -> str:
    replicas, observers = placement.wanted(rack)
    both = f"{replicas} replicas and {observers} observers" if observers else f"{replicas} replicas"
    if not replicas:
        both = f"{observers} observers"
    return f"{both} required in rack {rack}, which has {brokers} broker{'s' * (brokers != 1)}."


@dataclass(frozen=True, slots=True)
class Roles:
    """The replicas of a partition by role, each in the order of `replicas`.

    `unplaced` are replicas that the placement knows no room for: a rack it does not name, or one too many.
    Kafka counts them as sync replicas.
    """

    sync: tuple[int, ...]
    observers: tuple[int, ...] = ()
    unplaced: tuple[int, ...] = ()


def assign_roles(
    placement: Placement | None, replicas: Sequence[int], racks: Mapping[int, str | None]
) -> Roles:
    """Return the role of each replica; without a placement all are sync replicas.

    In a rack that is to hold both, the first replicas of the list are sync replicas, as brokers assign them.
    """
    if placement is None:
        return Roles(tuple(replicas))
    room = {rack: list(placement.wanted(rack)) for rack in placement.racks}
    found: tuple[list[int], list[int], list[int]] = ([], [], [])
    for one in replicas:
        left = room.get(racks.get(one) or "", [0, 0])
        role = next((role for role in (0, 1) if left[role]), 2)
        if role != 2:  # noqa: PLR2004  the third list is that of replicas without room
            left[role] -= 1
        found[role].append(one)
    return Roles(*map(tuple, found))


def observers_of(
    placement: Placement | None,
    replicas: Sequence[int],
    racks: Mapping[int, str | None],
    adding: Collection[int] = (),
    removing: Collection[int] = (),
) -> tuple[int, ...]:
    """Return the observers of a partition: of a reassignment those after it, and the ones that it removes."""
    after = assign_roles(placement, [b for b in replicas if b not in removing], racks).observers
    if not removing:
        return after
    before = assign_roles(placement, [b for b in replicas if b not in adding], racks).observers
    return tuple(b for b in replicas if b in after or (b in before and b in removing))
