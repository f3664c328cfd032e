"""What the disaster recovery report is built from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q, prefetch_related_objects
from django.urls import reverse

from console.findings.models import Kind
from console.findings.queries import list_findings
from console.frame.pages.addresses import address_of
from console.replication.checkpoints import queries as answers
from console.replication.failover import queries as failovers
from console.reports.kinds.asked import Asked
from console.reports.kinds.checkpoint_samples import read_exposures
from console.reports.kinds.copy_audits import read_audits
from console.reports.kinds.objectives import read_objectives
from jobs.replication.checkpoints.obstacles import Readiness
from jobs.replication.findings.codes import DRIFT
from jobs.reports.kinds.flows.readiness import Answers, Exposure, Reason, State
from jobs.reports.kinds.flows.recovery import (
    ApplicationAnswer,
    DisasterRecoveryRecorded,
    Exercise,
    FlowRecovery,
    Freshness,
    Risk,
)
from jobs.reports.kinds.flows.sampling import holes, whole_of
from jobs.reports.periods import Period
from jobs.severity import Severity

# Findings of the severity info are no risks.
_OF_SYNCS = "syncs"

Changes = dict[tuple[int, str], list[tuple[datetime, State]]]


def read(asked: Asked) -> DisasterRecoveryRecorded:
    """Return what was recorded of the period."""
    flows = sorted(
        (flow for flow in asked.subjects if flow.created_at < asked.period.end),
        key=lambda flow: str(flow.name),
    )
    prefetch_related_objects(flows, "rounds", "answer")
    findings = _findings(flows, asked.period)
    risks = [risk for flow in flows for risk in _risks(flow, findings[flow.pk], asked.period)]
    return DisasterRecoveryRecorded(
        asked.period,
        asked.now - timedelta(days=settings.FINDINGS_RETENTION_D),
        tuple(_flows(flows, findings, asked.period)),
        tuple(_exercises(flows, asked.period)),
        tuple(risks),
        read_objectives(asked, "flow", flows),
        read_audits(asked, flows),
        tuple(_applications(flows, asked.now)),
    )


def state_of(readiness: str) -> State:
    """Return a readiness as rules of reports see it."""
    word, severity = answers.in_words(readiness)
    is_ready, counts = readiness == Readiness.READY, readiness != Readiness.NOT_COVERED
    return State(word, severity, is_ready, counts)


def _flows(
    flows: Sequence[Any], findings: Mapping[int, Sequence[Any]], period: Period
) -> Iterator[FlowRecovery]:
    ids = [flow.pk for flow in flows]
    changes = _changes(ids, period)
    exposures, covers = read_exposures(ids, period)
    holds = _holds(flows)
    newest = _newest_checkpoints(ids)
    whole = whole_of(period)
    groups: dict[int, set[str]] = {pk: set() for pk in ids}
    for pk, group in [*exposures, *changes]:
        if group and _is_covered(changes.get((pk, group)), exposures.get((pk, group))):
            groups[pk].add(group)
    for flow in flows:

        def answers_of(group: str, flow: Any = flow) -> Answers:
            key = (flow.pk, group)
            return Answers(
                flow.name,
                group,
                _page(flow, group),
                tuple(changes.get(key, ())),
                exposures.get(key, Exposure()),
                holds.get(key),
            )

        yield FlowRecovery(
            answers_of(""),
            flow.created_at,
            tuple(answers_of(group) for group in sorted(groups[flow.pk])),
            tuple(holes(covers[flow.pk], whole)),
            tuple(_reasons(findings[flow.pk])),
            _freshness(flow, newest.get(flow.pk)),
        )


def _is_covered(
    changes: Sequence[tuple[datetime, State]] | None, exposure: Exposure | None
) -> bool:
    return exposure is not None or any(state.counts for _, state in changes or ())


def _changes(flow_ids: Sequence[int], period: Period) -> Changes:
    """Return when answers changed until the end of the period, of those before its begin only the last."""
    rows = answers.list_changes().filter(flow__in=flow_ids, at__lt=period.end)
    found: Changes = {}
    for flow, group, at, readiness in rows.values_list("flow", "group", "at", "readiness"):
        held = found.setdefault((flow, group), [])
        if held and at <= period.start:
            held.clear()
        held.append((at, state_of(readiness)))
    return found


def _holds(flows: Sequence[Any]) -> dict[tuple[int, str], Reason]:
    """Return why answers are not ready that hold now, by flow and group."""
    found = {}
    for flow in flows:
        answer = answers.answer_of(flow)
        if answer is not None and answer.evidence:
            found[flow.pk, ""] = Reason(answer.since, None, answer.why)
    rows = answers.list_groups().filter(flow__in=[flow.pk for flow in flows])
    for row in rows.exclude(readiness__in=[Readiness.READY, Readiness.NOT_COVERED]):
        if row.evidence:
            found[row.flow_id, row.group] = Reason(row.since, None, row.why)
    return found


def _findings(flows: Sequence[Any], period: Period) -> dict[int, list[Any]]:
    """Return findings that were open at some moment of the period, the oldest first; one query."""
    found: dict[Any, list[Any]] = {flow.pk: [] for flow in flows}
    rows = list_findings(Kind.FLOW).filter(flow__in=list(found), opened_at__lt=period.end)
    rows = rows.filter(
        Q(closed_at=None) | Q(closed_at__gte=period.start), rank__gt=Severity.INFO.rank
    )
    for row in rows.order_by("opened_at", "pk"):
        found[row.flow_id].append(row)
    return found


def _reasons(findings: Sequence[Any]) -> Iterator[Reason]:
    for row in findings:
        if row.code not in DRIFT:
            yield Reason(row.opened_at, row.closed_at, row.sentence, row.rank)


def _risks(flow: Any, findings: Sequence[Any], period: Period) -> Iterator[Risk]:
    """Yield blocking conditions of a failover at the end: findings, and evidence of valid answers."""
    page = reverse("replication:findings", args=[flow.pk])
    for row in findings:
        if row.closed_at is None or row.closed_at > period.end:
            yield Risk(
                flow.name,
                Severity(row.severity),
                row.word,
                row.subject,
                row.sentence,
                row.todo,
                row.opened_at,
                page,
            )
    rows = answers.list_groups(flow).filter(since__lt=period.end)
    for row in rows.exclude(readiness__in=[Readiness.READY, Readiness.NOT_COVERED]):
        for told in row.evidence:
            state = state_of(told["readiness"])
            yield Risk(
                flow.name,
                state.level,
                state.word,
                row.group,
                told["text"],
                told["hint"],
                row.since,
                _page(flow, row.group),
            )


def _applications(flows: Sequence[Any], now: datetime) -> Iterator[ApplicationAnswer]:
    for own in answers.answers_for_flows(flows, now).values():
        for one in own:
            reasons = one.failover.reasons
            yield ApplicationAnswer(
                one.flow.name,
                one.application_id,
                one.word,
                one.severity,
                " ".join(reason.text for reason in reasons),
                " ".join(dict.fromkeys(reason.todo for reason in reasons)),
                _page(one.flow),
            )


def _exercises(flows: Sequence[Any], period: Period) -> Iterator[Exercise]:
    rows = failovers.list_runs_of(flows)
    for run in rows.filter(created_at__gte=period.start, created_at__lt=period.end):
        flow = run.plan.flow
        yield Exercise(
            run.created_at,
            run.finished_at,
            flow.name,
            run.plan.name,
            run.get_kind_display(),
            run.plan.get_direction_display().capitalize(),
            run.get_state_display(),
            run.requested_by.get_username() if run.requested_by else "",
            len(run.groups),
            run.bad_count,
            run.error,
            reverse("replication:failover-run", args=[flow.pk, run.plan_id, run.pk]),
        )


def _newest_checkpoints(flow_ids: Sequence[int]) -> dict[int, datetime]:
    found: dict[int, int] = {}
    rows = answers.list_groups().filter(flow__in=flow_ids, checkpoint_count__gt=0).order_by("pk")
    for flow, places in rows.values_list("flow", "partitions").iterator(chunk_size=100):
        for place in places:
            at_ms = place.get("checkpoint_at_ms")
            if at_ms is not None and at_ms > found.get(flow, -1):
                found[flow] = at_ms
    return {flow: datetime.fromtimestamp(at_ms / 1000, UTC) for flow, at_ms in found.items()}


def _freshness(flow: Any, newest: datetime | None) -> Freshness:
    row = answers.row_of(flow)
    syncs = next((one for one in flow.rounds.all() if one.noun == _OF_SYNCS), None)
    return Freshness(
        newest,
        row.checkpoints_read_at if row else None,
        syncs.succeeded_at if syncs else None,
    )


def _page(flow: Any, group: str = "") -> str:
    if group:
        return address_of("replication:checkpoint-group", flow.pk, group)
    return reverse("replication:checkpoints", args=[flow.pk])
