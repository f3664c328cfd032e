"""Reading fields of a JSON document, where each value that is not what it should be becomes a problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from jobs.near_names import near_name, plain_name

LARGEST_ID = (1 << 31) - 1
LARGEST_OFFSET = (1 << 63) - 1
MOST_REPLICAS = 100
MOST_PROBLEMS = 100
MOST_KEYS = 2_000
# Keys of documents that are read, plain, which are near to others that decide.
NEAR_BY_CHANCE = frozenset({"topicid", "controller", "controllerid", "uid"})


class Problems:
    """What is wrong, path -> sentence; the first `MOST_PROBLEMS` are kept."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self.keys: set[str] = set()

    def add(self, path: str, sentence: str) -> None:
        """Keep a problem; the first one of a path counts."""
        if len(self.found) < MOST_PROBLEMS:
            self.found.setdefault(path, sentence)

    def node_id(self, value: Any, path: str) -> int | None:
        """Return a node id, written as a number or as a key; None with a problem."""
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 10:  # noqa: PLR2004
            value = int(value)
        return self.number(value, path, "The id of a node", LARGEST_ID)

    def number(self, value: Any, path: str, what: str, largest: int, least: int = 0) -> int | None:
        """Return a whole number within bounds; None with a problem."""
        if type(value) is int and least <= value <= largest:
            return value
        self.add(path, f"{what} is wanted, from {least} to {largest}.")
        return None


class Fields:
    """The fields of one object; names are looked up in lower case without separators."""

    def __init__(self, told: Mapping[str, Any], path: str, problems: Problems) -> None:
        self._told: dict[str, tuple[str, Any]] = {}
        self._path = path
        self._problems = problems
        for key, value in told.items():
            known = self._told.setdefault(plain_name(str(key)), (key, value))
            if known[1] is not value and known[1] != value:
                problems.add(self.at(key), f"{key} and {known[0]} are one key, with two values.")

    def path(self, name: str) -> str:
        """Return the path of a field: `topics[0].isr`, with the key as written."""
        return self.at(self._told.get(name, (name, None))[0])

    def at(self, key: str) -> str:
        """Return the path of a key."""
        return f"{self._path}.{key}" if self._path else str(key)

    def refuse_near(self, known: frozenset[str]) -> Fields:
        """Refuse keys that were probably meant for one of `known`; returns itself.

        A document with more names of keys than any format has is not compared: that would take long.
        """
        self._problems.keys.update(self._told)
        if len(self._problems.keys) > MOST_KEYS:
            return self
        for plain, meant in _misses(tuple(self._told), known):
            key = self._told[plain][0]
            self._problems.add(self.at(key), f"{key} is no key here; {meant} is wanted.")
        return self

    def agree(self, *names: str) -> Fields:
        """Refuse names of one thing that have two values; returns itself."""
        told = [self._told[name] for name in names if name in self._told]
        told = [(key, value) for key, value in told if value is not None]
        for key, value in told[1:]:
            if _comparable(value) != _comparable(told[0][1]):
                first = told[0][0]
                self._problems.add(
                    self.at(key), f"{key} and {first} say the same, with two values."
                )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all fields, plain."""
        return tuple(self._told)

    def has(self, *names: str) -> bool:
        """Return whether one of the fields is there, null or not."""
        return any(name in self._told for name in names)

    def get(self, *names: str) -> Any:
        """Return the value of the first name that is there and not null, else None."""
        name = self._first(names)
        return self._told[name][1] if name else None

    def _first(self, names: tuple[str, ...]) -> str | None:
        for name in names:
            if name in self._told and self._told[name][1] is not None:
                return name
        return None

    def entries(self) -> Iterator[tuple[str, str, Any]]:
        """Yield key, path and value of every field."""
        for key, value in self._told.values():
            yield key, self.at(key), value

    def inner(self, *names: str) -> Fields | None:
        """Return the fields of an object inside; None when it is not there."""
        name = self._first(names)
        return fields_of(self.get(*names), self.path(name), self._problems) if name else None

    def list_of(self, *names: str) -> list[Any] | None:
        """Return a list; None when it is not there, or with a problem when it is something else."""
        name = self._first(names)
        if name is None:
            return None
        value = self._told[name][1]
        if not isinstance(value, list):
            self._problems.add(self.path(name), "A list is wanted.")
            return None
        return value

    def flag(self, *names: str) -> bool | None:
        """Return true or false; also of the texts `true` and `false`, as configs are written."""
        name = self._first(names)
        if name is None:
            return None
        value = self._told[name][1]
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            return value.lower() == "true"
        if not isinstance(value, bool):
            self._problems.add(self.path(name), "true or false is wanted.")
            return None
        return value

    def text(self, *names: str) -> str | None:
        """Return a text that is not empty."""
        name = self._first(names)
        if name is None:
            return None
        value = self._told[name][1]
        if not isinstance(value, str) or not value:
            self._problems.add(self.path(name), "A text is wanted.")
            return None
        return value

    def rack(self) -> str | None:
        """Return the rack of a node; empty and null say none."""
        names = ("rack", "site", "brokerrack")
        return None if self.get(*names) == "" else self.text(*names)

    def number(self, *names: str, least: int = 0, largest: int = LARGEST_ID) -> int | None:
        """Return a whole number; also of a text of digits, as configs are written."""
        name = self._first(names)
        if name is None:
            return None
        value = self._told[name][1]
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 10:  # noqa: PLR2004
            value = int(value)
        return self._problems.number(value, self.path(name), "A whole number", largest, least)

    def node_id(self, *names: str) -> int | None:
        """Return a node id that must be there."""
        name = self._first(names)
        if name is None:
            self._problems.add(self.path(names[0]), "The id of a node is wanted.")
            return None
        return self._problems.node_id(id_of(self._told[name][1]), self.path(name))

    def numbers(self, *names: str) -> tuple[int, ...] | None:
        """Return node ids, each once; None when they are not there."""
        name = self._first(names)
        told = self.agree(*names).list_of(*names)
        if name is None or told is None:
            return None
        if len(told) > MOST_REPLICAS:
            self._problems.add(self.path(name), f"More than {MOST_REPLICAS} ids are not taken.")
            return None
        told = [id_of(one) for one in told]
        if all(type(one) is int and 0 <= one <= LARGEST_ID for one in told) and _each_once(told):
            return tuple(told)
        found = [
            self._problems.node_id(one, f"{self.path(name)}[{index}]")
            for index, one in enumerate(told)
        ]
        ids = tuple(one for one in found if one is not None)
        twice = next((one for one in ids if ids.count(one) > 1), None)
        if twice is not None:
            self._problems.add(self.path(name), f"Broker {twice} is there twice.")
        return tuple(dict.fromkeys(ids))


def fields_of(value: Any, path: str, problems: Problems) -> Fields | None:
    """Return the fields of an object; None with a problem for anything else."""
    if isinstance(value, Mapping):
        return Fields(value, path, problems)
    problems.add(path, "An object is wanted.")
    return None


def _each_once(told: list[Any]) -> bool:
    return len(set(told)) == len(told)


def id_of(value: Any) -> Any:
    """Return the id of a node that is written as an object, as `kcat -J` and Kafka UI do."""
    if not isinstance(value, Mapping):
        return value
    plain = {plain_name(str(key)): one for key, one in value.items()}
    return next(
        (plain[key] for key in ("id", "broker", "brokerid", "nodeid") if key in plain), value
    )


def _comparable(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(str(id_of(one)) for one in value)
    return str(id_of(value)).lower()


@lru_cache(maxsize=4096)
def _misses(plain: tuple[str, ...], known: frozenset[str]) -> list[tuple[str, str]]:
    found = ((one, near_name(one, sorted(known), NEAR_BY_CHANCE)) for one in plain)
    return [(one, meant) for one, meant in found if meant is not None]
