"""Promotion policies: validation field by field, and the policy that applies to a topic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from console.availability.placements.models import LARGEST_PRIORITY, PatternKind
from console.availability.placements.placements import check_pattern, read_pattern
from console.availability.promotion.models import (
    COOLDOWN_S,
    HOLD_S,
    Actor,
    Mode,
    PromotionPolicy,
    Trigger,
)
from jobs.availability.placements.placement import PromotionPolicy as Wanted
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import TopicPolicy
from jobs.availability.promotion.advisor import check_policy
from jobs.cluster.errors import InvalidFields
from jobs.patterns.matching import Matcher

LONGEST_S = 86_400
LEAST_HOLD_S, LEAST_COOLDOWN_S = 5, 10
MOST_BROKERS = 200
# Methods that promote no broker.
BROKERLESS = frozenset({Actor.RELAX_MIN_ISR})

FIELDS = (
    "kind",
    "pattern",
    "priority",
    "policy",
    "mode",
    "actor",
    "allowed_brokers",
    "cooldown_s",
    "hold_s",
    "note",
)


@dataclass(frozen=True, slots=True)
class PolicyValues:
    """A valid policy."""

    kind: PatternKind
    pattern: str
    priority: int
    policy: Trigger
    mode: Mode
    actor: Actor
    allowed_brokers: tuple[int, ...]
    cooldown_s: int
    hold_s: int
    note: str


def read_policy(values: Mapping[str, Any], brokers: Collection[int]) -> PolicyValues:
    """Return a policy from given values; raises `InvalidFields` with a sentence for each wrong field.

    `brokers` are the known broker ids of the cluster.
    """
    reading = _Reading(values)
    kind = PatternKind(reading.choice("kind", PatternKind, PatternKind.EXACT))
    actor = Actor(reading.choice("actor", Actor, Actor.FENCED_STANDBY))
    mode = Mode(reading.choice("mode", Mode, Mode.ADVISE))
    found = PolicyValues(
        kind,
        reading.pattern(kind),
        reading.number("priority", 0, 0, LARGEST_PRIORITY),
        Trigger(reading.choice("policy", Trigger, Trigger.OF_PLACEMENT)),
        mode,
        actor,
        reading.brokers(brokers, is_needed=mode is Mode.ACT and actor not in BROKERLESS),
        reading.number("cooldown_s", COOLDOWN_S, LEAST_COOLDOWN_S, LONGEST_S),
        reading.number("hold_s", HOLD_S, LEAST_HOLD_S, LONGEST_S),
        reading.text("note", 300),
    )
    if found.policy is not Trigger.OF_PLACEMENT:
        wanted = TopicPolicy(Wanted(found.policy.value), actor=ActorKind(actor.value))
        reading.errors |= check_policy(wanted)
    if reading.errors:
        raise InvalidFields(reading.errors)
    return found


def told_policy(policy: PromotionPolicy) -> dict[str, Any]:
    """Return the editable fields of a policy."""
    return {name: getattr(policy, name) for name in FIELDS}


class PolicyLookup:
    """The policies of one cluster for lookups of many topics, in the same order as placements.

    A stored pattern that cannot be evaluated any more may have been about any topic. So behind such a policy
    none holds: topics that no policy before it names are advised on by their placement, and nothing acts
    where somebody may have said that it must not.
    """

    def __init__(self, policies: Iterable[PromotionPolicy]) -> None:
        self._rows: list[PromotionPolicy] = []
        self.unusable: PromotionPolicy | None = None
        self.problem = ""
        expressions = []
        for row in sorted(policies, key=_precedence):
            found = read_pattern(row.kind, row.pattern)
            if isinstance(found, str):
                self.unusable, self.problem = row, found
                break
            self._rows.append(row)
            expressions.append(found)
        self._matcher = Matcher(expressions)

    def of(self, topic: str) -> PromotionPolicy | None:
        """Return the policy that holds for a topic; None: no row does."""
        place = self._matcher.first(topic)
        return None if place is None else self._rows[place]


def _precedence(policy: PromotionPolicy) -> tuple[bool, int, int, str]:
    is_pattern = policy.kind != PatternKind.EXACT
    return is_pattern, -policy.priority, -len(policy.pattern), policy.pattern


class _Reading:
    """Reads fields one after another and collects an error for each wrong one."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.errors: dict[str, str] = {}

    def choice(self, field: str, kind: type[Enum], default: Enum) -> Any:
        given = self._values.get(field)
        if given is None:
            return default.value
        words = [one.value for one in kind]
        if given in words:
            return given
        known = ", ".join(str(word) for word in words if word)
        self.errors[field] = f"{str(given)[:60]!r} is none of: {known}."
        return default.value

    def number(self, field: str, default: int, least: int, most: int) -> int:
        given = self._values.get(field)
        if given is None or given == "":
            return default
        try:
            number = int(given)
        except (TypeError, ValueError):
            number = least - 1
        if isinstance(given, bool) or not least <= number <= most:
            self.errors[field] = f"A whole number from {least} to {most}."
        return number

    def text(self, field: str, longest: int) -> str:
        text = str(self._values.get(field) or "").strip()
        if len(text) > longest:
            self.errors[field] = f"At most {longest} characters."
        return text

    def pattern(self, kind: PatternKind) -> str:
        text = str(self._values.get("pattern") or "").strip()
        problem = check_pattern(kind.value, text)
        if problem:
            self.errors["pattern"] = problem
        return text

    def brokers(self, known: Collection[int], *, is_needed: bool) -> tuple[int, ...]:
        given = self._values.get("allowed_brokers") or ()
        field = "allowed_brokers"
        if not isinstance(given, list | tuple) or len(given) > MOST_BROKERS:
            self.errors[field] = f"A list of at most {MOST_BROKERS} ids of brokers."
            return ()
        numbers = [one for one in given if isinstance(one, int) and not isinstance(one, bool)]
        unknown = sorted({*numbers} - {*known})
        if len(numbers) != len(given):
            self.errors[field] = "Ids of brokers are whole numbers, such as 4."
        elif len({*numbers}) != len(numbers):
            self.errors[field] = "A broker is listed twice."
        elif unknown:
            names = ", ".join(map(str, sorted(known))) or "none collected yet"
            wrong = ", ".join(map(str, unknown))
            self.errors[field] = f"Not a broker of this cluster: {wrong}. It has: {names}."
        elif is_needed and not numbers:
            self.errors[field] = "Name the brokers that may be promoted."
        return tuple(sorted(numbers))
