"""The catalogue of all checks: in words, for the page, the API and docs/checks.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import console.checks.rules  # noqa: F401  registers all checks
from console.frame.pages.search import fits, words_of
from jobs.checks.check import CHECKS, Area, Check

TITLES = {
    Area.CLUSTER: "Clusters",
    Area.BROKER: "Brokers",
    Area.QUORUM: "KRaft quorum",
    Area.PARTITION: "Partitions",
    Area.OBSERVER: "Observers and leaders",
    Area.FLOW: "Replication flows",
    Area.GROUP: "Consumer groups",
    Area.STREAMS: "Kafka Streams",
    Area.CROSSLOG: "crosslog",
}
_HEAD = """# Checks

Every finding belongs to a check. `manage.py write_docs` writes this list from the code. Thresholds can be
set for a cluster, a flow, topics or groups, see [Incidents](incidents.md#thresholds-and-exclusions).
"""


def list_checks(area: str = "", text: str = "") -> list[Check]:
    """Return the checks of an area whose texts have all words, area by area."""
    places = list(Area)
    found = (
        one
        for one in CHECKS.by_id.values()
        if area in {"", one.area}
        and fits(words_of(text), one.id, one.title, one.question, one.rule)
    )
    return sorted(found, key=lambda one: places.index(one.area))


def by_area(checks: Sequence[Check]) -> Iterator[tuple[str, list[Check]]]:
    """Yield the title of each area that has checks, with them."""
    for area, title in TITLES.items():
        found = [one for one in checks if one.area is area]
        if found:
            yield title, found


def document() -> str:
    """Return docs/checks.md."""
    parts = [_HEAD]
    for title, checks in by_area(list_checks()):
        parts += [f"## {title}\n", *map(_section, checks)]
    return "\n".join(parts)


def _section(check: Check) -> str:
    incident = "no: it is advice" if check.is_advice else "yes"
    lines = [
        f"### {check.id}\n",
        f"**{check.title}** ({check.severity.value}). {check.question}\n",
        f"- Rule: {check.rule}",
        f"- What to do: {check.runbook}",
        f"- Opens an incident: {incident}",
    ]
    if check.all_thresholds:
        lines += ["\n| threshold | default | meaning |", "|---|---|---|"]
        lines += [f"| `{o.name}` | {o.default_text} | {o.text} |" for o in check.all_thresholds]
    return "\n".join(lines) + "\n"
