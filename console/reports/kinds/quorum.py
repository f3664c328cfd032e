"""What the quorum report is built from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, Q, QuerySet, When
from django.urls import reverse

from console.clusters.models import Cluster
from console.findings.models import Kind as FindingKind
from console.findings.queries import list_findings
from console.quorum import queries
from console.quorum.history import queries as history
from console.reports.kinds.asked import (
    Answer,
    Asked,
    Question,
    key_of,
    moment_in,
    needs_analysis,
    window_of,
)
from console.reports.kinds.broker_records import read_brokers
from jobs.quorum.timeline.clock import SHORTEST_SILENCE_MS
from jobs.reports.document import Gap
from jobs.reports.kinds.clusters.quorum_recorded import (
    ClusterQuorum,
    ControllerTime,
    ElectionRecorded,
    FindingRecorded,
    QuorumRecorded,
    SettingChange,
    Silence,
    VoterChange,
)
from jobs.reports.periods import Period
from jobs.reports.values import stamp, within

KIND = "time-without-controller"
MOST_CONFIGS = 1000
MOST_FINDINGS = 500
SHORT_ID = 8


def questions(asked: Asked) -> Sequence[Question]:
    """Return the analyses for logs whose history in the database does not cover the period."""
    found = []
    for cluster in asked.subjects:
        log = queries.log_of(cluster)
        if log is None:
            continue
        is_cut = log.pruned_below is not None
        if needs_analysis(asked, log.name, queries.known_from(log), is_cut=is_cut):
            arguments = window_of(asked, log.name)
            found.append(Question(key_of(asked, KIND, log.name), KIND, arguments))
    return found


def read(asked: Asked) -> QuorumRecorded:
    """Return what was recorded of the period."""
    return QuorumRecorded(asked.period, tuple(_read(asked, one) for one in asked.subjects))


def _read(asked: Asked, cluster: Cluster) -> ClusterQuorum:
    period, log = asked.period, queries.log_of(cluster)
    if log is None:
        why = f"No metadata log of {cluster.alias} is kept."
        gap = Gap(stamp(period.start), stamp(period.end), why)
        return ClusterQuorum(cluster.alias, gaps=(gap,))
    answer = asked.answers.get(key_of(asked, KIND, log.name))
    told: dict[str, Any] = {"controller_time": _controller_time(answer), **_pages(log, period)}
    known_from = queries.known_from(log)
    start = max(known_from, period.start) if known_from else None
    end = min(log.heard_at or log.last_at or period.start, period.end)
    if start is None or start >= end:
        why = f"The metadata log of {cluster.alias} is not known in this period."
        gap = Gap(stamp(period.start), stamp(period.end), why)
        return ClusterQuorum(cluster.alias, gaps=(gap,), **told)
    brokers, events = read_brokers(log, start, end)
    configs = _changes(log, queries.ChangeKind.CONFIG, start, end)
    return ClusterQuorum(
        cluster.alias,
        start,
        end,
        tuple(_gaps(log, period, start, end)),
        **_voters(log, start, end),
        **_elections(log, start, end),
        brokers=brokers,
        broker_events=events,
        configs=tuple(_settings(log, configs)),
        config_counts=tuple(_config_counts(configs)),
        features=tuple(_features(log, start, end)),
        findings=tuple(_findings(log, start, end)),
        **told,
    )


def _gaps(log: queries.Log, period: Period, start: datetime, end: datetime) -> Iterator[Gap]:
    if start > period.start:
        why = f"The metadata log of {log.label} is known from here on."
        yield Gap(stamp(period.start), stamp(start), why)
    for begin, over, why in queries.told_gaps(log):
        if begin < end and over > start:
            yield Gap(stamp(max(begin, start)), stamp(min(over, end)), why)
    if (period.end - end).total_seconds() > queries.SILENT_AFTER.total_seconds():
        why = f"The metadata log of {log.label} was last read then."
        yield Gap(stamp(end), stamp(period.end), why)


def _voters(log: queries.Log, start: datetime, end: datetime) -> dict[str, Any]:
    rows = queries.list_voter_sets(log).order_by("offset")
    before = rows.filter(at__lt=start).last()
    inside = list(rows.filter(at__gte=start, at__lt=end))
    last = inside[-1] if inside else before
    changes = tuple(
        VoterChange(
            one.at,
            one.change_text or ("first known" if before is None else "same voters"),
            _voter_text(one.voters),
            one.is_committed,
            reverse("quorum:record", args=[log.name, one.offset]),
        )
        for one in inside
    )
    return {
        "voters_before": _voter_text(before.voters) if before else None,
        "voters_after": _voter_text(last.voters) if last else None,
        "voter_changes": changes,
    }


def _voter_text(voters: Sequence[dict[str, Any]]) -> str:
    """Return voters as their ids, each with the begin of its directory id."""
    named = ((one["id"], one.get("directory_id")) for one in voters)
    return ", ".join(
        f"{node} ({directory[:SHORT_ID]}…)" if directory else str(node) for node, directory in named
    )


def _elections(log: queries.Log, start: datetime, end: datetime) -> dict[str, Any]:
    rows = queries.list_elections(log).order_by("offset")
    before = rows.filter(at__lt=start).last()
    inside = rows.filter(at__gte=start, at__lt=end)
    found = tuple(
        ElectionRecorded(
            one.at,
            one.epoch,
            one.leader_id,
            one.gap_ms,
            tuple(one.oddities),
            reverse("quorum:record", args=[log.name, one.offset]),
            one.is_silence,
        )
        for one in inside
    )
    silences = queries.list_silences(log).filter(to_at__gt=start, from_at__lt=end)
    return {
        "elections": found,
        "silences": tuple(Silence(one.from_at, one.to_at) for one in silences),
        "leader_before": before.leader_id if before else None,
    }


def _changes(log: queries.Log, kind: str, start: datetime, end: datetime) -> QuerySet[Any]:
    rows = history.list_changes(log, kind).filter(at__gte=start, at__lt=end)
    return rows.order_by("effective_offset", "number")


def _settings(log: queries.Log, rows: QuerySet[Any]) -> Iterator[SettingChange]:
    """Yield the first config changes; values of secrets were redacted when the log was read."""
    for one in history.with_previous(list(rows[:MOST_CONFIGS])):
        kind, resource, name = _resource_of(one.subject.key)
        href = reverse("quorum:record", args=[log.name, one.offset])
        was, now = _state_before(one).get("value"), _state_after(one).get("value")
        yield SettingChange(one.at, kind, resource, name, was, now, href)


def _features(log: queries.Log, start: datetime, end: datetime) -> Iterator[SettingChange]:
    rows = _changes(log, queries.ChangeKind.FEATURE, start, end)
    for one in history.with_previous(list(rows[:MOST_CONFIGS])):
        href = reverse("quorum:record", args=[log.name, one.offset])
        was, now = _state_before(one).get("level"), _state_after(one).get("level")
        if was != now:
            yield SettingChange(one.at, "", "", one.subject.key, was, now, href)


def _state_before(change: Any) -> dict[str, Any]:
    was = change.previous
    return {} if was is None or was.is_removed else was.state


def _state_after(change: Any) -> dict[str, Any]:
    return {} if change.is_removed else change.state


def _config_counts(rows: QuerySet[Any]) -> Iterator[tuple[str, str, int]]:
    counts: dict[tuple[str, str], int] = {}
    told = rows.order_by().values("subject__key").annotate(count=Count("pk"))
    for key, count in told.values_list("subject__key", "count"):
        kind, resource, _ = _resource_of(key)
        counts[kind, resource] = counts.get((kind, resource), 0) + count
    for (kind, resource), count in sorted(counts.items()):
        yield kind, resource, count


def _resource_of(key: str) -> tuple[str, str, str]:
    """Return resource type, resource and config of the key of a setting."""
    kind, _, rest = key.partition(":")
    resource, _, name = rest.rpartition(":")
    return kind, resource, name


def _findings(log: queries.Log, start: datetime, end: datetime) -> Iterator[FindingRecorded]:
    """Yield the findings that were open in the period, those first that were open at its end."""
    is_open = Q(closed_at=None) | Q(closed_at__gte=end)
    rows = list_findings(FindingKind.QUORUM, log=log.pk or 0).filter(
        is_open | Q(closed_at__gt=start), opened_at__lt=end
    )
    rows = rows.annotate(is_over=Case(When(is_open, then=0), default=1))
    for one in rows.order_by("is_over", "-rank", "opened_at", "pk")[:MOST_FINDINGS]:
        closed_at = one.closed_at if one.is_over else None
        yield FindingRecorded(
            one.severity, one.word, one.sentence, one.todo, one.opened_at, closed_at
        )


def _controller_time(answer: Answer | None) -> ControllerTime | None:
    if answer is None:
        return None
    facts = (answer.document or {}).get("facts", {})
    if "total_ms" not in facts:
        return ControllerTime(answer.href, answer.error or "It has no result.")
    return ControllerTime(
        answer.href,
        "",
        facts["spans"],
        facts["total_ms"],
        facts["longest_ms"],
        moment_in(facts, "longest_from"),
        moment_in(facts, "from"),
        moment_in(facts, "to"),
        facts["longest_ms"] > SHORTEST_SILENCE_MS,
    )


def _pages(log: queries.Log, period: Period) -> dict[str, str]:
    names = {
        "href": "quorum:detail",
        "voters_href": "quorum:voters",
        "brokers_href": "quorum:brokers",
        "settings_href": "quorum:settings",
    }
    return {
        name: within(reverse(page, args=[log.name]), period.start, period.end)
        for name, page in names.items()
    }
