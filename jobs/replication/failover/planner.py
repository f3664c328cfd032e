"""Builds the plan from the evidence. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from jobs.cluster.errors import InvalidFields
from jobs.numbers import NO_BREAK, format_span_ms
from jobs.patterns.matching import list_problem, matcher_of
from jobs.replication.failover.evidence import Evidence, Way
from jobs.replication.failover.group_checks import check_group
from jobs.replication.failover.model import (
    Check,
    CheckState,
    FailoverPlan,
    FailoverRequest,
    GroupPlan,
    PlanItem,
    TopicPlan,
    counted,
    worst_of,
)
from jobs.replication.failover.targets import plan_item
from jobs.replication.failover.topic_checks import plan_topic

# From so far behind on, offset syncs are called old.
OLD_SYNCS_MS = 60_000


def make_plan(flow: str, request: FailoverRequest, found: Evidence) -> FailoverPlan:
    """Return the plan for everything that the origin's groups have committed and the wish names."""
    items = {
        group: tuple(_items(found, request, group)) for group in sorted(found.origin.committed)
    }
    # A share group has no offsets; its pre-check says that it is not moved.
    told = {*request.groups, *(g for g, one in found.origin.groups.items() if one.type == "share")}
    items = {group: own for group, own in items.items() if own or group in told}
    topics = {one.topic: one for one in _topics(found, items.values())}
    return FailoverPlan(
        flow,
        request,
        found.origin.alias,
        found.destination.alias,
        found.read_at_ms,
        found.origin.cluster_id,
        found.destination.cluster_id,
        tuple(_checks(found, items.values())),
        tuple(topics.values()),
        tuple(_group(found, request, group, own, topics) for group, own in items.items()),
    )


def names_match(patterns: Iterable[str], name: str) -> bool:
    """Return whether a name is one of these, or matches one of these regular expressions as a whole."""
    given = tuple(patterns)
    return name in given or matcher_of(given).matches(name)


def check_request(request: FailoverRequest) -> None:
    """Raise `InvalidFields` for patterns that are none."""
    errors = {}
    for name, patterns in (("groups", request.groups), ("topics", request.topics)):
        problem = list_problem(patterns) if patterns else "Name at least one."
        if problem:
            errors[name] = problem
    if errors:
        raise InvalidFields(errors)


def _items(found: Evidence, request: FailoverRequest, group: str) -> Iterator[PlanItem]:
    for where, known in sorted(found.origin.committed[group].items()):
        if known.offset is not None and names_match(request.topics, where.topic):
            yield plan_item(found, group, where, known.offset, request.untranslated)


def _topics(found: Evidence, items: Iterable[Iterable[PlanItem]]) -> Iterator[TopicPlan]:
    pairs = {
        (one.origin.topic, one.destination.topic) for own in items for one in own if one.destination
    }
    for topic, there in sorted(pairs):
        yield plan_topic(found, topic, there)


def _group(
    found: Evidence,
    request: FailoverRequest,
    group: str,
    items: tuple[PlanItem, ...],
    topics: dict[str, TopicPlan],
) -> GroupPlan:
    described = found.origin.groups.get(group) or found.destination.groups.get(group)
    checks = check_group(found, group, items, request.untranslated)
    own = {one.origin.topic for one in items}
    states = [one.state for one in checks]
    states += [one.state for name in own & topics.keys() for one in topics[name].checks]
    return GroupPlan(group, described.type if described else "", checks, items, worst_of(states))


def _checks(found: Evidence, items: Collection[tuple[PlanItem, ...]]) -> Iterator[Check]:
    yield _origin(found)
    yield from _copied(found, items)
    yield from _syncs(found)


def _origin(found: Evidence) -> Check:
    side = found.origin
    if not side.fault:
        text = f"{side.alias} answers: offsets are those that the groups have now."
        return Check("origin_answers", CheckState.PASSED, text)
    age_s = max(found.read_at_ms - side.committed_at_ms, 0) // 1000
    text = f"{side.alias} does not answer: offsets are {side.committed_from}, {age_s} s old."
    hint = "Later commits are lost: their records are reprocessed. Make sure that no consumer restarts there."
    return Check("origin_answers", CheckState.WARNING, text, side.fault, hint)


def _copied(found: Evidence, items: Collection[tuple[PlanItem, ...]]) -> Iterator[Check]:
    """Say what the destination does not have yet, once per partition however many groups read it."""
    if not any(leg.way is Way.FORWARD for leg in found.legs):
        return
    key, here, there = "copied", found.origin.alias, found.destination.alias
    forward = {one.origin: one.at_risk for own in items for one in own if one.how == Way.FORWARD}
    known = [one for one in forward.values() if one is not None]
    behind, unknown = sum(known), len(forward) - len(known)
    behind_ms = found.time_behind_ms
    span = format_span_ms(behind_ms).replace(NO_BREAK, " ")
    time = "" if behind_ms is None else f", {span} by record times"
    if behind:
        text = f"{behind:,} records of {here} are not on {there} yet{time}."
        hint = "Wait until the flow has replicated them. If the cluster is gone, they are lost."
        yield Check(key, CheckState.WARNING, text, counted(len(forward), "partition"), hint)
    elif unknown:
        text = f"The replication lag of {counted(unknown, 'partition')} is not known."
        yield Check(key, CheckState.UNKNOWN, text, "no position, or no answer of the source")
    elif forward:
        rest = any(one.only_here for own in items for one in own)
        what = f"of {here}" if not rest else f"that flows read from {here}"
        text = f"All records {what} were replicated to {there}."
        yield Check(key, CheckState.PASSED, text, counted(len(forward), "partition"))


def _syncs(found: Evidence) -> Iterator[Check]:
    for leg in found.legs:
        name, known_ms = leg.flow.name, leg.read_at_ms
        if known_ms is None:
            text = f"The age of the newest offset sync of {name} is not known."
            yield Check("offset_syncs", CheckState.UNKNOWN, text)
            continue
        age_ms = max(found.read_at_ms - known_ms, 0)
        text = f"Offset syncs of the flow {name} were last read {age_ms / 1000:.1f} s before."
        state = CheckState.PASSED if age_ms <= OLD_SYNCS_MS else CheckState.WARNING
        hint = (
            "" if state is CheckState.PASSED else "Older syncs only make bounds wider, never wrong."
        )
        yield Check("offset_syncs", state, text, "", hint)
