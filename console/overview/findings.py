"""What is wrong now, as sentences: what, where, since when, why, what to do. Pure rules over rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.urls import reverse

from console.availability.status.queries import Absence, ObserverFinding, Unclean
from console.clusters.models import Partition, Topic
from console.clusters.trouble.stuck import trouble_of
from console.frame.pages.states import spoken
from console.frame.processes.liveness import Restart
from console.quorum.queries import Problem
from console.replication.flows.queries import Failure, Flow
from jobs.severity import Severity

_LADDER = [Severity.CRITICAL, Severity.WARNING]
_ALWAYS = datetime.min.replace(tzinfo=UTC)
_BROKER_ADVICE = "Check the brokers: one of them may be down or too slow."
MOST_NAMES = 5
# A restart takes minutes; a replica that is out of sync for longer needs an operator.
LONG_ABSENCE, _LONG_WORDS = timedelta(minutes=30), "half an hour"


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
    """Sort by severity, then by age, the oldest first."""
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


def of_failures(rows: Iterable[Failure]) -> list[Finding]:
    """Return silent failures of flows: one line for each rule of each flow, its worst.

    `rows` are open findings, worst first; mere notices stay on the flow's page.
    """
    found: dict[tuple[Any, str], list[Failure]] = {}
    for row in rows:
        if row.severity in _LADDER:
            found.setdefault((row.flow_id, row.code), []).append(row)
    return [_of_failures(same) for same in found.values()]


def _of_failures(same: Sequence[Failure]) -> Finding:
    first, more = same[0], len(same) - 1
    others = f" {more} more like it." if more else ""
    return Finding(
        Severity(first.severity),
        first.word,
        f"Flow {first.flow.name}: {first.subject or first.word}",
        reverse("replication:findings", args=[first.flow_id]),
        f"{first.sentence}{others}",
        first.todo,
        min(row.opened_at for row in same),
    )


def of_quorums(rows: Iterable[Problem]) -> list[Finding]:
    """Return what is wrong with quorums; mere notices stay on the quorum's page."""
    return [
        Finding(
            Severity(row.severity),
            row.word,
            f"Quorum of {row.log.label}",
            reverse("quorum:detail", args=[row.log.name]),
            row.sentence,
            row.todo,
            row.opened_at,
        )
        for row in rows
        if row.severity in _LADDER
    ]


def of_unclean(rows: Iterable[Unclean]) -> list[Finding]:
    """Return unclean elections, one line for each cluster: the newest of them."""
    found: dict[int, list[Unclean]] = {}
    for row in rows:
        found.setdefault(row.cluster_id, []).append(row)
    return [
        Finding(
            Severity.CRITICAL,
            "Unclean election",
            f"Cluster {same[0].cluster.alias}: {same[0].name}",
            f"{reverse('availability:detail', args=[same[0].cluster.alias])}?range=24h",
            f"{same[0].why}{_more(len(same) - 1)}",
            "Acknowledged records may be lost. Compare what producers sent with the records in the topic.",
            min(row.at for row in same),
        )
        for same in found.values()
    ]


def of_absences(rows: Iterable[Absence]) -> list[Finding]:
    """Return replicas that have been out of sync for `LONG_ABSENCE`: the first of each broker."""
    return [
        Finding(
            Severity.WARNING,
            "Out of sync",
            f"Cluster {row.cluster.alias}: broker {row.broker}",
            f"{reverse('availability:partitions', args=[row.cluster.alias])}?missing={row.broker}",
            f"It has been out of the ISR of {row.name} for more than {_LONG_WORDS}.",
            "The broker does not catch up. Check its disk, its network and its log.",
            row.began_at,
        )
        for row in rows
    ]


def of_observers(rows: Iterable[ObserverFinding]) -> list[Finding]:
    """Return findings about observers and leaders, worst first: one line for each rule of each cluster.

    Mere notices stay on the pages of the cluster.
    """
    found: dict[tuple[Any, str], list[ObserverFinding]] = {}
    for row in rows:
        if row.severity in _LADDER:
            found.setdefault((row.cluster_id, row.code), []).append(row)
    return [_of_observers(same) for same in found.values()]


def _of_observers(same: Sequence[ObserverFinding]) -> Finding:
    first, more = same[0], len(same) - 1
    others = f" {more} more like it." if more else ""
    return Finding(
        Severity(first.severity),
        first.word,
        f"Cluster {first.cluster.alias}: {first.subject}",
        reverse(f"availability:{first.page}", args=[first.cluster.alias]),
        f"{first.sentence}{others}",
        first.todo,
        min(row.opened_at for row in same),
    )


def _more(count: int) -> str:
    return f" {count} more in the last 24 h." if count else ""


def of_restarts(restarts: Iterable[Restart]) -> list[Finding]:
    """Return the programs that `manage.py up` started again, one finding each and kind.

    They had finished no task (in the last hour), or had crashed (in the last day).
    """
    found: dict[tuple[str, bool], list[Restart]] = {}
    for one in restarts:
        found.setdefault((one.program, bool(one.crash)), []).append(one)
    return [_restarted(name, same) for (name, _), same in found.items()]


def _restarted(name: str, same: Sequence[Restart]) -> Finding:
    last, log = same[-1], Path(same[-1].log).name
    if last.crash:
        title, said, span = "Crashed", last.crash.rstrip("."), "24 hours"
        hint = f"It was restarted. The last lines of {log} in the log folder show the error."
    else:
        title, said, span = "Restarted", f"It had finished no task for {last.silent_s} s", "an hour"
        hint = f"The last lines of {log} in the log folder show what it was doing."
    count = f" {len(same)} times within {span}." if len(same) > 1 else ""
    return Finding(
        Severity.WARNING,
        title,
        f"Program {name}",
        reverse("overview:overview"),
        f"{said}, the last time at {last.at:%H:%M:%S} UTC.{count}",
        hint,
        same[0].at,
    )


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
            status.word,
            f"Cluster {cluster.alias}",
            reverse("clusters:detail", args=[cluster.alias]),
            f"{status.reason} {names}".strip(),
            status.hint or _BROKER_ADVICE,
            status.since,
        )
    ]


def of_trouble(row: Partition) -> Finding:
    """Return a partition whose last stable offset does not move, likewise."""
    one = trouble_of(row)
    where, text = str(row), f"{one.what} {one.why}"
    return Finding(one.severity, one.word, where, one.href, text, one.next, one.since)


def _names(topics: Sequence[Topic]) -> str:
    if not topics:
        return ""
    names = ", ".join(topic.name for topic in topics[:MOST_NAMES])
    more = len(topics) - MOST_NAMES
    return f"In {names} and {more} more topics." if more > 0 else f"In {names}."
