"""What was planned, done and found in one run: JSON to be signed, and what of it is printed. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from jobs.replication.failover.applying import GroupOutcome
from jobs.replication.failover.model import FailoverPlan
from jobs.version import VERSION

FORMAT = "crosslog.failover-report"
FORMAT_VERSION = 1
_DASH = "-"


class RunKind(StrEnum):
    """What a run does with a plan."""

    REHEARSAL = "rehearsal"
    APPLY = "apply"
    UNDO = "undo"


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Who requested a run, and when it resumed; `asked_by` is empty for a shell without a name.

    `left_out` are groups of the plan that the run is not about, with why.
    """

    run_id: str
    kind: RunKind
    state: str
    plan_name: str
    asked_by: str
    started_at: datetime
    finished_at: datetime
    problem: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)


def build_report(
    facts: RunFacts, plan: FailoverPlan, outcomes: Sequence[GroupOutcome]
) -> dict[str, Any]:
    """Return the report as JSON values without fractions."""
    planned = plan.to_mapping(with_groups=False)
    groups = {one.group: one.to_mapping() for one in plan.groups}
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "crosslog": VERSION,
        "run": facts.run_id,
        "kind": facts.kind.value,
        "state": facts.state,
        "problem": facts.problem,
        "left_out": dict(facts.left_out),
        "asked_by": facts.asked_by,
        "started_at": _stamp(facts.started_at),
        "finished_at": _stamp(facts.finished_at),
        "plan": {"name": facts.plan_name, **planned},
        "groups": [
            {"plan": groups.get(one.group), "outcome": one.to_mapping()} for one in outcomes
        ],
    }


def title_of(report: Mapping[str, Any]) -> str:
    words = {"rehearsal": "Dry run of a", "apply": "Report of a", "undo": "Roll back of a"}
    plan = report["plan"]
    return (
        f"{words.get(report['kind'], 'Report of a')} {plan['direction']}: {plan['origin']} to "
        f"{plan['destination']}"
    )


def check_lines(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield all checks with what they are about: the plan, a topic, a group."""
    for check in report["plan"]["checks"]:
        yield "plan", check
    for topic in report["plan"]["topics"]:
        for check in topic["checks"]:
            yield f"topic {topic['topic']}", check
    for group in report["groups"]:
        for check in (group["plan"] or {}).get("checks", ()):
            yield f"group {group['outcome']['group']}", check


def facts_of(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the first rows of a report."""
    plan = report["plan"]
    read_at = datetime.fromtimestamp(plan["read_at_ms"] / 1000, UTC)
    ended = [one["outcome"]["state"] for one in report["groups"]]
    counts = ", ".join(f"{ended.count(state)} {state}" for state in dict.fromkeys(ended))
    return [
        ("Run", f"{report['run']} ({report['kind']}, {report['state']})"),
        ("Plan", plan["name"]),
        ("Flow", plan["flow"]),
        ("From", f"{plan['origin']} (cluster id {plan['origin_cluster_id'] or _DASH})"),
        ("To", f"{plan['destination']} (cluster id {plan['destination_cluster_id'] or _DASH})"),
        ("Evidence read", _stamp(read_at)),
        ("Requested by", report["asked_by"] or _DASH),
        ("Started", report["started_at"]),
        ("Finished", report["finished_at"]),
        ("Groups", counts or "none"),
        *((f"Left out: {group}", why) for group, why in report.get("left_out", {}).items()),
        ("Problem", report["problem"] or "none"),
        ("Written by", f"crosslog {report['crosslog']}"),
    ]


def bounds_of(planned: Mapping[str, Any]) -> str:
    """Return the certificate of a partition in words."""
    if planned["exact"]:
        return "exact"
    if planned["lo"] is None:
        return f"no translation: {planned['problem']}"
    hi = "no upper bound" if planned["hi"] is None else f"at most {planned['hi']}"
    return f"at least {planned['lo']}, {hi}"


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
