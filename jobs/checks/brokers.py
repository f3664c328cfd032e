"""Checks of brokers: alive, not restarting, with space and working disks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.checks.check import (
    Area,
    Check,
    Threshold,
    Unit,
    check,
    severity_of,
    warning_and_critical,
)
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_bytes, format_moment, format_percent
from jobs.severity import Severity


@dataclass(frozen=True, slots=True)
class LogDir:
    """A log directory of a broker. Sizes of its volume are None where the broker does not say them."""

    path: str
    total_bytes: int | None = None
    usable_bytes: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A broker as it was last recorded.

    `is_there`: alive and not fenced (None: not known), `since` is the start of that. `registered_at` is the
    start of its last registration, `restarts` counts those of the last hour. `log_dirs` None: not known.
    """

    id: int
    rack: str
    is_there: bool | None
    since: datetime | None
    replica_count: int
    in_controlled_shutdown: bool = False
    registered_at: datetime | None = None
    restarts: int = 0
    log_dirs: Sequence[LogDir] | None = None

    @property
    def label(self) -> str:
        return f"Broker {self.id} ({self.rack})" if self.rack else f"Broker {self.id}"


@dataclass(frozen=True, slots=True)
class ClusterBrokers:
    """The brokers of a cluster."""

    pk: int
    alias: str
    brokers: Sequence[BrokerState] = ()


DOWN = Check(
    id="broker_down",
    title="Broker down",
    question="Is every broker alive and unfenced?",
    rule="A broker is fenced, or missing in the metadata although it has replicas.",
    severity=Severity.CRITICAL,
    area=Area.BROKER,
    runbook="Start the broker. Its log has the reason of the shutdown.",
    effect="broker {broker} down",
)
RESTARTS = Check(
    id="broker_restarts",
    title="Broker restarts repeatedly",
    question="Do brokers keep running?",
    rule="A broker registered again with another incarnation several times within an hour.",
    severity=Severity.WARNING,
    area=Area.BROKER,
    runbook="Read the last lines of the log of the broker before each start, and the log of its supervisor.",
    thresholds=(
        Threshold("restarts", 3, Unit.COUNT, "Restarts within an hour.", least=1, most=1000),
    ),
    effect="{restarts} restarts of broker {broker}",
)
DISK_FULL = Check(
    id="disk_full",
    title="Disk of a broker nearly full",
    question="Do log directories have free space?",
    rule="The free space of the volume of a log directory is below a share of its size (Kafka 3.3 or later).",
    severity=Severity.CRITICAL,
    area=Area.BROKER,
    runbook=(
        "Add space, move replicas to other brokers, or shorten the retention of large topics. A broker whose "
        "disk is full stops."
    ),
    thresholds=warning_and_critical("percent", Unit.PERCENT, 20, 10, "Least free space", most=100),
    effect="disk of broker {broker} nearly full",
)
LOG_DIR_OFFLINE = Check(
    id="log_dir_offline",
    title="Log directory offline",
    question="Do all log directories work?",
    rule="A broker reports an error for a log directory.",
    severity=Severity.CRITICAL,
    area=Area.BROKER,
    runbook="Check the disk and the log of the broker, replace the disk, then restart the broker.",
    effect="log directory of broker {broker} offline",
)


@check(DOWN)
def down(state: ClusterBrokers, settings: Settings, now: datetime) -> Iterator[Finding]:
    """Find brokers that are down for clients: one finding each; one without replicas is a warning."""
    if settings.values(DOWN, cluster=state.pk) is None:
        return
    for one in state.brokers:
        if one.is_there is False:
            since = f" since {format_moment(one.since, now)}" if one.since else ""
            more, todo = _how_down(one, now)
            yield DOWN.finding(
                f"{one.label} of {state.alias} is down{since}.{more}",
                todo,
                severity=DOWN.severity if one.replica_count else Severity.WARNING,
                since=one.since,
                **_about(one, replicas=one.replica_count),
            )


def _how_down(one: BrokerState, now: datetime) -> tuple[str, str]:
    """Return what else is known of a broker that is down, and what to do then."""
    if not one.replica_count:
        todo = "Start it, or remove it with kafka-cluster.sh unregister if it is gone for good."
        return " It has no replicas.", todo
    if one.in_controlled_shutdown:
        todo = "Start the broker when its maintenance is over."
        return " It was shut down in order (controlled shutdown).", todo
    if one.registered_at and one.since and one.registered_at > one.since:
        at = format_moment(one.registered_at, now)
        return f" It registered again at {at} and is still fenced.", "Wait until it has caught up."
    return "", ""


def _about(one: BrokerState, **evidence: Any) -> dict[str, Any]:
    known = {"broker": one.id, "rack": one.rack} | evidence
    return {"subject": f"broker {one.id}", "evidence": known, "brokers": (one.id,)}


@check(RESTARTS)
def restarts(state: ClusterBrokers, settings: Settings) -> Iterator[Finding]:
    """Find brokers that restart again and again."""
    values = settings.values(RESTARTS, cluster=state.pk)
    for one in state.brokers:
        if values is not None and one.restarts >= values["restarts"]:
            said = f"{one.label} of {state.alias} restarted {one.restarts} times within an hour."
            yield RESTARTS.finding(said, **_about(one, restarts=one.restarts))


@check(DISK_FULL, LOG_DIR_OFFLINE)
def disks(state: ClusterBrokers, settings: Settings) -> Iterator[Finding]:
    """Find brokers whose disks are nearly full or broken, one finding each: the fullest directory."""
    for one in state.brokers:
        yield from _full(state, one, settings)
        broken = [each for each in one.log_dirs or () if each.error]
        if broken and settings.values(LOG_DIR_OFFLINE, cluster=state.pk) is not None:
            names = ", ".join(each.path for each in broken)
            yield LOG_DIR_OFFLINE.finding(
                f"Log directory {names} of broker {one.id} of {state.alias} is offline: {broken[0].error}",
                **_about(one, log_dirs=len(broken)),
            )


def _full(state: ClusterBrokers, one: BrokerState, settings: Settings) -> Iterator[Finding]:
    values = settings.values(DISK_FULL, cluster=state.pk)
    known = [
        (each.usable_bytes / each.total_bytes, each)
        for each in one.log_dirs or ()
        if each.total_bytes and each.usable_bytes is not None
    ]
    if not known:
        return
    share, worst = min(known, key=lambda entry: entry[0])
    severity = severity_of(share * 100, values, "percent", is_space=True)
    if severity is not None:
        sizes = {"free_bytes": worst.usable_bytes, "total_bytes": worst.total_bytes}
        yield DISK_FULL.finding(
            f"{one.label} of {state.alias} has {format_bytes(worst.usable_bytes)} free in {worst.path}, "
            f"{format_percent(share)} of its volume.",
            severity=severity,
            **_about(one, log_dir=worst.path, free_percent=round(share * 100, 1), **sizes),
        )
