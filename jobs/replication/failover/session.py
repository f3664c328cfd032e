"""Creates a plan from real clusters, and confirms an earlier one unless it is expired or no longer holds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields
from jobs.patterns.matching import name_pattern
from jobs.replication.failover.evidence import Evidence
from jobs.replication.failover.model import CheckState, FailoverPlan, GroupPlan, PlanItem
from jobs.replication.failover.planner import check_request, make_plan
from jobs.replication.failover.read_evidence import EvidenceRequest, read_evidence

MOST_TOLD = 20
_SHARE = "share"


class PlanRefused(Exception):
    """A plan that may not be applied; `code` is stable for programs, `details` are sentences."""

    def __init__(self, code: str, message: str, details: Collection[str] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = tuple(details)


def refuse_old(plan: FailoverPlan, now_ms: int, limit_s: int) -> None:
    """Raise `PlanRefused` when the plan is older than its evidence may be, or from the future."""
    age_s = (now_ms - plan.read_at_ms) / 1000
    if age_s > limit_s:
        raise PlanRefused(
            "plan_stale",
            f"The plan's evidence is {age_s:.0f} s old, and {limit_s} s are allowed. Refresh the plan.",
        )
    if age_s < -limit_s:
        text = "The plan's evidence is from the future: the clocks of two machines differ."
        raise PlanRefused("plan_stale", text)


def refuse_blocked(plan: FailoverPlan, groups: Collection[str]) -> None:
    """Raise `PlanRefused` when a check of the plan, or of one of these groups, blocks."""
    wrong = [one.what for one in plan.checks if one.state is CheckState.FAILED]
    for name in groups:
        group = plan.group(name)
        told = ["is not in the plan."] if group is None else blocking_checks(plan, group)
        wrong += [f"{name}{' ' if group is None else ': '}{one}" for one in told]
    if wrong:
        raise PlanRefused("plan_blocked", _sentence("Pre-checks block it", wrong), wrong)


def refuse_changed(plan: FailoverPlan, now: FailoverPlan, groups: Collection[str]) -> None:
    """Raise `PlanRefused` when the same plan made now would not confirm this one for these groups.

    A lower bound that rose, or logs that grew, do not count: what was planned still skips nothing.
    """
    found = list(_differences(plan, now, groups))
    if found:
        text = _sentence("Since the plan was made, things have changed", found)
        raise PlanRefused("evidence_changed", f"{text} Refresh the plan.", found)


def blocking_checks(plan: FailoverPlan, group: GroupPlan) -> list[str]:
    """Return the sentences of the pre-checks that block a group, its own and those of its topics."""
    topics = {one.origin.topic for one in group.items}
    checks = [*group.checks, *(c for t in plan.topics if t.topic in topics for c in t.checks)]
    return [c.what for c in checks if c.state is CheckState.FAILED]


def groups_that_count(plan: FailoverPlan) -> list[GroupPlan]:
    """Return the groups of which a verdict decides: share groups, which are not moved, only by their name."""
    named = plan.request.groups
    return [one for one in plan.groups if one.type != _SHARE or one.items or one.group in named]


def left_out(plan: FailoverPlan) -> dict[str, str]:
    """Return the groups that cannot move by the plan, with why."""
    told = {one.group: " ".join(blocking_checks(plan, one)) for one in plan.groups}
    return {group: why for group, why in told.items() if why}


def _sentence(begin: str, found: list[str]) -> str:
    more = f" And {len(found) - MOST_TOLD} more." if len(found) > MOST_TOLD else ""
    return f"{begin}: {' '.join(found[:MOST_TOLD])}{more}"


def _differences(plan: FailoverPlan, now: FailoverPlan, groups: Collection[str]) -> Iterator[str]:
    if plan.destination_cluster_id != now.destination_cluster_id:
        yield f"{plan.destination} is another cluster now."
    yield from _remade(plan, now, groups)
    for name in groups:
        planned, found = plan.group(name), now.group(name)
        if planned is not None:
            yield from _moved(planned, found)


def _remade(plan: FailoverPlan, now: FailoverPlan, groups: Collection[str]) -> Iterator[str]:
    topics = {i.origin.topic for g in plan.groups if g.group in groups for i in g.items}
    known = {one.topic: one for one in now.topics}
    for one in plan.topics:
        found = known.get(one.topic)
        if one.topic not in topics or found is None:
            continue
        if one.topic_id and found.topic_id and one.topic_id != found.topic_id:
            yield f"{one.topic} was deleted and re-created on {plan.origin}."
        if one.to_topic_id != found.to_topic_id:
            yield f"{one.to_topic} was deleted and re-created on {plan.destination}."


def _moved(planned: GroupPlan, found: GroupPlan | None) -> Iterator[str]:
    name = planned.group
    if found is None:
        yield f"{name} has no committed offset any more."
        return
    now = {one.origin: one for one in found.items}
    for item in planned.to_be_set:
        yield from _item_moved(name, item, now.get(item.origin))
    planned_ones: set[TopicPartition] = {one.origin for one in planned.items}
    for where in sorted(now.keys() - planned_ones):
        yield f"{name} has committed on {where}, which the plan does not have."


def _item_moved(group: str, item: PlanItem, now: PlanItem | None) -> Iterator[str]:
    where = item.origin
    if now is None:
        yield f"{group} has no offset for {where} any more."
    elif now.committed != item.committed:
        yield f"{group} has moved on {where} from {item.committed} to {now.committed}."
    elif now.before != item.before:
        there = f"from {item.before} to {now.before}"
        yield f"{group} has moved on {item.destination}, where it goes, {there}."
    elif now.target is None:
        yield f"{where} cannot be translated any more: {now.problem}"
    elif item.target is not None and now.target < item.target:
        text = f"its offset would be {now.target} now, {item.target} was planned"
        yield f"{group} would skip records of {where}: {text}."
    elif not _is_inside(item, now):
        yield f"{item.destination} has offsets {now.log_start} to {now.log_end} now."


def _is_inside(item: PlanItem, now: PlanItem) -> bool:
    start, end, target = now.log_start, now.log_end, item.target
    return target is None or start is None or end is None or start <= target <= end


Read = Callable[[EvidenceRequest], Evidence]


def ask_plan(asking: EvidenceRequest, read: Read = read_evidence) -> FailoverPlan:
    """Ask both clusters and return the plan; raises `InvalidFields` and `ClusterFault`."""
    check_request(asking.request)
    return make_plan(asking.routes[0].flow.name, asking.request, read(asking))


def confirm_plan(
    plan: FailoverPlan,
    groups: Collection[str],
    asking: EvidenceRequest,
    limit_s: int,
    read: Read = read_evidence,
) -> FailoverPlan:
    """Return the same plan as it would be made now, when both agree on what matters for these groups.

    Raises `PlanRefused` when the plan is too old, blocks, no longer holds, or has patterns of an older
    version that cannot be evaluated any more; and `ClusterFault`.
    """
    try:
        check_request(plan.request)
    except InvalidFields as invalid:
        raise PlanRefused("plan_unusable", f"{invalid} Make a new plan.") from None
    refuse_old(plan, int(asking.clock() * 1000), limit_s)
    refuse_blocked(plan, groups)
    # Only the chosen groups are queried again, by their names.
    request = replace(plan.request, groups=tuple(map(name_pattern, groups)))
    now = make_plan(plan.flow, request, read(replace(asking, request=request)))
    refuse_changed(plan, now, groups)
    refuse_blocked(now, groups)
    return now
