"""A wish read from a document (JSON, REST, the command line): each mistake at its field. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

from jobs.availability.designer.requirements import (
    DesignRequirements,
    InvalidRequirements,
    LossAllowed,
    ObserverSupport,
    Site,
    WritableAfter,
    check_requirements,
)

Kind = TypeVar("Kind", bound=Enum)
_SITE_KEYS = frozenset({"name", "brokers", "standbys"})


class _Reader:
    """Reads fields and keeps what is wrong with them."""

    def __init__(self) -> None:
        self.problems: dict[str, str] = {}

    def wrong(self, where: str, sentence: str) -> None:
        """Keep the first problem of a field."""
        self.problems.setdefault(where, sentence)

    def text(self, where: str, value: Any) -> str:
        """Return a text, empty when it is none."""
        if isinstance(value, str):
            return value
        self.wrong(where, "A text is wanted.")
        return ""

    def whole(self, where: str, value: Any) -> int:
        """Return a whole number, 1 when it is none."""
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.wrong(where, "A whole number is wanted.")
        return 1

    def number(self, where: str, value: Any) -> float:
        """Return a number, 1 when it is none (or not finite, which no clock shows)."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and abs(value) < 1e12:  # noqa: PLR2004  also refuses what is not a number (NaN)
            return float(value)
        self.wrong(where, "A number of seconds is wanted.")
        return 1.0

    def yes(self, where: str, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        self.wrong(where, "true or false is wanted.")
        return False

    def ids(self, where: str, value: Any) -> tuple[int, ...]:
        """Return ids of brokers, empty when they are none."""
        if isinstance(value, list | tuple):
            return tuple(self.whole(where, one) for one in value)
        self.wrong(where, "A list of broker ids is wanted.")
        return ()

    def word(self, where: str, value: Any, kind: type[Kind]) -> Kind:
        """Return a word of a vocabulary, its first one when it is unknown."""
        words = {str(one.value): one for one in kind}
        if isinstance(value, str) and value in words:
            return words[value]
        self.wrong(where, f"{value!r} is unknown; it is one of {', '.join(words)}.")
        return next(iter(kind))

    def site(self, where: str, value: Any) -> Site:
        if not isinstance(value, Mapping):
            self.wrong(where, "A site is an object with name and brokers.")
            return Site("")
        for key in sorted(set(map(str, value)) - _SITE_KEYS):
            self.wrong(f"{where}.{key}", "A site has no such field: name, brokers, standbys.")
        return Site(
            self.text(f"{where}.name", value.get("name", "")),
            self.ids(f"{where}.brokers", value.get("brokers", [])),
            self.ids(f"{where}.standbys", value.get("standbys", [])),
        )

    def sites(self, where: str, value: Any) -> tuple[Site, ...]:
        if isinstance(value, list | tuple):
            return tuple(self.site(f"{where}[{n}]", one) for n, one in enumerate(value))
        self.wrong(where, "A list of sites is wanted.")
        return ()


_READ: Mapping[str, Callable[[_Reader, Any], Any]] = {
    "sites": lambda r, v: r.sites("sites", v),
    "rpo": lambda r, v: r.word("rpo", v, LossAllowed),
    "rto_s": lambda r, v: None if v is None else r.number("rto_s", v),
    "writable_after": lambda r, v: r.word("writable_after", v, WritableAfter),
    "observers": lambda r, v: r.word("observers", v, ObserverSupport),
    "topic": lambda r, v: r.text("topic", v),
    "partitions": lambda r, v: r.whole("partitions", v),
    "preferred_site": lambda r, v: None if v is None else r.text("preferred_site", v),
    "majority_site": lambda r, v: None if v is None else r.text("majority_site", v),
    "most_copies": lambda r, v: None if v is None else r.whole("most_copies", v),
    "voters": lambda r, v: None if v is None else r.whole("voters", v),
    "session_timeout_ms": lambda r, v: r.whole("session_timeout_ms", v),
    "is_existing_topic": lambda r, v: r.yes("is_existing_topic", v),
}
REQUIREMENT_FIELDS = tuple(_READ)


def parse_requirements(document: Any) -> DesignRequirements:
    """Return the requirements in a document; raises `InvalidRequirements` with all that is wrong.

    Fields that are left out keep their defaults; only `sites` is needed.
    """
    reader = _Reader()
    if not isinstance(document, Mapping):
        raise InvalidRequirements({"": "A wish is an object with the field sites."})
    for key in sorted(set(map(str, document)) - set(_READ)):
        reader.wrong(key, f"A wish has no such field; it has {', '.join(_READ)}.")
    given = {name: read(reader, document[name]) for name, read in _READ.items() if name in document}
    given.setdefault("sites", ())
    requirements = DesignRequirements(**given)
    problems = {**check_requirements(requirements), **reader.problems}
    if problems:
        raise InvalidRequirements(problems)
    return requirements
