"""Steps of a what-if as they stand in an address: `lose:rack:west,broker:4;return:broker:4;unclean`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from jobs.availability.what_if.steps import Loss, PreferredElection, Return, Step, UncleanElection

MOST_STEPS = 20
MOST_TARGETS = 200
LARGEST_ID = 2**31 - 1
LONGEST_RACK = 255
LOSE, RETURN, RETURN_CLEAN = "lose", "return", "return-clean"
UNCLEAN, PREFERRED = "unclean", "preferred"
VERBS = (LOSE, RETURN, RETURN_CLEAN, UNCLEAN, PREFERRED)
KINDS = ("rack", "broker", "controller")
_FIELDS = {"rack": "racks", "broker": "brokers", "controller": "controllers"}


class BadStep(ValueError):
    """A step cannot be read; the message is a sentence for people."""


def read_steps(text: str) -> list[Step]:
    """Return the steps of a text, in their order; raises `BadStep`."""
    found = [read_step(part) for part in text.split(";") if part.strip()]
    if len(found) > MOST_STEPS:
        raise BadStep(f"At most {MOST_STEPS} steps.")
    return found


def write_steps(steps: Iterable[Step]) -> str:
    """Return the text of steps: `read_steps` makes equal ones of it."""
    return ";".join(write_step(step) for step in steps)


def read_step(text: str) -> Step:
    """Return the step of a text; raises `BadStep`."""
    verb, _, rest = text.strip().partition(":")
    if verb == UNCLEAN:
        return UncleanElection(rest or None, name=_election_name("Unclean", rest))
    if verb == PREFERRED:
        return PreferredElection(rest or None, name=_election_name("Preferred", rest))
    if verb not in VERBS:
        raise BadStep(f"{text!r} is no step. Write one like lose:rack:west,broker:4.")
    targets = read_targets(rest.split(",") if rest else [])
    return make_step(verb, targets)


def read_targets(items: Iterable[str]) -> dict[str, frozenset[Any]]:
    """Return racks, brokers and controllers of texts like `rack:west`; raises `BadStep`."""
    found: dict[str, set[Any]] = {name: set() for name in _FIELDS.values()}
    for count, item in enumerate(items):
        kind, _, value = item.strip().partition(":")
        if kind not in KINDS or not value or count >= MOST_TARGETS:
            raise BadStep(f"{item!r} is neither rack:NAME nor broker:NUMBER nor controller:NUMBER.")
        found[_FIELDS[kind]].add(unquote(value) if kind == "rack" else _number(item, value))
    return {name: frozenset(values) for name, values in found.items()}


def make_step(verb: str, targets: Mapping[str, frozenset[Any]]) -> Loss | Return:
    """Return a loss or a return with a name for people; raises `BadStep` when it names nothing."""
    if not any(targets.values()):
        raise BadStep("Name at least one rack, broker or controller.")
    name = told(targets)
    if verb == LOSE:
        return Loss(**targets, name=f"Loss of {name}")
    is_clean = verb == RETURN_CLEAN
    return Return(**targets, is_clean=is_clean, name=f"Return of {name}")


def write_step(step: Step) -> str:
    """Return the text of a step: `read_step` makes an equal one of it."""
    if isinstance(step, UncleanElection | PreferredElection):
        verb = UNCLEAN if isinstance(step, UncleanElection) else PREFERRED
        return f"{verb}:{step.topic}" if step.topic else verb
    return f"{_verb(step)}:{','.join(target_texts(step))}"


def target_texts(step: Loss | Return) -> list[str]:
    """Return `rack:west` and the like for everything that a step names."""
    racks = [f"rack:{quote(rack, safe='')}" for rack in sorted(step.racks)]
    brokers = [f"broker:{number}" for number in sorted(step.brokers)]
    return [*racks, *brokers, *(f"controller:{number}" for number in sorted(step.controllers))]


def told(targets: Mapping[str, Iterable[Any]]) -> str:
    """Return what a step names, for people: `rack west, brokers 4 and 5`."""
    parts = [
        _plural(kind, [str(one) for one in sorted(targets.get(field, ()))])
        for kind, field in _FIELDS.items()
        if targets.get(field)
    ]
    return ", ".join(parts)


def topics_of(steps: Sequence[Step]) -> frozenset[str]:
    """Return the topics that steps name: each of them may go its own way."""
    elections = [one for one in steps if isinstance(one, UncleanElection | PreferredElection)]
    return frozenset(one.topic for one in elections if one.topic)


def _verb(step: Loss | Return) -> str:
    if isinstance(step, Loss):
        return LOSE
    return RETURN_CLEAN if step.is_clean else RETURN


def _number(item: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal()) or int(value) > LARGEST_ID:
        raise BadStep(f"{item!r}: a broker or controller is a number.")
    return int(value)


def _plural(kind: str, names: list[str]) -> str:
    if len(names) == 1:
        return f"{kind} {names[0]}"
    return f"{kind}s {', '.join(names[:-1])} and {names[-1]}"


def _election_name(kind: str, topic: str) -> str:
    return f"{kind} election of {topic or 'all topics'}"
