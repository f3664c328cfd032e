"""The audit of an application: every rule applied to what one collection saw, and its form in a row. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from jobs.checks.check import Check
from jobs.limits import SENTENCE, short
from jobs.streams.audit import added, members, routing, state, threads, times, topics
from jobs.streams.audit.conditions import MOST, Condition, Rule, Seen

# Modules with `CHECKS` and the `RULES` that judge them.
MODULES = (routing, members, threads, state, topics, times, added)
RULES: tuple[Rule, ...] = tuple(rule for module in MODULES for rule in module.RULES)
CHECKS: tuple[Check, ...] = tuple(one for module in MODULES for one in module.CHECKS)
_BY_ID = {one.id: one for one in CHECKS}
# An audit of another version of crosslog has other checks, or packs them in another way.
FORM = crc32(" ".join(("1", *_BY_ID)).encode())


def audit(seen: Seen) -> dict[str, Any]:
    """Return the conditions of an application and the memory of the rules, as `conditions_in` reads them."""
    found = _conditions(seen)
    return {
        "form": FORM,
        "at_ms": seen.application.observed_at_ms,
        "conditions": {one.check.id: _packed(one) for one in found if one.holds is not False},
        "memory": seen.memory,
    }


def conditions_now(seen: Seen) -> list[dict[str, Any]]:
    """Return the conditions that hold at one moment, by the default thresholds, as plain values."""
    return [
        {
            "check": one.check.id,
            "severity": one.check.severity.value,
            "sentence": f"{seen.application.application_id} {short(one.text, SENTENCE)}",
            "todo": one.check.runbook,
            "evidence": dict(one.evidence),
        }
        for one in _conditions(seen)
        if one.holds and (one.value is None or one.value > one.check.defaults[MOST])
    ]


def conditions_in(stored: Mapping[str, Any]) -> dict[str, Condition] | None:
    """Return the conditions of a stored audit by check id; without one, that of a check does not hold.

    None for an audit of another version: it does not tell.
    """
    if stored.get("form") != FORM:
        return None
    return {code: Condition(_BY_ID[code], *told) for code, told in stored["conditions"].items()}


def _conditions(seen: Seen) -> list[Condition]:
    return [one for rule in RULES for one in rule(seen)]


def _packed(one: Condition) -> list[Any]:
    return [short(one.text, SENTENCE), dict(one.evidence), one.holds, one.value, one.is_at_least]
