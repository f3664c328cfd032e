"""Checks of whether an application runs, and how conditions of all checks become findings. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from jobs.checks.check import check
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.severity import Severity
from jobs.streams.audit import rules, topics
from jobs.streams.audit.added import ADDED
from jobs.streams.audit.conditions import FOR, MOST, Condition, lasts, streams_check, unknown
from jobs.streams.audit.members import WHILE_RECONCILING

RECONCILING = "Reconciling"


@dataclass(frozen=True, slots=True)
class Application:
    """An application as it was last recorded; None: not known.

    `state` is the word of its group. Its lag and its commits have the checks of groups. `conditions` are
    those of its last audit, by check id; None: there was none since the application changed its state.
    """

    cluster: int
    alias: str
    application_id: str
    state: str
    tasks_without_thread: int | None = None
    conditions: Mapping[str, Condition] | None = None


_check = partial(streams_check, severity=Severity.CRITICAL)
NOT_RUNNING = _check(
    id="streams_not_running",
    title="Kafka Streams application not running",
    question="Does every application have members?",
    rule="The group of the application has no members. Deleted groups are not judged.",
    runbook="Start the application. Delete its group if it is no longer used.",
    thresholds=(lasts(60),),
)
REBALANCING = _check(
    id="streams_rebalancing",
    title="Kafka Streams application rebalancing",
    question="Do rebalances end?",
    rule="The group has been in a state other than Stable and Empty for longer than the threshold.",
    severity=Severity.WARNING,
    runbook="Look for instances that restart or exceed max.poll.interval.ms. NotReady: create the topics.",
    thresholds=(lasts(300),),
)
UNASSIGNED = _check(
    id="streams_tasks_unassigned",
    title="Kafka Streams tasks without a thread",
    question="Does a thread run every task?",
    rule="The group is Stable, and no thread has some of its tasks.",
    runbook="Their partitions are not processed. Look for assignment errors in the application's log.",
    thresholds=(lasts(300),),
)
_OWN = (NOT_RUNNING, REBALANCING, UNASSIGNED)
CHECKS = (*_OWN, *rules.CHECKS)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Findings of an application; how long each condition has held, in seconds; checks not known."""

    found: list[Finding] = field(default_factory=list)
    waited: dict[str, float] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)


@check(*_OWN)
def judge_application(
    one: Application,
    settings: Settings,
    waited: Mapping[str, float],
    passed_s: float,
    now: datetime,
) -> Judgement:
    """Return what is wrong with an application; `waited` is that of the round before."""
    result = Judgement()
    for condition in _conditions(one):
        rule = condition.check
        values = settings.values(rule, cluster=one.cluster, group=one.application_id)
        before = waited.get(rule.id)
        if values is None:
            continue
        holds = condition.holds
        if holds and condition.value is not None:
            holds = condition.value > values[MOST] or (None if condition.is_at_least else False)
        if holds is None:
            result.unknown.add(rule.id)
            if before is not None:
                result.waited[rule.id] = before
        if not holds:
            continue
        held_s = result.waited[rule.id] = 0.0 if before is None else before + passed_s
        if held_s >= values.get(FOR, 0):
            found = rule.finding(
                f"Kafka Streams application {one.application_id} of {one.alias} {condition.text}",
                subject=one.application_id,
                evidence=condition.evidence,
                since=now - timedelta(seconds=held_s),
            )
            result.found.append(found)
    return result


def _conditions(one: Application) -> Iterator[Condition]:
    """Yield the condition of each check.

    A group shows its tasks while it is Stable, and without members has none. While the broker waits for
    members to take over their tasks, only what is about that is judged.
    """
    has_members = one.state not in {"Empty", "Dead", "Gone"}
    is_moving, state = has_members and one.state != "Stable", {"state": one.state}
    lone = one.tasks_without_thread
    is_lone = None if is_moving or lone is None else has_members and lone > 0
    text = "has no members: no task runs."
    yield Condition(NOT_RUNNING, text, state, holds=one.state == "Empty")
    yield Condition(REBALANCING, f"is in state {one.state}.", state, holds=is_moving)
    text = f"has {lone or 0:,} tasks that no thread runs."
    yield Condition(UNASSIGNED, text, {"tasks": lone}, holds=is_lone)
    # What is wrong with topics may be why the members are gone.
    of_topics = (ADDED, *topics.CHECKS)
    for rule in rules.CHECKS if has_members else of_topics if one.state == "Empty" else ():
        is_judged = not is_moving or (one.state == RECONCILING and rule.id in WHILE_RECONCILING)
        if not has_members or one.conditions is None or not is_judged:
            yield unknown(rule)
        else:
            yield one.conditions.get(rule.id) or Condition(rule, holds=False)
