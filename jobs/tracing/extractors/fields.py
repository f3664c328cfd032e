"""A field: a place of a record, a JSON pointer into it, and the form of what is there.

Written as `header:NAME`, `header:NAME#/pointer`, `key`, `key:/pointer`, `value`, `value:/pointer`, `topic`,
`partition`, `offset`, `timestamp` or `const:TEXT`, each perhaps with ` as FORM`. Alternatives are separated
by ` | `: the first one that a record has counts. `*` in a pointer means all entries of a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobs.tracing.extractors.forms import FORMS, Value

LONGEST = 500
_LONGEST_POINTER = 30
_INDEX_DIGITS = 9


class Place(StrEnum):
    """Where of a record a field is."""

    HEADER = "header"
    KEY = "key"
    VALUE = "value"
    TOPIC = "topic"
    PARTITION = "partition"
    OFFSET = "offset"
    TIMESTAMP = "timestamp"
    CONST = "const"


_NAMED = {Place.HEADER, Place.CONST}
_WITH_POINTER = {Place.HEADER, Place.KEY, Place.VALUE}


class BadField(ValueError):
    """A text that is no field; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Field:
    """`name`: of a header, or the constant. `pointer`: its parts, None without one."""

    place: Place
    name: str = ""
    pointer: tuple[str, ...] | None = None
    form: str = "text"

    def __str__(self) -> str:
        pointer = "" if self.pointer is None else "/" + "/".join(map(_escaped, self.pointer))
        where = f"{self.place}:{self.name}" if self.place in _NAMED else str(self.place)
        if pointer:
            where += f"#{pointer}" if self.place is Place.HEADER else f":{pointer}"
        return where if self.form == "text" and " as " not in where else f"{where} as {self.form}"

    def read(self, raw: Any) -> Value:
        """Return bytes or a JSON value in its form; None: absent. Raises `BadValue`."""
        return None if raw is None else FORMS[self.form](raw)

    def overlaps(self, other: Field) -> bool:
        """Return whether one field reads some of what the other means; names of headers in any case."""
        is_same = self.place is other.place and self.name.casefold() == other.name.casefold()
        return is_same and all(map(may_be_same, self.pointer or (), other.pointer or ()))

    def contains(self, other: Field) -> bool:
        """Return whether this field reads all that the other one means."""
        return self.overlaps(other) and len(self.pointer or ()) <= len(other.pointer or ())

    def pick(self, document: Any) -> Any:
        """Return what the pointer means in a JSON value; None: it is not there."""
        parts = self.pointer or ()
        for at, part in enumerate(parts):
            if type(document) is not dict:
                return None if document is None else _pick(document, parts, at)
            document = document.get(part)
        return document


def parse_fields(text: str) -> tuple[Field, ...]:
    """Return the alternatives of a text; raises `BadField`."""
    if len(text) > LONGEST or not text.isprintable():
        raise BadField(f"At most {LONGEST} printable characters.")
    return tuple(_parse(part.strip()) for part in text.split(" | "))


def _parse(text: str) -> Field:
    where, separator, form = text.rpartition(" as ")
    where, form = (where.strip(), form.strip()) if separator else (text, "text")
    if form not in FORMS:
        raise BadField(f"There is no form {form[:40]!r}. Forms: {', '.join(FORMS)}.")
    word, colon, rest = where.partition(":")
    try:
        place = Place(word)
    except ValueError:
        places = ", ".join(Place)
        raise BadField(f"A field begins with one of {places}: {text[:60]!r} does not.") from None
    name, pointer = "", rest
    if place is Place.HEADER:
        name, _, pointer = rest.partition("#")
    elif place is Place.CONST:
        name, pointer = rest, ""
    if place in _NAMED and not name:
        raise BadField(f"Write {place}:NAME.")
    if colon and place not in _NAMED | _WITH_POINTER:
        raise BadField(f"{place} has nothing behind it.")
    return Field(place, name, _parts(pointer) if pointer else None, form)


def _parts(pointer: str) -> tuple[str, ...]:
    """Return the parts of a JSON pointer (RFC 6901)."""
    if not pointer.startswith("/"):
        raise BadField("A JSON pointer begins with /, as in value:/order/id.")
    parts = tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))
    if len(parts) > _LONGEST_POINTER or parts.count("*") > 1:
        raise BadField(f"A pointer has at most {_LONGEST_POINTER} parts, and one * among them.")
    return parts


def may_be_same(one: str, other: str) -> bool:
    """Return whether two parts of pointers may mean the same: `*` is each, 01 is 1."""
    if one == other or "*" in (one, other):
        return True
    return _index_of(one) is not None and _index_of(one) == _index_of(other)


def _index_of(part: str) -> int | None:
    """Return the number of a list's entry that a part of a pointer means; None for other parts."""
    return int(part) if part.isascii() and part.isdecimal() and len(part) <= _INDEX_DIGITS else None


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


def _pick(document: Any, parts: tuple[str, ...], index: int) -> Any:
    for at in range(index, len(parts)):
        part = parts[at]
        if isinstance(document, dict):
            document = document.get(part)
        elif isinstance(document, list) and part == "*":
            return list(_each(document, parts, at + 1))
        elif isinstance(document, list) and (at_entry := _index_of(part)) is not None:
            document = document[at_entry] if at_entry < len(document) else None
        else:
            return None
    return document


def _each(entries: list[Any], parts: tuple[str, ...], index: int) -> Iterator[Any]:
    for entry in entries:
        found = _pick(entry, parts, index)
        if found is not None:
            yield found
