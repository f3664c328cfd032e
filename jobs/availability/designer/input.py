"""Requirements read from a document (JSON, the command line): each error at its field. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from jobs.availability.designer.requirements import (
    DesignRequirements,
    InvalidRequirements,
    LossAllowed,
    ObserverSupport,
    Site,
    WritableAfter,
    check_requirements,
)

_KINDS: Mapping[str, type] = {
    "rpo": LossAllowed,
    "rto_s": float,
    "writable_after": WritableAfter,
    "observers": ObserverSupport,
    "topic": str,
    "partitions": int,
    "preferred_site": str,
    "majority_site": str,
    "most_copies": int,
    "voters": int,
    "session_timeout_ms": int,
    "is_existing_topic": bool,
}
_OPTIONAL = frozenset({"rto_s", "preferred_site", "majority_site", "most_copies", "voters"})
_WANTED = {
    str: "Must be a text.",
    int: "Must be a whole number.",
    float: "Must be a number of seconds.",
    bool: "Must be true or false.",
}
REQUIREMENT_FIELDS = ("sites", *_KINDS)
_SITE_KEYS = ("name", "brokers", "standbys")


def parse_requirements(document: Any) -> DesignRequirements:
    """Return the requirements in a document; raises `InvalidRequirements` with all errors.

    Missing fields keep their defaults; only `sites` is required.
    """
    if not isinstance(document, Mapping):
        raise InvalidRequirements({"": "Requirements must be an object with `sites`."})
    known = ", ".join(REQUIREMENT_FIELDS)
    problems = {
        str(key): f"Unknown field. Fields: {known}."
        for key in document
        if key not in REQUIREMENT_FIELDS
    }
    given: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        if name in document and not (name in _OPTIONAL and document[name] is None):
            _read(name, document[name], kind, given, problems)
    sites = document.get("sites", [])
    if not isinstance(sites, list | tuple):
        problems["sites"], sites = "Must be a list of sites.", []
    read = tuple(_site(f"sites[{number}]", one, problems) for number, one in enumerate(sites))
    requirements = DesignRequirements(read, **given)
    problems = {**check_requirements(requirements), **problems}
    if problems:
        raise InvalidRequirements(problems)
    return requirements


def _read(
    where: str, value: Any, kind: type, given: dict[str, Any], problems: dict[str, str]
) -> None:
    """Put a value of this kind into `given`, or its error into `problems`."""
    if issubclass(kind, Enum):
        words = [one.value for one in kind]
        if value in words:
            given[where] = kind(value)
        else:
            problems[where] = f"{value!r} is unknown. Values: {', '.join(words)}."
    elif type(value) is kind or (kind is float and type(value) is int):
        given[where] = value
    else:
        problems[where] = _WANTED[kind]


def _site(where: str, value: Any, problems: dict[str, str]) -> Site:
    if not isinstance(value, Mapping):
        problems[where] = "A site must be an object with name and brokers."
        return Site("")
    for key in value:
        if key not in _SITE_KEYS:
            problems[f"{where}.{key}"] = "Unknown field. Fields of a site: name, brokers, standbys."
    given: dict[str, Any] = {}
    _read(f"{where}.name", value.get("name", ""), str, given, problems)
    ids = [_ids(f"{where}.{name}", value.get(name, []), problems) for name in _SITE_KEYS[1:]]
    return Site(given.get(f"{where}.name", ""), *ids)


def _ids(where: str, value: Any, problems: dict[str, str]) -> tuple[int, ...]:
    if isinstance(value, list | tuple) and all(type(one) is int for one in value):
        return tuple(value)
    problems[where] = "Must be a list of broker ids."
    return ()
