"""Checks of Kafka Streams applications, as their groups show them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from jobs.checks.check import Area, Check, Pattern, Threshold, Unit, check
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_percent
from jobs.severity import Severity


@dataclass(frozen=True, slots=True)
class Application:
    """An application as it was last recorded; None: not known.

    `state` is the word of its group. `is_growing`: its lag grew with every collection of offsets.
    `endpoint_faults` are sentences. `copies`: how many tasks with state have no copy, of how many, and how
    many warm up.
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
    copies: tuple[int, int, int] | None = None


def _for(default_s: float) -> Threshold:
    text = "Time in this state, as far as crosslog watched it, before it is a finding."
    return Threshold("for_s", default_s, Unit.SECONDS, text, most=7 * 86_400)


_check = partial(Check, severity=Severity.WARNING, area=Area.STREAMS, narrowed_by=Pattern.GROUP)
NOT_RUNNING = _check(
    id="streams_not_running",
    title="Kafka Streams application not running",
    question="Does every application have members?",
    rule="The group of the application has no members. Deleted groups are not judged.",
    severity=Severity.CRITICAL,
    runbook="Start the application. Delete its group if it is no longer used.",
    thresholds=(_for(60),),
)
REBALANCING = _check(
    id="streams_rebalancing",
    title="Kafka Streams application rebalancing",
    question="Do rebalances end?",
    rule="The group has been in a state other than Stable and Empty for longer than the threshold.",
    runbook="Look for instances that restart or exceed max.poll.interval.ms. NotReady: create the topics.",
    thresholds=(_for(300),),
)
UNASSIGNED = _check(
    id="streams_tasks_unassigned",
    title="Kafka Streams tasks without a thread",
    question="Does a thread run every task?",
    rule="The group is Stable, and no thread has some of its tasks.",
    severity=Severity.CRITICAL,
    runbook="Their partitions are not processed. Look for assignment errors in the application's log.",
    thresholds=(_for(300),),
)
LAG_GROWING = _check(
    id="streams_lag_growing",
    title="Kafka Streams lag growing",
    question="Do applications keep up with their input?",
    rule="Lag grew with every collection. Streams protocol: other groups have their own checks.",
    runbook="Add threads or instances while there are more tasks than threads; else look at the slow tasks.",
    thresholds=(
        _for(900),
        Threshold("records", 1_000, Unit.RECORDS, "Smaller lags are no finding.", most=1e15),
    ),
)
MISROUTED = _check(
    id="streams_keys_misrouted",
    title="Kafka Streams keys misrouted",
    question="Does the metadata of applications name the instance that serves a key?",
    rule="The application's own metadata names another instance for some keys (KAFKA-20886, KAFKA-20782).",
    runbook="Set another application.server for each instance. The key lookup shows the right instance.",
    thresholds=(_for(300),),
)
ENDPOINT = _check(
    id="streams_endpoint",
    title="Kafka Streams endpoint not usable",
    question="Can other machines reach every application.server?",
    rule="An application.server is loopback, has no port, is shared, or is missing on some instances.",
    runbook="Set application.server of each instance to a host and port that other machines reach.",
    thresholds=(_for(60),),
)
NO_STANDBY = _check(
    id="streams_standby_missing",
    title="Kafka Streams standby missing",
    question="Do all tasks with state have a standby?",
    rule="Some tasks with state have a standby or warm-up replica, others have none.",
    runbook="Start more instances: a task and its standby need two. Without it, state is restored.",
    thresholds=(_for(900),),
)
WARMING_UP = _check(
    id="streams_warming_up",
    title="Kafka Streams warm-up does not end",
    question="Do warm-up replicas catch up?",
    rule="The application has had warm-up replicas for longer than the threshold.",
    runbook="Warm-ups do not reach acceptable.recovery.lag. Check the restore rate of their instances.",
    thresholds=(_for(3_600),),
)
CHECKS = (
    NOT_RUNNING, REBALANCING, UNASSIGNED, LAG_GROWING, MISROUTED, ENDPOINT, NO_STANDBY, WARMING_UP,
)  # fmt: skip
# `Gone` is crosslog's word for a group that the cluster does not list.
EMPTY, STABLE, _NO_GROUP = "Empty", "Stable", frozenset({"Dead", "Gone"})


# Whether a check's condition holds (None: not known), what its finding says then, and its numbers.
_Condition = tuple[Check, bool | None, str, dict[str, Any]]


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
        if values is None or not holds or (one.lag_records or 0) < values.get("records", 0):
            continue
        held_s = result.waited[rule.id] = 0.0 if before is None else before + passed_s
        if held_s >= values["for_s"]:
            sentence = f"Kafka Streams application {one.application_id} of {one.alias} {text}"
            result.found.append(
                Finding(
                    rule.id, rule.severity, sentence, rule.runbook, one.application_id,
                    evidence=evidence, since=now - timedelta(seconds=held_s),
                )
            )  # fmt: skip
    return result


def _conditions(one: Application) -> Iterator[_Condition]:
    """Yield the conditions; a group shows its tasks while it is Stable, and without members has none."""
    state, has_members = {"state": one.state}, one.state not in {EMPTY, *_NO_GROUP}
    is_moving = has_members and one.state != STABLE
    yield NOT_RUNNING, one.state == EMPTY, "has no members: no task runs.", state
    yield REBALANCING, is_moving, f"is in state {one.state}.", state
    for rule, holds, text, evidence in _of_tasks(one):
        yield rule, None if is_moving else has_members and holds, text, evidence


def _of_tasks(one: Application) -> Iterator[_Condition]:
    lone, lag, share = one.tasks_without_thread, one.lag_records, one.misrouted_share
    text = f"has {lone or 0:,} tasks that no thread runs."
    yield UNASSIGNED, _is_any(lone), text, {"tasks": lone}
    text = f"falls behind its input: {lag or 0:,} records."
    yield LAG_GROWING, one.is_growing, text, {"lag_records": lag}
    text = f"names the wrong instance for {format_percent(share)} of the keys of a store."
    yield MISROUTED, _is_any(share), text, {"misrouted_percent": round(100 * (share or 0), 1)}
    faults = len(one.endpoint_faults)
    more = f" {faults - 1:,} more like it." if faults > 1 else ""
    text = f"has an endpoint that is not usable: {''.join(one.endpoint_faults[:1])}{more}"
    yield ENDPOINT, faults > 0, text, {"endpoints": faults}
    alone, tasks, warm_ups = one.copies or (None, None, None)
    is_short = None if alone is None or tasks is None else 0 < alone < tasks
    text = f"has no standby of {alone or 0:,} of {tasks or 0:,} tasks with state."
    yield NO_STANDBY, is_short, text, {"tasks": alone, "stateful_tasks": tasks}
    text = f"still has {warm_ups or 0:,} warm-up replicas."
    yield WARMING_UP, _is_any(warm_ups), text, {"warm_ups": warm_ups}


def _is_any(value: float | None) -> bool | None:
    return None if value is None else value > 0
