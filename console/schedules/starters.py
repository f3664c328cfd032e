"""Jobs that can be scheduled: each app registers a starter for its kind, in `AppConfig.ready`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from console.frame.pages.states import spoken
from jobs.cluster.errors import InvalidFields

if TYPE_CHECKING:
    from console.accounts.models import User
    from console.schedules.models import Schedule


@dataclass(frozen=True, slots=True)
class Started:
    """What was started: `ref` names it to its room, for example the id of a run."""

    ref: str
    sentence: str = ""


def plain_facts(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return arguments as people read them: a label and a text each."""
    return [
        (spoken(name), value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in arguments.items()
    ]


@dataclass(frozen=True, slots=True)
class Starter:
    """How things of one kind are checked, started and found again.

    `validate` returns the arguments as they are kept, and raises `InvalidFields` with their names.
    `start` starts it in the name of a person, inside a transaction that also writes the firing: what
    it writes to the database is kept with the firing or not at all. It may raise `ActionRefused` or
    `InvalidFields`; the message is what people then read. `is_going_on` says whether what the
    schedule started last (`last_ref`, empty before) has not ended. `href` gives the page of a ref,
    empty for none.
    """

    kind: str
    label: str
    validate: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    start: Callable[[Schedule, User, datetime], Started]
    is_going_on: Callable[[Schedule], bool]
    href: Callable[[str], str]
    describe: Callable[[Mapping[str, Any]], Sequence[tuple[str, str]]] = plain_facts


LARGEST_ARGUMENTS = 20_000
_STARTERS: dict[str, Starter] = {}


def register(starter: Starter) -> None:
    """Make things of a kind known; the last one of a kind counts."""
    _STARTERS[starter.kind] = starter


def forget(kind: str) -> None:
    """Take a kind away again."""
    _STARTERS.pop(kind, None)


def get_starter(kind: str) -> Starter | None:
    """Return the starter of a kind; None when no room has registered one."""
    return _STARTERS.get(kind)


def label_of(kind: str) -> str:
    """Return the label of a kind; the word itself when it is not registered."""
    starter = get_starter(kind)
    return starter.label if starter else kind


def check_arguments(kind: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as the starter of a kind keeps them.

    Raises `InvalidFields`, with `arguments.` before the names of arguments.
    """
    starter = get_starter(kind)
    if starter is None:
        raise InvalidFields({"kind": f"Jobs of the kind {kind[:40]} cannot be scheduled."})
    text = json.dumps(arguments)
    if len(text) > LARGEST_ARGUMENTS:
        raise InvalidFields({"arguments": f"More than {LARGEST_ARGUMENTS} characters."})
    # A column of PostgreSQL does not hold it.
    if "\\u0000" in text.replace("\\\\", ""):
        raise InvalidFields({"arguments": "A text holds a character NUL."})
    try:
        return dict(starter.validate(arguments))
    except InvalidFields as wrong:
        raise InvalidFields({f"arguments.{k}": v for k, v in wrong.errors.items()}) from None
