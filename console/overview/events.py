"""Recent events of all rooms, newest first: read from what is recorded, in a constant number of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import Q, QuerySet
from django.urls import reverse

from console.accounts.models import Outcome
from console.accounts.queries import list_entries
from console.availability.status import queries as availability
from console.clusters.models import Cluster
from console.findings.incidents.models import Incident
from console.frame.pages.states import spoken
from console.frame.pages.timerange import TimeRange
from console.frame.security.access import visible
from console.overview.queries import incident_address, incidents_of
from console.quorum import queries as quorum
from console.replication.failover import queries as failover
from console.replication.flows.queries import Flow
from jobs.numbers import format_span_ms
from jobs.quorum.history.changes import Cause
from jobs.severity import Severity

ARROW = "\N{RIGHTWARDS ARROW}"
LONGEST = timedelta(days=30)
# Shrinks are grouped by minute, which costs time for each: read further back only when they are few.
_SPANS = (timedelta(hours=1), timedelta(days=1), LONGEST)


class EventKind(models.TextChoices):
    """What an event is about."""

    BROKER = "broker", "Broker"
    CONTROLLER = "controller", "Controller election"
    ISR = "isr", "ISR shrink"
    VOTERS = "voters", "Voter change"
    FAILOVER = "failover", "Failover plan"
    PROMOTION = "promotion", "Promotion"
    FLOW = "flow", "Flow"
    CONFIG = "config", "Configuration"
    INCIDENT = "incident", "Incident"


@dataclass(frozen=True, slots=True)
class RecentEvent:
    """Something that happened at `at`; `href` leads to where more of it is, `where` names the clusters."""

    at: datetime
    kind: EventKind
    ref: str
    severity: Severity
    text: str
    where: str
    href: str = ""

    @property
    def id(self) -> str:
        """Its permanent name: kind, second and reference."""
        return f"{self.kind.value}-{int(self.at.timestamp())}-{self.ref}"

    @property
    def address(self) -> str:
        return f"{reverse('overview:events')}?event={self.id}"


@dataclass(frozen=True, slots=True)
class Scope:
    """What is read: of the clusters that a person may see, before `until`, the newest `most` of each kind."""

    user: Any
    until: datetime
    most: int
    aliases: dict[int, str] = field(default_factory=dict)
    logs: list[int] = field(default_factory=list)

    @property
    def since(self) -> datetime:
        return self.until - LONGEST

    def within(self, rows: QuerySet[Any], name: str, newest: str = "") -> QuerySet[Any]:
        """Return the newest rows of the time, by the field that has it."""
        rows = rows.filter(**{f"{name}__gte": self.since, f"{name}__lt": self.until})
        return rows.order_by(newest or f"-{name}")[: self.most]


def read_events(
    user: Any, until: datetime, most: int, kind: str = "", alias: str = ""
) -> tuple[list[RecentEvent], datetime | None]:
    """Return the newest events before a time, and before which time there are more (None: there are none).

    Events of one second are on one page.
    """
    rows = visible(user, Cluster.objects.order_by("alias"))
    aliases = dict((rows.filter(alias=alias) if alias else rows).values_list("pk", "alias"))
    logs = quorum.Log.objects.filter(cluster__in=aliases).values_list("pk", flat=True)
    scope = Scope(user, until, most + 1, aliases, list(logs))
    sources = [read for one, read in _SOURCES if kind in {"", one.value}]
    found = sorted(
        (one for read in sources for one in read(scope)), key=lambda one: (one.at, one.id)
    )
    newest = found[::-1]
    if len(newest) <= most:
        return newest, None
    last = _second(newest[most].at)
    page = [one for one in newest if _second(one.at) > last]
    if not page:
        page = [one for one in newest if _second(one.at) == last]
        return page, last
    return page, last + timedelta(seconds=1)


def moment_of(event: str) -> datetime | None:
    """Return the end of the second of an event by its permanent name; None for what is no such name."""
    parts = event.split("-", 2)
    if len(parts) < 3 or not (parts[1].isdecimal() and len(parts[1]) <= 10):  # noqa: PLR2004
        return None
    return datetime.fromtimestamp(int(parts[1]) + 1, UTC)


def _second(at: datetime) -> datetime:
    return at.replace(microsecond=0)


_BROKERS = {
    Cause.BROKER_FENCED: ("was fenced", Severity.WARNING),
    Cause.BROKER_UNFENCED: ("was unfenced: it is back", Severity.HEALTHY),
    Cause.CONTROLLED_SHUTDOWN: ("began a controlled shutdown", Severity.INFO),
    Cause.BROKER_RESTARTED: ("restarted", Severity.INFO),
    Cause.BROKER_UNREGISTERED: ("was unregistered", Severity.WARNING),
    Cause.LOG_DIR_FAILED: ("has a failed log directory", Severity.CRITICAL),
}


def _brokers(scope: Scope) -> Iterator[RecentEvent]:
    rows = quorum.list_changes(scope.logs, quorum.ChangeKind.BROKER).filter(cause__in=_BROKERS)
    for row in scope.within(rows, "moment"):
        words, severity = _BROKERS[Cause(row.cause)]
        text = f"Broker {row.broker} of {row.log.cluster.alias} {words}."
        yield _of_log(row, EventKind.BROKER, severity, text)


def _configs(scope: Scope) -> Iterator[RecentEvent]:
    rows = quorum.list_changes(scope.logs, quorum.ChangeKind.CONFIG)
    for row in scope.within(rows, "moment"):
        done = "removed" if row.is_removed else "set"
        text = f"Config {row.subject.name} of {row.log.cluster.alias} was {done}."
        yield _of_log(row, EventKind.CONFIG, Severity.INFO, text)


def _of_log(row: Any, kind: EventKind, severity: Severity, text: str) -> RecentEvent:
    alias = row.log.cluster.alias
    href = reverse("quorum:record", args=[row.log.name, row.offset])
    return RecentEvent(row.at, kind, str(row.pk), severity, text, alias, href)


def _elections(scope: Scope) -> Iterator[RecentEvent]:
    rows = quorum.list_elections().filter(log__in=scope.logs)
    for row in scope.within(rows, "at"):
        gap = (
            "" if row.gap_ms is None else f", {format_span_ms(row.gap_ms)} without a record before"
        )
        alias = row.log.cluster.alias
        text = f"Controller {row.leader_id} of {alias} was elected: epoch {row.epoch}{gap}."
        severity = Severity.WARNING if row.oddities else Severity.INFO
        yield _of_log(row, EventKind.CONTROLLER, severity, text)


def _voters(scope: Scope) -> Iterator[RecentEvent]:
    rows = quorum.list_voter_sets().filter(log__in=scope.logs)
    for row in scope.within(rows.exclude(added=[], removed=[], moved=[]), "at"):
        text = f"Voters of {row.log.cluster.alias} changed: {row.change_text}."
        yield _of_log(row, EventKind.VOTERS, Severity.INFO, text)


def _shrinks(scope: Scope) -> Iterator[RecentEvent]:
    rows: list[Any] = []
    for span in _SPANS:
        since = (scope.until - span).replace(second=0, microsecond=0)
        read = availability.absences_by_minute(scope.aliases, TimeRange(since, scope.until))
        rows = list(read[: scope.most])
        if len(rows) == scope.most:
            break
    for row in rows:
        alias, count = row["cluster__alias"], row["partitions"]
        of_topics = "a topic" if row["topics"] == 1 else f"{row['topics']} topics"
        noun = "partition" if count == 1 else f"partitions of {of_topics}"
        cause = (
            f" Cause: {row['cause']}.".replace("_", " ").replace("isr", "ISR")
            if row["cause"]
            else ""
        )
        text = f"Broker {row['broker']} of {alias} left the ISR of {count} {noun}.{cause}"
        ref = f"{row['cluster_id']}-{row['broker']}-{row['cause'] or 'unknown'}"
        href = f"{reverse('availability:partitions', args=[alias])}?missing={row['broker']}"
        yield RecentEvent(row["at"], EventKind.ISR, ref, Severity.WARNING, text, alias, href)


def _runs(scope: Scope) -> Iterator[RecentEvent]:
    rows = _of_flows(visible(scope.user, failover.list_written_runs()), "plan__flow__", scope)
    for row in scope.within(rows, "finished_at"):
        flow, person = row.plan.flow, row.requested_by
        by = f" by {person.get_username()}" if person else ""
        what = f"{row.get_kind_display().lower()}{by} ended, {spoken(row.state).lower()}"
        text = f"Failover plan {row.plan_id} of flow {flow.name}: {what}."
        severity = Severity.WARNING if row.bad_count or row.error else Severity.INFO
        href = reverse("replication:failover-run", args=[flow.pk, row.plan_id, row.pk])
        yield RecentEvent(
            row.finished_at, EventKind.FAILOVER, str(row.pk), severity, text, _ends(flow), href
        )


def _promotions(scope: Scope) -> Iterator[RecentEvent]:
    rows = availability.promotions.list_actions().filter(cluster__in=scope.aliases)
    for row in scope.within(rows.exclude(acted_at=None), "acted_at"):
        alias = row.cluster.alias
        state = row.get_state_display().lower()
        text = f"Promotion of {row.subject} on {alias} by {row.get_actor_display()}: {state}."
        href = reverse("availability:promotion", args=[alias])
        yield RecentEvent(
            row.acted_at, EventKind.PROMOTION, str(row.pk), Severity.INFO, text, alias, href
        )


_STEERED = {
    "flow.pause": "paused",
    "flow.resume": "resumed",
    "flow.start": "started",
    "flow.stop": "stopped",
    "flow.restart_parts": "restarted in part",
    "flow.change": "changed",
}


def _steered(scope: Scope) -> Iterator[RecentEvent]:
    rows = _of_flows(
        visible(scope.user, Flow.objects.select_related("source", "target")), "", scope
    )
    flows = {f"flow:{flow.name}": flow for flow in rows}
    entries = list_entries().filter(action__in=_STEERED, outcome=Outcome.DONE, subject__in=flows)
    for entry in scope.within(entries, "at"):
        flow = flows[entry.subject]
        text = f"Flow {flow.name} was {_STEERED[entry.action]} by {entry.actor_name or 'crosslog'}."
        href = reverse("replication:detail", args=[flow.pk])
        yield RecentEvent(
            entry.at, EventKind.FLOW, str(entry.pk), Severity.INFO, text, _ends(flow), href
        )


def _of_flows(rows: QuerySet[Any], path: str, scope: Scope) -> QuerySet[Any]:
    """Return rows of flows from or to the clusters of the scope."""
    ends = Q(**{f"{path}source__in": scope.aliases}) | Q(**{f"{path}target__in": scope.aliases})
    return rows.filter(ends)


def _ends(flow: Any) -> str:
    return f"{flow.source.alias} {ARROW} {flow.target.alias}"


def _incidents(scope: Scope) -> Iterator[RecentEvent]:
    rows = incidents_of(scope.user).select_related(
        "cluster", "flow__source", "flow__target", "log__cluster"
    )
    rows = rows.filter(_of_incident(scope))
    for row in scope.within(rows, "opened_at"):
        text = f"Incident opened: {row.title}"
        yield _of_incidents(row, row.opened_at, Severity(row.severity), text)
    for row in scope.within(rows, "ended_at"):
        text = f"Incident resolved after {format_span_ms(row.duration_ms)}: {row.title}"
        yield _of_incidents(row, row.ended_at, Severity.HEALTHY, text)


def _of_incident(scope: Scope) -> Q:
    of_crosslog = Q(cluster=None, flow=None, log=None)
    found = Q(cluster__in=scope.aliases) | Q(log__in=scope.logs) | of_crosslog
    return found | Q(flow__source__in=scope.aliases) | Q(flow__target__in=scope.aliases)


def _of_incidents(row: Incident, at: datetime, severity: Severity, text: str) -> RecentEvent:
    cluster = row.cluster or (row.log and row.log.cluster)
    where = _ends(row.flow) if row.flow else cluster.alias if cluster else "crosslog"
    return RecentEvent(
        at, EventKind.INCIDENT, str(row.pk), severity, text, where, incident_address(row.pk)
    )


Source = Callable[[Scope], Iterable[RecentEvent]]
_SOURCES: Sequence[tuple[EventKind, Source]] = (
    (EventKind.BROKER, _brokers),
    (EventKind.CONTROLLER, _elections),
    (EventKind.ISR, _shrinks),
    (EventKind.VOTERS, _voters),
    (EventKind.FAILOVER, _runs),
    (EventKind.PROMOTION, _promotions),
    (EventKind.FLOW, _steered),
    (EventKind.CONFIG, _configs),
    (EventKind.INCIDENT, _incidents),
)
