"""A failover plan and its outcome as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from jobs.replication.failover.applying import GroupOutcome
from jobs.replication.failover.commands import apply_commands, planned_undo, undo_commands
from jobs.replication.failover.model import Check, CheckState, FailoverPlan, GroupPlan, PlanItem

_MARKS = {
    CheckState.PASSED: "passed ",
    CheckState.UNKNOWN: "unknown",
    CheckState.WARNING: "warning",
    CheckState.FAILED: "FAILED ",
}


def plan(found: FailoverPlan, bootstrap_servers: str, *, is_dry: bool) -> Iterator[str]:
    """Yield the plan: checks, what is set, and Kafka's own commands for the same."""
    yield f"{found.request.direction.value}: {found.origin} -> {found.destination}, flow {found.flow}"
    yield from _checks(found.checks, "")
    for topic in found.topics:
        yield f"topic {topic.topic} -> {topic.to_topic}"
        yield from _checks(topic.checks, "  ", only_bad=True)
    for group in found.groups:
        yield from _group(group)
    if not found.groups:
        yield "No group with a committed offset on these topics matches."
    elif is_dry:
        yield "Nothing was changed. Commands of Kafka's own tool:"
        yield from _commands(found, bootstrap_servers)


def outcomes(
    found: Iterable[GroupOutcome], left_out: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield the outcomes, a line for each group, also for those that were left out."""
    yield from (f"{one.group}: {one.state.value}. {one.message}" for one in found)
    yield from (f"{group}: left out. {why}" for group, why in (left_out or {}).items())


def _checks(checks: Iterable[Check], indent: str, *, only_bad: bool = False) -> Iterator[str]:
    for one in checks:
        if only_bad and one.state is CheckState.PASSED:
            continue
        yield f"{indent}{_MARKS[one.state]} {one.what}" + (
            f" ({one.evidence})" if one.evidence else ""
        )
        if one.next and one.state is not CheckState.PASSED:
            yield f"{indent}        -> {one.next}"


def _group(group: GroupPlan) -> Iterator[str]:
    yield f"group {group.group}: {group.verdict.value}"
    yield from _checks(group.checks, "  ", only_bad=True)
    for item in group.items:
        yield f"  {item.origin} at {item.committed} {_resumes(item)}"


def _resumes(item: PlanItem) -> str:
    if item.target is None:
        return f"gets no offset: {item.problem}"
    before = "no commit" if item.before is None else item.before
    hi = "not known" if item.hi is None else item.hi
    proof = "exact" if item.exact else f"{item.lo} to {hi}; at most {item.reread_most} reprocessed"
    return f"-> {item.destination}: {before} -> {item.target} ({proof})"


def _commands(found: FailoverPlan, bootstrap_servers: str) -> Iterator[str]:
    for one in (
        apply_commands(bootstrap_servers, found.groups),
        undo_commands(bootstrap_servers, planned_undo(found.groups)),
    ):
        yield f"  {one.file_name}:"
        yield from (f"    {line}" for line in one.csv.splitlines())
        yield from (f"  {line}" for line in one.lines)
