"""What the pages of a failover show, as their templates take it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from console.frame.errors import or_404
from console.frame.security.access import can
from console.replication.failover import queries
from console.replication.failover.models import (
    LIVE,
    FailoverPlan,
    FailoverPlanGroup,
    GroupState,
    PlanState,
)
from console.replication.failover.queries import offsets_of
from console.replication.failover.tables import AT_RISK, EXACT, REREAD
from jobs.numbers import format_count, format_span_s
from jobs.replication.failover.commands import (
    Commands,
    apply_commands,
    planned_undo,
    undo_commands,
)
from jobs.replication.failover.model import CheckState, GroupPlan
from jobs.severity import Severity

_SEVERITIES = {
    CheckState.PASSED: Severity.HEALTHY,
    CheckState.UNKNOWN: Severity.UNKNOWN,
    CheckState.WARNING: Severity.WARNING,
    CheckState.FAILED: Severity.CRITICAL,
}
MOST_GROUPS_SHOWN = 50


def severity_of_verdict(verdict: str) -> str:
    """Return the severity of a pre-check."""
    return _SEVERITIES[CheckState(verdict)].value


def find_plan(request: HttpRequest, flow_id: int, plan_id: int) -> FailoverPlan:
    """Return a plan that the person may see."""
    return or_404(
        queries.get_plan(request.user, flow_id, plan_id),
        f"There is no failover plan {plan_id} of this flow.",
    )


def around_plan(request: HttpRequest, plan: FailoverPlan) -> dict[str, Any]:
    """Return what every page of a plan shows, and whether the person may set its groups."""
    live = plan.failover_runs.filter(state__in=LIVE).first()
    is_reading = plan.state in {PlanState.QUEUED, PlanState.READING}
    return {
        "plan": plan,
        "live_run": live,
        "is_reading": is_reading,
        "may_set": can(request.user, "operate", plan.destination.pk),
        "may_run": plan.state == PlanState.READY
        and not (plan.is_stale or why_none_moves(plan))
        and live is None,
        "why_none_moves": why_none_moves(plan),
        "movable": plan.group_count - plan.blocked_count,
        "limit_s": settings.FAILOVER_EVIDENCE_S,
    }


def why_none_moves(plan: FailoverPlan) -> str:
    """Return why no group of a plan that was read can move; empty when one can."""
    if plan.verdict == CheckState.FAILED:
        return "A pre-check of the plan failed."
    if plan.group_count and plan.blocked_count == plan.group_count:
        return "Pre-checks of every group of this plan failed."
    return ""


def facts_of(plan: FailoverPlan) -> list[dict[str, Any]]:
    """Return the answer in the first row."""
    ready = plan.group_count - plan.blocked_count
    at_risk = [check for check in plan.document.get("checks", ()) if check["key"] == "copied"]
    age_s = (timezone.now() - plan.read_at).total_seconds() if plan.read_at else None
    limit = format_span_s(settings.FAILOVER_EVIDENCE_S)
    return [
        {
            "label": "Groups that can move",
            "value": f"{format_count(ready)} of {format_count(plan.group_count)}",
            "note": "not blocked by pre-checks" if ready else "pre-checks block all of them",
            "severity": "" if ready else "critical",
            "definition": "Groups of the plan without a failed pre-check.",
        },
        {
            "label": "Records reprocessed (max)",
            "value": format_count(plan.reread_most),
            "note": "sum of all groups",
            "definition": REREAD,
        },
        {
            "label": f"Not on {plan.destination.alias} yet (records)",
            "value": format_count(plan.at_risk),
            "note": at_risk[0]["what"] if at_risk else f"records that only {plan.origin.alias} has",
            "definition": AT_RISK,
        },
        {
            "label": "Exact offsets",
            "value": f"{format_count(plan.exact_count)} of {format_count(plan.item_count)}",
            "note": "partitions, proven by offset syncs",
            "definition": EXACT,
        },
        {
            "label": "Plan age",
            "value": format_span_s(age_s),
            "note": f"expired at {limit}: refresh the plan"
            if plan.is_stale
            else f"expires at {limit}",
            "severity": "warning" if plan.is_stale else "",
            "definition": "How long ago both clusters were queried. An expired plan is refused.",
        },
    ]


def findings_of(checks: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return pre-checks as findings, those that matter first."""
    worst_first = list(CheckState)[::-1]
    ordered = sorted(checks, key=lambda one: worst_first.index(CheckState(one["state"])))
    return [
        {
            "severity": severity_of_verdict(one["state"]),
            "word": CheckState(one["state"]).value.capitalize(),
            "what": one["what"],
            "why": one["evidence"],
            "next": one["next"],
        }
        for one in ordered
    ]


def topics_of(plan: FailoverPlan) -> list[dict[str, Any]]:
    """Return the topics with their findings, those with something to look at first."""
    rows = [
        {
            "topic": one["topic"],
            "to_topic": one["to_topic"],
            "findings": findings_of(one["checks"]),
            "is_fine": all(
                CheckState(check["state"]) is CheckState.PASSED for check in one["checks"]
            ),
        }
        for one in plan.document.get("topics", ())
    ]
    return sorted(rows, key=lambda one: (one["is_fine"], one["topic"]))


def items_of(row: FailoverPlanGroup) -> list[dict[str, Any]]:
    """Return a group's partitions with their offsets before the plan was applied."""
    stored = offsets_of(row.before)
    found = []
    for item in row.document["items"]:
        known = {(w.topic, w.partition): one.offset for w, one in stored.items()}
        key = (item["to_topic"], item["partition"])
        before = known.get(key, item["before"])
        found.append({**item, "before": before, "proof": _proof(item)})
    return found


def _proof(item: Mapping[str, Any]) -> str:
    """Return the certainty of the offset: `exact`, or its range."""
    if item["exact"]:
        return "exact"
    if item["lo"] is None:
        return item["problem"] or "no translation"
    hi = "not known" if item["hi"] is None else format_count(item["hi"])
    return f"{format_count(item['lo'])} \N{HORIZONTAL ELLIPSIS} {hi}"


def shown_commands(plan: FailoverPlan) -> dict[str, Commands]:
    """Return the commands for a page; none for plans with too many groups for a page."""
    return commands_of(plan) if 0 < plan.group_count <= MOST_GROUPS_SHOWN else {}


def commands_of(plan: FailoverPlan) -> dict[str, Commands]:
    """Return the kafka-consumer-groups.sh commands to apply and to roll back; reads all groups."""
    rows = list(plan.plan_groups.all())
    servers = plan.destination.bootstrap_servers
    blocked = {one.group for one in rows if one.verdict == CheckState.FAILED}
    groups = [GroupPlan.from_mapping(one.document) for one in rows]
    stored = {one.group: offsets_of(one.before) for one in rows if one.before is not None}
    undone = {one.group for one in rows if one.state == GroupState.UNDONE}
    before = {**planned_undo(groups), **stored}
    return {
        "apply": apply_commands(servers, [one for one in groups if one.group not in blocked]),
        "undo": undo_commands(
            servers, {g: one for g, one in before.items() if g not in blocked | undone}
        ),
    }
