"""Checks of partitions: their leaders and in-sync replicas. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from heapq import nsmallest
from typing import NamedTuple

from jobs.checks.check import Area, Check, Pattern, Threshold, Unit, check
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_count
from jobs.severity import Severity


class UnhealthyPartition(NamedTuple):
    """A partition in a state of `STATES`; `missing` are the brokers whose replicas are missing, sorted."""

    topic: str
    partition: int
    state: str
    missing: tuple[int, ...]
    since: datetime


class TopicShare(NamedTuple):
    """How many partitions of a topic have a replication factor that a check finds."""

    topic: str
    partitions: int


class Election(NamedTuple):
    """An unclean election; `isr` are the replicas that were in sync before."""

    topic: str
    partition: int
    at: datetime
    leader: int | None
    isr: Sequence[int]


class ChurnHour(NamedTuple):
    """ISR changes of a broker in the hour that begins at `hour`."""

    broker: int
    hour: datetime
    shrinks: int
    expands: int


@dataclass(slots=True)
class ClusterPartitions:
    """What was last recorded of the partitions of a cluster.

    `clock_set_at` is when the clock was last set, `unsure` the checks that it leaves open.
    `brokers` are those that are registered, and whether they are alive (None: not known); `rejoined` when
    they were last fenced or registered. `stuck` are findings of `replicas.STUCK`.
    """

    pk: int
    alias: str
    clock_set_at: datetime | None = None
    unsure: set[str] = field(default_factory=set)
    brokers: dict[int, bool | None] = field(default_factory=dict)
    rejoined: dict[int, datetime] = field(default_factory=dict)
    unhealthy: list[UnhealthyPartition] = field(default_factory=list)
    rf_below_min: list[TopicShare] = field(default_factory=list)
    rf_one: list[TopicShare] = field(default_factory=list)
    elections: list[Election] = field(default_factory=list)
    churn: list[ChurnHour] = field(default_factory=list)
    stuck: list[Finding] = field(default_factory=list)

    def is_down(self, broker: int) -> bool:
        """Whether a broker is fenced, or not registered while others are."""
        return self.brokers.get(broker, not self.brokers) is False

    def has_lasted(self, one: Check, since: datetime, for_s: float, now: datetime) -> bool:
        """Whether a state lasts so long; one from before the clock was set counts from then."""
        begin = since
        if self.clock_set_at is not None and not self.clock_set_at <= since <= now:
            begin = self.clock_set_at
        has_lasted = (now - begin).total_seconds() >= for_s
        if not has_lasted and begin is not since:
            self.unsure.add(one.id)
        return has_lasted


of_topics = partial(Check, area=Area.PARTITION, narrowed_by=Pattern.TOPIC)
_BROKERS = "Check the brokers that the finding names: one may be down, slow, or have a failed log directory."


def _for(default_s: float) -> tuple[Threshold, ...]:
    text = (
        "Time in this state before it is a finding; none where a missing replica's broker is down."
    )
    return (Threshold("for_s", default_s, Unit.SECONDS, text, most=86_400),)


OFFLINE = of_topics(
    id="partitions_offline",
    title="Partitions offline",
    question="Has every partition a leader?",
    rule="A partition has no leader.",
    severity=Severity.CRITICAL,
    runbook="Start the brokers that have its in-sync replicas. An unclean election loses records.",
    effect="{partitions} partitions offline",
    open_after_s=30,
)
UNDER_MIN_ISR = of_topics(
    id="under_min_isr",
    title="Partitions under min ISR",
    question="Does every partition accept writes with acks=all?",
    rule="A partition has fewer in-sync replicas than min.insync.replicas: writes with acks=all are refused.",
    severity=Severity.CRITICAL,
    runbook=_BROKERS,
    effect="{partitions} under min ISR",
    open_after_s=30,
)
AT_MIN_ISR = of_topics(
    id="at_min_isr",
    title="Partitions at min ISR",
    question="May a replica of every partition fail?",
    rule="A replica is out of sync, and the next replica failure stops writes with acks=all.",
    severity=Severity.WARNING,
    runbook=_BROKERS,
    thresholds=_for(600),
    effect="{partitions} at min ISR",
)
UNDER_REPLICATED = of_topics(
    id="under_replicated",
    title="Partitions under-replicated",
    question="Are all replicas in sync?",
    rule="A replica that is no observer and is not being added is out of sync.",
    severity=Severity.WARNING,
    runbook=_BROKERS,
    thresholds=_for(300),
    effect="{partitions} under-replicated",
)
STATES = {
    "offline": OFFLINE,
    "under_min_isr": UNDER_MIN_ISR,
    "at_min_isr": AT_MIN_ISR,
    "under_replicated": UNDER_REPLICATED,
}
_SAID = {
    OFFLINE.id: ("has no leader", "have no leader"),
    UNDER_MIN_ISR.id: ("is under min ISR", "are under min ISR"),
    AT_MIN_ISR.id: ("is at min ISR", "are at min ISR"),
    UNDER_REPLICATED.id: ("is under-replicated", "are under-replicated"),
}
MOST_NAMES = 5


@check(*STATES.values())
def unhealthy(state: ClusterPartitions, settings: Settings, now: datetime) -> Iterator[Finding]:
    """Group partitions that are unhealthy by state and brokers whose replicas are missing."""
    groups: dict[tuple[str, tuple[int, ...]], list[UnhealthyPartition]] = defaultdict(list)
    of_topic = {word: by_topic(settings, one, state) for word, one in STATES.items()}
    down = {one for row in state.unhealthy for one in row.missing if state.is_down(one)}
    for row in state.unhealthy:
        values = of_topic[row.state](row.topic)
        if values is None:
            continue
        for_s = values.get("for_s", 0)
        is_at_once = not for_s or not down.isdisjoint(row.missing)
        if is_at_once or state.has_lasted(STATES[row.state], row.since, for_s, now):
            groups[row.state, row.missing].append(row)
    for (word, missing), rows in groups.items():
        yield _group(state, STATES[word], missing, rows)


def _group(
    state: ClusterPartitions, one: Check, missing: tuple[int, ...], rows: list[UnhealthyPartition]
) -> Finding:
    brokers = f"broker{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}" if missing else ""
    said = _SAID[one.id][len(rows) > 1]
    without = f"; replicas on {brokers} are missing" if missing else ""
    examples = [f"{row.topic}-{row.partition}" for row in nsmallest(MOST_NAMES, rows)]
    topics = {row.topic for row in rows}
    return one.finding(
        f"{count_of(len(rows), 'partition')} of {state.alias} {said}{without}: "
        f"{names_of(examples, len(rows))}.",
        subject=brokers,
        topic=rows[0].topic if len(topics) == 1 else "",
        partition=rows[0].partition if len(rows) == 1 else None,
        evidence={"partitions": len(rows), "topics": len(topics), "examples": examples},
        since=min(row.since for row in rows),
        brokers=missing,
    )


def by_topic(
    settings: Settings, one: Check, state: ClusterPartitions
) -> Callable[[str], Mapping[str, float] | None]:
    """Return the thresholds of a check by topic; each topic is matched once."""
    return cache(lambda topic: settings.values(one, cluster=state.pk, topic=topic))


def count_of(number: int | None, noun: str) -> str:
    return f"{format_count(number)} {noun}{'' if number == 1 else 's'}"


def names_of(examples: Sequence[str], total: int) -> str:
    more = total - len(examples)
    return f"{', '.join(examples)}{f' and {format_count(more)} more' if more > 0 else ''}"
