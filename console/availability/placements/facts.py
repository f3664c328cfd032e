"""The first row of the page of placements."""

from __future__ import annotations

from typing import Any

from console.availability.placements.effects import Standings
from jobs.numbers import format_count

ONE_SITE = "isr-in-one-rack"


def placement_facts(found: Standings) -> list[dict[str, Any]]:
    """Return how many topics have a placement, how many stand otherwise, what misses replicas."""
    wrong = sum(found.is_wrong(index) for index in found.placed)
    one_site = found.count_violations(ONE_SITE)
    missing = sum(found.missing[index] for index in found.placed)
    return [
        {
            "label": "Topics with a placement",
            "value": format_count(len(found.placed)),
            "note": f"of {format_count(len(found))}",
            "definition": "By their own config, or assigned here by name or pattern.",
        },
        _counted("Not as placed", wrong, "risk", "topics", "Topics with at least one violation."),
        _counted(
            "ISR in one site",
            one_site,
            "risk",
            "partitions",
            "Partitions whose in-sync replicas all stand in one rack although the placement names several.",
        ),
        _counted(
            "Sync replica missing",
            missing,
            "warn",
            "partitions",
            "Partitions that miss a replica of the ISR; an observer outside the ISR is where it belongs.",
        ),
        {
            "label": "Brokers with observers",
            "value": format_count(len(found.observers)),
            "definition": "Brokers that are an observer of some partition.",
        },
    ]


def _counted(label: str, count: int, severity: str, note: str, definition: str) -> dict[str, Any]:
    fact: dict[str, Any] = {
        "label": label,
        "value": format_count(count),
        "note": note,
        "definition": definition,
    }
    return fact | ({"severity": severity} if count else {"severity": "ok"})
