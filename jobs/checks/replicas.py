"""Checks of replication factors, elections, single replicas and stuck offsets. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from heapq import nsmallest

from jobs.checks.check import Pattern, Threshold, Unit, check
from jobs.checks.partitions import (
    MOST_NAMES,
    ChurnHour,
    ClusterPartitions,
    by_topic,
    count_of,
    names_of,
    of_topics,
)
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_count
from jobs.severity import Severity

RF_BELOW_MIN = of_topics(
    id="rf_below_min_isr",
    title="Replication factor below min.insync.replicas",
    question="Can every partition have min.insync.replicas?",
    rule="A topic has fewer replicas than min.insync.replicas.",
    severity=Severity.WARNING,
    runbook="Add replicas, or lower min.insync.replicas of the topics.",
    is_advice=True,
)
RF_ONE = of_topics(
    id="rf_one",
    title="Replication factor 1",
    question="Does every partition survive the loss of a broker?",
    rule="A topic has one replica, and the cluster more than one broker.",
    severity=Severity.WARNING,
    runbook="Add replicas by a reassignment, or exclude topics that have one replica on purpose.",
    is_advice=True,
)
UNCLEAN = of_topics(
    id="unclean_election",
    title="Unclean leader election",
    question="Was every leader elected from the ISR?",
    rule="A leader was elected outside the ISR.",
    severity=Severity.CRITICAL,
    runbook="Acknowledged records may be lost. Compare what producers sent with the records in the topic.",
    thresholds=(
        Threshold("kept_s", 86_400, Unit.SECONDS, "Time that an election stays a finding.", 60),
    ),
    effect="{partitions} with an unclean leader election",
)
OUT_LONG = of_topics(
    narrowed_by=Pattern.NONE,
    id="replica_out_long",
    title="Replica out of sync for long",
    question="Do replicas that left the ISR return?",
    rule="A replica has been out of the ISR for longer than the threshold.",
    severity=Severity.WARNING,
    runbook="The broker does not catch up. Check its disk, its network and its log.",
    thresholds=(Threshold("for_s", 1_800, Unit.SECONDS, "Time out of the ISR.", 60),),
    effect="replicas of broker {broker} out of sync",
)
FLAPPING = of_topics(
    narrowed_by=Pattern.NONE,
    id="isr_flapping",
    title="ISR flapping",
    question="Do replicas stay in the ISR?",
    rule=(
        "Replicas of a broker left the ISR and returned within an hour, in which the broker was neither "
        "fenced nor registered."
    ),
    severity=Severity.WARNING,
    runbook=(
        "Check disk, network and garbage collection of the broker. Brokers that flap together share the "
        "cause."
    ),
    thresholds=(
        Threshold("changes", 10, Unit.COUNT, "ISR shrinks, and expands, within an hour.", 1, 1e6),
    ),
    effect="ISR of broker {broker} flapping",
)
STUCK = of_topics(
    id="last_stable_offset_stuck",
    title="Last stable offset stuck",
    question="Can groups of read_committed read to the end?",
    rule="A transaction is hanging or older than its timeout, and holds the last stable offset.",
    severity=Severity.CRITICAL,
    runbook="Run the command that the finding shows: it ends the transaction, or shows its producer.",
)


# What the rounds of status tell; offsets have rounds of their own.
OF_STATUS = (RF_BELOW_MIN, RF_ONE, UNCLEAN, OUT_LONG, FLAPPING)


@check(RF_BELOW_MIN, RF_ONE)
def replication_factors(state: ClusterPartitions, settings: Settings) -> Iterator[Finding]:
    """Find topics with too few replicas."""
    single = state.rf_one if len(state.brokers) > 1 else []
    for one, rows, said in (
        (RF_BELOW_MIN, state.rf_below_min, "fewer replicas than min.insync.replicas"),
        (RF_ONE, single, "one replica"),
    ):
        values = by_topic(settings, one, state)
        found = sorted(row for row in rows if values(row.topic) is not None)
        if found:
            partitions = sum(row.partitions for row in found)
            examples = [row.topic for row in found[:MOST_NAMES]]
            have = "has" if partitions == 1 else "have"
            yield Finding(
                one.id,
                one.severity,
                f"{count_of(partitions, 'partition')} of {count_of(len(found), 'topic')} of {state.alias} "
                f"{have} {said}: {names_of(examples, len(found))}.",
                one.runbook,
                topic=found[0].topic if len(found) == 1 else "",
                evidence={"partitions": partitions, "topics": len(found), "examples": examples},
            )


@check(UNCLEAN)
def unclean(state: ClusterPartitions, settings: Settings, now: datetime) -> Iterator[Finding]:
    """Find unclean elections of the last hours."""
    values = by_topic(settings, UNCLEAN, state)
    found = []
    for row in state.elections:
        mine = values(row.topic)
        if mine is not None and (now - row.at).total_seconds() <= mine["kept_s"]:
            found.append(row)
    if not found:
        return
    newest = max(found, key=lambda row: row.at)
    names = {(row.topic, row.partition) for row in found}
    examples = [f"{topic}-{partition}" for topic, partition in nsmallest(MOST_NAMES, names)]
    isr = f"was {', '.join(map(str, newest.isr))}" if newest.isr else "was empty"
    yield Finding(
        UNCLEAN.id,
        UNCLEAN.severity,
        f"{count_of(len(names), 'partition')} of {state.alias} had an unclean leader election: "
        f"{names_of(examples, len(names))}. The newest, at {newest.at:%Y-%m-%d %H:%M:%S} UTC: broker "
        f"{newest.leader} became leader of {newest.topic}-{newest.partition}, the ISR {isr}.",
        UNCLEAN.runbook,
        topic=newest.topic if len({topic for topic, _ in names}) == 1 else "",
        evidence={"partitions": len(names), "elections": len(found), "examples": examples},
        since=min(row.at for row in found),
    )


@check(OUT_LONG)
def out_long(state: ClusterPartitions, settings: Settings, now: datetime) -> Iterator[Finding]:
    """Find brokers with a replica that does not return to the ISR."""
    values = settings.values(OUT_LONG, cluster=state.pk)
    for row in state.absences if values is not None else ():
        if values and state.has_lasted(OUT_LONG, row.since, values["for_s"], now):
            yield Finding(
                OUT_LONG.id,
                OUT_LONG.severity,
                f"Broker {row.broker} of {state.alias} has been out of the ISR of "
                f"{row.topic}-{row.partition} since {row.since:%Y-%m-%d %H:%M:%S} UTC.",
                OUT_LONG.runbook,
                subject=f"broker {row.broker}",
                evidence={"broker": row.broker, "example": f"{row.topic}-{row.partition}"},
                since=row.since,
                brokers=(row.broker,),
            )


# A broker is fenced before its replicas leave the ISR.
_BEFORE = timedelta(minutes=5)


@check(FLAPPING)
def flapping(state: ClusterPartitions, settings: Settings) -> Iterator[Finding]:
    """Find brokers whose replicas leave the ISR and return; a restart does that, too."""
    values = settings.values(FLAPPING, cluster=state.pk)
    if values is None:
        return
    worst: dict[int, ChurnHour] = {}
    for row in state.churn:
        rejoined = state.rejoined.get(row.broker)
        is_explained = rejoined is not None and rejoined >= row.hour - _BEFORE
        changes = min(row.shrinks, row.expands)
        if not is_explained and changes >= values["changes"]:
            worst[row.broker] = max(row, worst.get(row.broker, row), key=lambda one: one.shrinks)
    for broker, row in sorted(worst.items()):
        yield Finding(
            FLAPPING.id,
            FLAPPING.severity,
            f"Replicas of broker {broker} of {state.alias} left the ISR {format_count(row.shrinks)} times "
            f"and returned {format_count(row.expands)} times in the hour from {row.hour:%H:%M} UTC.",
            FLAPPING.runbook,
            subject=f"broker {broker}",
            evidence={"broker": broker, "shrinks": row.shrinks, "expands": row.expands},
            brokers=(broker,),
        )


@check(STUCK)
def stuck(state: ClusterPartitions, settings: Settings) -> Iterator[Finding]:
    """Find partitions whose last stable offset does not move."""
    values = by_topic(settings, STUCK, state)
    yield from (row for row in state.stuck if values(row.topic) is not None)
