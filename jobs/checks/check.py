"""What a check is, and the registry of all checks. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from jobs.findings import Finding
from jobs.severity import Severity


class Area(StrEnum):
    """What a check is about."""

    CLUSTER = "cluster"
    BROKER = "broker"
    QUORUM = "quorum"
    PARTITION = "partition"
    OBSERVER = "observer"
    FLOW = "flow"
    GROUP = "group"
    STREAMS = "streams"
    CROSSLOG = "crosslog"


class Unit(StrEnum):
    """The unit of a threshold."""

    SECONDS = "s"
    PERCENT = "%"
    RECORDS = "records"
    COUNT = "count"


class Pattern(StrEnum):
    """By which names settings of a check may be narrowed, beside clusters and flows."""

    NONE = ""
    TOPIC = "topic"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number that a rule compares with; `text` says what it bounds."""

    name: str
    default: float
    unit: Unit
    text: str
    least: float = 0
    most: float = 30 * 86_400

    @property
    def default_text(self) -> str:
        number = f"{self.default:,.10g}"
        return number if self.unit is Unit.COUNT else f"{number} {self.unit}"

    def problem(self, value: object) -> str | None:
        """Return what is wrong with a value of this threshold, None when it is valid."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return "Enter a number."
        if not self.least <= value <= self.most:
            return f"Enter a number from {self.least:g} to {self.most:g} ({self.unit})."
        return None


def warning_and_critical(
    suffix: str, unit: Unit, warning: float, critical: float, text: str, **limits: float
) -> tuple[Threshold, Threshold]:
    """Return two thresholds of the same number, for `severity_of`."""
    return (
        Threshold(f"warning_{suffix}", warning, unit, f"{text} for a warning.", **limits),
        Threshold(f"critical_{suffix}", critical, unit, f"{text} for critical.", **limits),
    )


def severity_of(
    number: float, values: Mapping[str, float] | None, suffix: str, *, is_space: bool = False
) -> Severity | None:
    """Return how bad a number is by two thresholds, None below both; of space, too little is bad."""
    sign = -1 if is_space else 1
    for severity in (Severity.CRITICAL, Severity.WARNING) if values else ():
        if values and sign * number > sign * values[f"{severity.value}_{suffix}"]:
            return severity
    return None


OPEN_AFTER, CLOSE_AFTER = "open_after_s", "close_after_s"


@dataclass(frozen=True, slots=True)
class Check:
    """A check; `id` is the code of its findings.

    `rule` says in words when it finds something, `runbook` what an operator does then. `effect` is how an
    incident with another cause counts its findings, a template over their evidence ("{partitions} offline").
    Findings of a check that is `is_advice` open no incident: they describe a setup, not a failure.
    """

    id: str
    title: str
    question: str
    rule: str
    severity: Severity
    area: Area
    runbook: str
    thresholds: tuple[Threshold, ...] = ()
    narrowed_by: Pattern = Pattern.NONE
    effect: str = ""
    is_advice: bool = False
    open_after_s: float = 0
    close_after_s: float = 30

    @property
    def all_thresholds(self) -> tuple[Threshold, ...]:
        """Its own thresholds, then how long it has to last before an incident opens and resolves."""
        if self.is_advice:
            return self.thresholds
        return (
            *self.thresholds,
            Threshold(
                OPEN_AFTER,
                self.open_after_s,
                Unit.SECONDS,
                "Time that the finding lasts before an incident opens (two rounds at least).",
                most=86_400,
            ),
            Threshold(
                CLOSE_AFTER,
                self.close_after_s,
                Unit.SECONDS,
                "Time without the finding before the incident is resolved.",
                most=86_400,
            ),
        )

    @property
    def defaults(self) -> dict[str, float]:
        return {one.name: one.default for one in self.all_thresholds}

    def finding(self, sentence: str, todo: str = "", **fields: Any) -> Finding:
        """Return a finding of this check: its severity and runbook hold where no other is given."""
        severity = fields.pop("severity", self.severity)
        return Finding(self.id, severity, sentence, todo or self.runbook, **fields)


@dataclass(frozen=True, slots=True)
class Registry:
    """All checks by id, in the order of their registration."""

    by_id: dict[str, Check] = field(default_factory=dict)

    def add(self, check: Check) -> None:
        """Add a check; raises `ValueError` for an id that another check has."""
        if self.by_id.get(check.id, check) != check:
            raise ValueError(f"two checks have the id {check.id}")
        self.by_id[check.id] = check


CHECKS = Registry()
Rule = TypeVar("Rule", bound=Callable[..., Any])


def check(*checks: Check) -> Callable[[Rule], Rule]:
    """Register the checks whose findings a rule returns."""
    for one in checks:
        CHECKS.add(one)

    def same(rule: Rule) -> Rule:
        return rule

    return same


def effect_of(check_: Check | None, evidence: Mapping[str, Any]) -> str:
    """Return how an incident counts a finding: its effect with the numbers, else the check's title."""
    if check_ is None or not check_.effect:
        return check_.title if check_ else ""
    try:
        text = check_.effect.format_map(evidence)
    except (KeyError, ValueError, IndexError):
        return check_.title
    return text.replace("partitions", "partition", 1) if text.startswith("1 ") else text
