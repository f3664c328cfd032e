"""Recent events of all rooms, newest first: read from what is recorded, in a constant number of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import Q, QuerySet
from django.urls import reverse

from console.accounts.models import Outcome
from console.accounts.queries import list_entries
from console.availability.status import queries as availability
from console.clusters.models import Cluster
from console.findings.incidents.queries import list_incidents
from console.findings.queries import on_cluster
from console.frame.pages.states import spoken
from console.frame.pages.timerange import TimeRange
from console.frame.security.access import visible
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

    kind: EventKind
    at: datetime
    ref: Any
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
    alias: str
    aliases: dict[int, str]
    logs: list[int]

    @property
    def since(self) -> datetime:
        return self.until - LONGEST

    def within(self, rows: QuerySet[Any], name: str) -> QuerySet[Any]:
        """Return the newest rows of the time, by the field that has it."""
        rows = rows.filter(**{f"{name}__gte": self.since, f"{name}__lt": self.until})
        return rows.order_by(f"-{name}")[: self.most]


def read_events(
    user: Any, until: datetime, most: int, kind: str = "", alias: str = ""
) -> tuple[list[RecentEvent], datetime | None]:
    """Return the newest events before a time, and before which time there are more (None: there are none).

    Events of one second are on one page.
    """
    rows = visible(user, Cluster.objects.order_by("alias"))
    aliases = dict((rows.filter(alias=alias) if alias else rows).values_list("pk", "alias"))
    logs = quorum.Log.objects.filter(cluster__in=aliases).values_list("pk", flat=True)
    scope = Scope(user, until, most + 1, alias, aliases, list(logs))
    newest = sorted(
        (
            RecentEvent(one, *told)
            for one, read in _SOURCES.items()
            if kind in {"", one.value}
            for told in read(scope)
        ),
        key=lambda one: (one.at, one.id),
        reverse=True,
    )
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


# An event without its kind: at, ref, severity, text, where, href.
Said = tuple[datetime, Any, Severity, str, str, str]
Source = Callable[[Scope], Iterator[Said]]
_BROKERS = {
    Cause.BROKER_FENCED: ("was fenced", Severity.WARNING),
    Cause.BROKER_UNFENCED: ("was unfenced: it is back", Severity.HEALTHY),
    Cause.CONTROLLED_SHUTDOWN: ("began a controlled shutdown", Severity.INFO),
    Cause.BROKER_RESTARTED: ("restarted", Severity.INFO),
    Cause.BROKER_UNREGISTERED: ("was unregistered", Severity.WARNING),
    Cause.LOG_DIR_FAILED: ("has a failed log directory", Severity.CRITICAL),
}


def _of_logs(
    list_rows: Callable[[list[int]], QuerySet[Any]],
    say: Callable[[Any, str], tuple[Severity, str]],
    at: str = "at",
) -> Source:
    """Return a source of what metadata logs have; `say` gets a row and the alias of its cluster."""

    def read(scope: Scope) -> Iterator[Said]:
        for row in scope.within(list_rows(scope.logs), at):
            alias = row.log.cluster.alias
            href = reverse("quorum:record", args=[row.log.name, row.offset])
            yield row.at, row.pk, *say(row, alias), alias, href

    return read


def _broker(row: Any, alias: str) -> tuple[Severity, str]:
    words, severity = _BROKERS[Cause(row.cause)]
    return severity, f"Broker {row.broker} of {alias} {words}."


def _config(row: Any, alias: str) -> tuple[Severity, str]:
    done = "removed" if row.is_removed else "set"
    return Severity.INFO, f"Config {row.subject.name} of {alias} was {done}."


def _election(row: Any, alias: str) -> tuple[Severity, str]:
    gap = "" if row.gap_ms is None else f", {format_span_ms(row.gap_ms)} without a record before"
    text = f"Controller {row.leader_id} of {alias} was elected: epoch {row.epoch}{gap}."
    return Severity.WARNING if row.oddities else Severity.INFO, text


def _voters(row: Any, alias: str) -> tuple[Severity, str]:
    return Severity.INFO, f"Voters of {alias} changed: {row.change_text}."


def _shrinks(scope: Scope) -> Iterator[Said]:
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
        cause = str(row["cause"]).replace("_", " ").replace("isr", "ISR")
        text = f"Broker {row['broker']} of {alias} left the ISR of {count} {noun}."
        text += f" Cause: {cause}." if row["cause"] else ""
        ref = f"{row['cluster_id']}-{row['broker']}-{row['cause'] or 'unknown'}"
        href = f"{reverse('availability:partitions', args=[alias])}?missing={row['broker']}"
        yield row["at"], ref, Severity.WARNING, text, alias, href


def _runs(scope: Scope) -> Iterator[Said]:
    rows = _of_flows(visible(scope.user, failover.list_written_runs()), "plan__flow__", scope)
    for row in scope.within(rows, "finished_at"):
        flow, person = row.plan.flow, row.requested_by
        by = f" by {person.get_username()}" if person else ""
        what = f"{row.get_kind_display().lower()}{by} ended, {spoken(row.state).lower()}"
        text = f"Failover plan {row.plan_id} of flow {flow.name}: {what}."
        severity = Severity.WARNING if row.bad_count or row.error else Severity.INFO
        href = reverse("replication:failover-run", args=[flow.pk, row.plan_id, row.pk])
        yield row.finished_at, row.pk, severity, text, _where(flow.source, flow.target), href


def _promotions(scope: Scope) -> Iterator[Said]:
    rows = availability.promotions.list_actions().filter(cluster__in=scope.aliases)
    for row in scope.within(rows.exclude(acted_at=None), "acted_at"):
        alias = row.cluster.alias
        state = row.get_state_display().lower()
        text = f"Promotion of {row.subject} on {alias} by {row.get_actor_display()}: {state}."
        href = reverse("availability:promotion", args=[alias])
        yield row.acted_at, row.pk, Severity.INFO, text, alias, href


_STEERED = {
    "flow.pause": "paused",
    "flow.resume": "resumed",
    "flow.start": "started",
    "flow.stop": "stopped",
    "flow.restart_parts": "restarted in part",
    "flow.change": "changed",
}


def _steered(scope: Scope) -> Iterator[Said]:
    flows = visible(scope.user, Flow.objects.select_related("source", "target"))
    subjects = {f"flow:{flow.name}": flow for flow in _of_flows(flows, "", scope)}
    entries = list_entries().filter(action__in=_STEERED, outcome=Outcome.DONE, subject__in=subjects)
    for entry in scope.within(entries, "at"):
        flow = subjects[entry.subject]
        text = f"Flow {flow.name} was {_STEERED[entry.action]} by {entry.actor_name or 'crosslog'}."
        href = reverse("replication:detail", args=[flow.pk])
        yield entry.at, entry.pk, Severity.INFO, text, _where(flow.source, flow.target), href


def _of_flows(rows: QuerySet[Any], path: str, scope: Scope) -> QuerySet[Any]:
    """Return rows of flows from or to the clusters of the scope."""
    ends = Q(**{f"{path}source__in": scope.aliases}) | Q(**{f"{path}target__in": scope.aliases})
    return rows.filter(ends)


def _where(*clusters: Cluster) -> str:
    return f" {ARROW} ".join(one.alias for one in clusters)


def _incidents(scope: Scope) -> Iterator[Said]:
    rows = visible(scope.user, list_incidents())
    rows = on_cluster(rows, scope.alias) if scope.alias else rows
    for row in scope.within(rows, "opened_at"):
        text, severity = f"Incident opened: {row.title}", Severity(row.severity)
        yield row.opened_at, row.pk, severity, text, _where(*row.clusters) or "crosslog", row.href
    for row in scope.within(rows, "ended_at"):
        text = f"Incident resolved after {format_span_ms(row.duration_ms)}: {row.title}"
        where = _where(*row.clusters) or "crosslog"
        yield row.ended_at, row.pk, Severity.HEALTHY, text, where, row.href


def _changes(kind: quorum.ChangeKind, **of: Any) -> Callable[[list[int]], QuerySet[Any]]:
    return lambda logs: quorum.list_changes(logs, kind).filter(**of)


_SOURCES: dict[EventKind, Source] = {
    EventKind.BROKER: _of_logs(
        _changes(quorum.ChangeKind.BROKER, cause__in=_BROKERS), _broker, "moment"
    ),
    EventKind.CONTROLLER: _of_logs(
        lambda logs: quorum.list_elections().filter(log__in=logs), _election
    ),
    EventKind.ISR: _shrinks,
    EventKind.VOTERS: _of_logs(
        lambda logs: (
            quorum.list_voter_sets().filter(log__in=logs).exclude(added=[], removed=[], moved=[])
        ),
        _voters,
    ),
    EventKind.FAILOVER: _runs,
    EventKind.PROMOTION: _promotions,
    EventKind.FLOW: _steered,
    EventKind.CONFIG: _of_logs(_changes(quorum.ChangeKind.CONFIG), _config, "moment"),
    EventKind.INCIDENT: _incidents,
}
