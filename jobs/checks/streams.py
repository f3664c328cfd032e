"""Checks of Kafka Streams applications, as their groups show them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from jobs.checks.check import Area, Check, Pattern, Threshold, Unit, check
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.severity import Severity


@dataclass(frozen=True, slots=True)
class Application:
    """An application as it was last recorded; None: not known.

    `state` is the word of its group. Its lag and its commits have the checks of groups.
    """

    cluster: int
    alias: str
    application_id: str
    state: str
    tasks_without_thread: int | None = None


def _for(default_s: float) -> Threshold:
    text = "Time in this state, as far as crosslog watched it, before it is a finding."
    return Threshold("for_s", default_s, Unit.SECONDS, text, most=7 * 86_400)


_check = partial(Check, severity=Severity.CRITICAL, area=Area.STREAMS, narrowed_by=Pattern.GROUP)
NOT_RUNNING = _check(
    id="streams_not_running",
    title="Kafka Streams application not running",
    question="Does every application have members?",
    rule="The group of the application has no members. Deleted groups are not judged.",
    runbook="Start the application. Delete its group if it is no longer used.",
    thresholds=(_for(60),),
)
REBALANCING = _check(
    id="streams_rebalancing",
    title="Kafka Streams application rebalancing",
    question="Do rebalances end?",
    rule="The group has been in a state other than Stable and Empty for longer than the threshold.",
    severity=Severity.WARNING,
    runbook="Look for instances that restart or exceed max.poll.interval.ms. NotReady: create the topics.",
    thresholds=(_for(300),),
)
UNASSIGNED = _check(
    id="streams_tasks_unassigned",
    title="Kafka Streams tasks without a thread",
    question="Does a thread run every task?",
    rule="The group is Stable, and no thread has some of its tasks.",
    runbook="Their partitions are not processed. Look for assignment errors in the application's log.",
    thresholds=(_for(300),),
)
CHECKS = (NOT_RUNNING, REBALANCING, UNASSIGNED)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Findings of an application; how long each condition has held, in seconds; checks not known."""

    found: list[Finding] = field(default_factory=list)
    waited: dict[str, float] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)


@check(*CHECKS)
def judge_application(
    one: Application,
    settings: Settings,
    waited: Mapping[str, float],
    passed_s: float,
    now: datetime,
) -> Judgement:
    """Return what is wrong with an application; `waited` is that of the round before."""
    result = Judgement()
    for rule, holds, text, evidence in _conditions(one):
        values = settings.values(rule, cluster=one.cluster, group=one.application_id)
        before = waited.get(rule.id)
        if holds is None and before is not None:
            result.unknown.add(rule.id)
            result.waited[rule.id] = before
        if values is None or not holds:
            continue
        held_s = result.waited[rule.id] = 0.0 if before is None else before + passed_s
        if held_s >= values["for_s"]:
            found = rule.finding(
                f"Kafka Streams application {one.application_id} of {one.alias} {text}",
                subject=one.application_id,
                evidence=evidence,
                since=now - timedelta(seconds=held_s),
            )
            result.found.append(found)
    return result


def _conditions(one: Application) -> Iterator[tuple[Check, bool | None, str, dict[str, Any]]]:
    """Yield whether the condition of each check holds (None: not known), its text and its numbers.

    A group shows its tasks while it is Stable, and without members has none.
    """
    has_members = one.state not in {"Empty", "Dead", "Gone"}
    is_moving, state = has_members and one.state != "Stable", {"state": one.state}
    lone = one.tasks_without_thread
    is_lone = None if is_moving or lone is None else has_members and lone > 0
    yield NOT_RUNNING, one.state == "Empty", "has no members: no task runs.", state
    yield REBALANCING, is_moving, f"is in state {one.state}.", state
    yield UNASSIGNED, is_lone, f"has {lone or 0:,} tasks that no thread runs.", {"tasks": lone}
