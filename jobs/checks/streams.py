"""Checks of Kafka Streams applications, as their groups show them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from jobs.checks.check import Area, Check, Pattern, Threshold, Unit, check
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_count, format_percent
from jobs.severity import Severity


@dataclass(frozen=True, slots=True)
class Application:
    """An application as it was last recorded; None: not known.

    `state` is the word of its group. `is_growing`: its lag grew with every collection of offsets.
    `endpoint_faults` are sentences. Of its `stateful_tasks`, `without_copy` have no standby.
    """

    cluster: int
    alias: str
    application_id: str
    state: str
    tasks_without_thread: int | None = None
    lag_records: int | None = None
    is_growing: bool | None = None
    misrouted_share: float | None = None
    endpoint_faults: Sequence[str] = ()
    stateful_tasks: int | None = None
    without_copy: int | None = None
    warm_ups: int | None = None


def _for(default_s: float) -> Threshold:
    text = "Time in this state, as far as crosslog watched it, before it is a finding."
    return Threshold("for_s", default_s, Unit.SECONDS, text, most=7 * 86_400)


NOT_RUNNING = Check(
    id="streams_not_running",
    title="Kafka Streams application not running",
    question="Does every application have members?",
    rule="The group of the application has no members. Deleted groups are not judged.",
    severity=Severity.CRITICAL,
    area=Area.STREAMS,
    runbook="Start the application. Delete its group if it is no longer used.",
    thresholds=(_for(60),),
    narrowed_by=Pattern.GROUP,
)
REBALANCING = Check(
    id="streams_rebalancing",
    title="Kafka Streams application rebalancing",
    question="Do rebalances end?",
    rule="The group has been in a state other than Stable and Empty for longer than the threshold.",
    severity=Severity.WARNING,
    area=Area.STREAMS,
    runbook="Look for instances that restart or exceed max.poll.interval.ms. NotReady: create the topics.",
    thresholds=(_for(300),),
    narrowed_by=Pattern.GROUP,
)
UNASSIGNED = Check(
    id="streams_tasks_unassigned",
    title="Kafka Streams tasks without a thread",
    question="Does a thread run every task?",
    rule="The group is Stable, and no thread has some of its tasks.",
    severity=Severity.CRITICAL,
    area=Area.STREAMS,
    runbook="Their partitions are not processed. Look for assignment errors in the application's log.",
    thresholds=(_for(300),),
    narrowed_by=Pattern.GROUP,
)
LAG_GROWING = Check(
    id="streams_lag_growing",
    title="Kafka Streams lag growing",
    question="Do applications keep up with their input?",
    rule="Lag grew with every collection. Streams protocol: other groups have their own checks.",
    severity=Severity.WARNING,
    area=Area.STREAMS,
    runbook="Add threads or instances while there are more tasks than threads; else look at the slow tasks.",
    thresholds=(
        _for(900),
        Threshold("records", 1_000, Unit.RECORDS, "Smaller lags are no finding.", most=1e15),
    ),
    narrowed_by=Pattern.GROUP,
)
MISROUTED = Check(
    id="streams_keys_misrouted",
    title="Kafka Streams keys routed to the wrong instance",
    question="Does the metadata of applications name the instance that serves a key?",
    rule="The application's own metadata names another instance for some keys (KAFKA-20886, KAFKA-20782).",
    severity=Severity.WARNING,
    area=Area.STREAMS,
    runbook="Set another application.server for each instance. The key lookup shows the right instance.",
    thresholds=(_for(300),),
    narrowed_by=Pattern.GROUP,
)
ENDPOINT = Check(
    id="streams_endpoint",
    title="Kafka Streams endpoint not usable",
    question="Can other machines reach every application.server?",
    rule="An application.server is loopback, has no port, is shared, or is missing on some instances.",
    severity=Severity.WARNING,
    area=Area.STREAMS,
    runbook="Set application.server of each instance to a host and port that other machines reach.",
    thresholds=(_for(60),),
    narrowed_by=Pattern.GROUP,
)
NO_STANDBY = Check(
    id="streams_standby_missing",
    title="Kafka Streams standby missing",
    question="Do all tasks with state have a standby?",
    rule="Some tasks with state have a standby or warm-up replica, others have none.",
    severity=Severity.WARNING,
    area=Area.STREAMS,
    runbook="Start more instances: a task and its standby need two. Without it, state is restored.",
    thresholds=(_for(900),),
    narrowed_by=Pattern.GROUP,
)
WARMING_UP = Check(
    id="streams_warming_up",
    title="Kafka Streams warm-up does not end",
    question="Do warm-up replicas catch up?",
    rule="The application has had warm-up replicas for longer than the threshold.",
    severity=Severity.WARNING,
    area=Area.STREAMS,
    runbook="Warm-ups do not reach acceptable.recovery.lag. Check the restore rate of their instances.",
    thresholds=(_for(3_600),),
    narrowed_by=Pattern.GROUP,
)
CHECKS = (
    NOT_RUNNING, REBALANCING, UNASSIGNED, LAG_GROWING, MISROUTED, ENDPOINT, NO_STANDBY, WARMING_UP,
)  # fmt: skip
# `Gone` is crosslog's word for a group that the cluster does not list.
EMPTY, STABLE, _NO_GROUP = "Empty", "Stable", frozenset({"Dead", "Gone"})


class _Condition(NamedTuple):
    """Whether a check's condition holds (None: not known), and what its finding says then."""

    check: Check
    holds: bool | None
    text: str
    evidence: Mapping[str, Any] = {}


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
    for condition in _conditions(one):
        rule = condition.check
        values = settings.values(rule, cluster=one.cluster, group=one.application_id)
        before = waited.get(rule.id)
        if condition.holds is None and before is not None:
            result.unknown.add(rule.id)
            result.waited[rule.id] = before
        if values is None or not condition.holds:
            continue
        if (one.lag_records or 0) < values.get("records", 0):
            continue
        held_s = result.waited[rule.id] = 0.0 if before is None else before + passed_s
        if held_s >= values["for_s"]:
            result.found.append(
                Finding(
                    rule.id,
                    rule.severity,
                    f"Kafka Streams application {one.application_id} of {one.alias} {condition.text}",
                    rule.runbook,
                    subject=one.application_id,
                    evidence=dict(condition.evidence),
                    since=now - timedelta(seconds=held_s),
                )
            )
    return result


def _conditions(one: Application) -> Iterator[_Condition]:
    """Yield the conditions; a group shows its tasks while it is Stable, and without members has none."""
    state, has_members = {"state": one.state}, one.state not in {EMPTY, *_NO_GROUP}
    is_moving = has_members and one.state != STABLE
    yield _Condition(NOT_RUNNING, one.state == EMPTY, "has no members: no task runs.", state)
    yield _Condition(REBALANCING, is_moving, f"is in state {one.state}.", state)
    for condition in _of_tasks(one):
        yield condition._replace(holds=None if is_moving else has_members and condition.holds)


def _of_tasks(one: Application) -> Iterator[_Condition]:
    yield _Condition(
        UNASSIGNED,
        _is_any(one.tasks_without_thread),
        f"has {format_count(one.tasks_without_thread)} tasks that no thread runs.",
        {"tasks": one.tasks_without_thread},
    )
    yield _Condition(
        LAG_GROWING,
        one.is_growing,
        f"falls behind its input: {format_count(one.lag_records)} records.",
        {"lag_records": one.lag_records},
    )
    share = one.misrouted_share
    yield _Condition(
        MISROUTED,
        _is_any(share),
        f"names the wrong instance for {format_percent(share)} of the keys of a store.",
        {"misrouted_percent": round(100 * (share or 0), 1)},
    )
    faults = len(one.endpoint_faults)
    more = f" {format_count(faults - 1)} more like it." if faults > 1 else ""
    yield _Condition(
        ENDPOINT,
        faults > 0,
        f"has an endpoint that is not usable: {''.join(one.endpoint_faults[:1])}{more}",
        {"endpoints": faults},
    )
    alone, tasks = one.without_copy, one.stateful_tasks
    yield _Condition(
        NO_STANDBY,
        None if alone is None or tasks is None else 0 < alone < tasks,
        f"has no standby of {format_count(alone)} of {format_count(tasks)} tasks with state.",
        {"tasks": alone, "stateful_tasks": tasks},
    )
    yield _Condition(
        WARMING_UP,
        _is_any(one.warm_ups),
        f"still has {format_count(one.warm_ups)} warm-up replicas.",
        {"warm_ups": one.warm_ups},
    )


def _is_any(value: float | None) -> bool | None:
    return None if value is None else value > 0
