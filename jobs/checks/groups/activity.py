"""Checks of members and commits of consumer groups. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from jobs.checks.check import Threshold, Unit, check
from jobs.checks.groups.state import (
    GroupState,
    OffsetState,
    check_of_groups,
    found,
    records,
    values_of,
)
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_span_s

_UNMOVED = Threshold(
    "unmoved_s", 600, Unit.SECONDS, "Time without a commit that moves.", least=60, most=86_400
)
MEMBERS_GONE = check_of_groups(
    "group_members_gone",
    "Consumer group without members",
    Threshold("gone_s", 300, Unit.SECONDS, "Time without members.", least=60, most=86_400),
    question="Do the consumers of every group run?",
    rule="A group that had members has none for the threshold, and records wait for it.",
    runbook="Start the consumers of the group. Their log has the reason of the shutdown.",
    effect="group {group} without members",
)
PARTITION_STUCK = check_of_groups(
    "group_partition_stuck",
    "Partition of a consumer group stuck",
    _UNMOVED,
    question="Does every consumer group progress in each partition?",
    rule="A partition that a member holds has lag, and its commit did not move while others moved.",
    runbook=(
        "Check the member that holds the partition for a record that it cannot process, and that the "
        "partition has a leader."
    ),
    effect="{topic}-{partition} of group {group} stuck",
)
COMMITS_STOPPED = check_of_groups(
    "group_commits_stopped",
    "Commits of a consumer group stopped",
    _UNMOVED,
    question="Does every consumer group commit offsets?",
    rule="A group has members and lag, and no commit of any of its partitions moved.",
    runbook="Check the log of the consumers: they are connected, but process or commit nothing.",
    effect="commits of group {group} stopped",
)


@check(MEMBERS_GONE)
def members_gone(state: GroupState, now: datetime, settings: Settings) -> Iterator[Finding]:
    """Find a group whose members are gone while records wait."""
    values = values_of(MEMBERS_GONE, state, settings) if state.gone_s is not None else None
    if values is not None and state.gone_s is not None and state.gone_s >= values["gone_s"]:
        yield found(
            MEMBERS_GONE,
            state,
            f"has no members for {format_span_s(state.gone_s)}: {records(state.lag)} wait.",
            {"gone_s": round(state.gone_s)},
            since=now - timedelta(seconds=state.gone_s),
        )


@check(COMMITS_STOPPED)
def commits_stopped(state: GroupState, now: datetime, settings: Settings) -> Iterator[Finding]:
    """Find a group with members that commits nothing although records wait."""
    unmoved_s = None if state.is_partial else _unmoved_s(state.unmoved_s, state)
    values = values_of(COMMITS_STOPPED, state, settings) if unmoved_s else None
    if values is not None and unmoved_s is not None and unmoved_s >= values["unmoved_s"]:
        is_offline = all(one.offline is not None for one in state.offsets)
        yield found(
            COMMITS_STOPPED,
            state,
            f"moved no commit for {format_span_s(unmoved_s)} although it has members "
            f"({state.members:,}): {records(state.lag)} wait.",
            {"members": state.members, **_unmoved(unmoved_s, is_offline=is_offline)},
            since=now - timedelta(seconds=unmoved_s),
            brokers=_brokers(state.offsets) if is_offline else (),
        )


@check(PARTITION_STUCK)
def partitions_stuck(state: GroupState, now: datetime, settings: Settings) -> Iterator[Finding]:
    """Find partitions of a group whose commit does not move while others move."""
    values = values_of(PARTITION_STUCK, state, settings) if state.unmoved_s is not None else None
    if values is None or state.unmoved_s is None or state.unmoved_s >= values["unmoved_s"]:
        return
    for one in state.offsets:
        unmoved_s = _unmoved_s(one.unmoved_s, state) if one.is_assigned and one.lag else None
        if unmoved_s is not None and unmoved_s >= values["unmoved_s"]:
            why = "" if one.offline is None else " The partition has no leader."
            yield found(
                PARTITION_STUCK,
                state,
                f"is stuck in {one.name} for {format_span_s(unmoved_s)} while other partitions move: "
                f"{records(one.lag)} wait.{why}",
                {"lag_records": one.lag, "topic": one.topic, "partition": one.partition}
                | _unmoved(unmoved_s, is_offline=one.offline is not None),
                subject=f"{state.group} {one.name}",
                topic=one.topic,
                partition=one.partition,
                since=now - timedelta(seconds=unmoved_s),
                brokers=_brokers([one]),
            )


def _unmoved(unmoved_s: float, *, is_offline: bool) -> dict[str, Any]:
    return {"unmoved_s": round(unmoved_s), **({"offline": True} if is_offline else {})}


def _brokers(offsets: Iterable[OffsetState]) -> tuple[int, ...]:
    return tuple(sorted({broker for one in offsets for broker in one.offline or ()}))


def _unmoved_s(unmoved_s: float | None, state: GroupState) -> float | None:
    """Return for how long a commit could have moved: members were there all the time."""
    if unmoved_s is None or not state.members:
        return None
    return unmoved_s if state.back_s is None else min(unmoved_s, state.back_s)
