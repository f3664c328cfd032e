"""What is wrong now, as sentences: what, where, since when, why, what to do. Pure rules over rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.urls import reverse

from console.clusters.models import Topic
from console.frame.states import Severity, spoken
from console.replication.queries import Flow

_LADDER = [Severity.CRIT, Severity.RISK, Severity.WARN]
_ALWAYS = datetime.min.replace(tzinfo=UTC)
_BROKER_ADVICE = "Look at the brokers: one of them may be down or not keep up."
MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong; `since` is None when the beginning is not known."""

    severity: Severity
    word: str
    what: str
    href: str
    why: str = ""
    next: str = ""
    since: datetime | None = None


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Sort by badness, then by age: what has been wrong for longest comes first."""
    return sorted(findings, key=lambda f: (_LADDER.index(f.severity), f.since or _ALWAYS, f.what))


def of_flow(flow: Flow) -> list[Finding]:
    """Return what is wrong with a flow, nothing or one finding."""
    status = flow.status
    if not status.is_wrong:
        return []
    what = f"Flow {flow.name}: {flow.source.alias} \N{RIGHTWARDS ARROW} {flow.target.alias}"
    href = reverse("replication:detail", args=[flow.pk])
    word = spoken(status.state)
    return [Finding(status.severity, word, what, href, status.reason, status.hint, status.since)]


def of_cluster(cluster: Any, wrong_topics: Sequence[Topic]) -> list[Finding]:
    """Return what is wrong with a cluster of `clusters.queries.with_status`, nothing or one finding."""
    status = cluster.status
    if status.severity not in _LADDER:
        return []
    worst = max((topic.severity for topic in wrong_topics), default=0)
    names = "" if status.since else _names([t for t in wrong_topics if t.severity == worst])
    return [
        Finding(
            status.severity,
            spoken(status.state),
            f"Cluster {cluster.alias}",
            reverse("clusters:detail", args=[cluster.alias]),
            f"{status.reason} {names}".strip(),
            status.hint or _BROKER_ADVICE,
            status.since,
        )
    ]


def _names(topics: Sequence[Topic]) -> str:
    if not topics:
        return ""
    names = ", ".join(topic.name for topic in topics[:MOST_NAMES])
    more = len(topics) - MOST_NAMES
    return f"In {names} and {more} more topics." if more > 0 else f"In {names}."
