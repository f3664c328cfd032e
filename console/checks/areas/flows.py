"""Replication flows: their state, lag, crashes, records at risk and copy audits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from console.checks.areas.area import Area, Given, Judged
from console.clusters import queries as clusters
from console.replication.flows import queries as flows
from console.replication.flows.queries import Flow
from jobs.checks.flows import AuditFacts, FlowFacts, evaluate, judged

MOST_TOPICS = 5
# By flow: topic, number and remote topic of partitions that failed or are retried.
Failing = Mapping[int, Sequence[tuple[str, int, str]]]
# By cluster, topic and number: the brokers that are down of the replicas of an offline partition.
Offlines = Mapping[tuple[int, str, int], frozenset[int]]


def judge(given: Given) -> Iterator[Judged]:
    """Judge every flow."""
    rows = flows.crashed(flows.with_status(flows.list_flows(), given.now), given.now)
    flows.answers.with_answers(rows)
    flows.with_audits(rows, given.now)
    failing = flows.failing_partitions()
    offline = clusters.brokers_of_offline_partitions(given.now) if failing else {}
    before: Mapping[str, float] = given.memory
    given.memory = {
        str(row.pk): before.get(str(row.pk), 0) + given.passed_s
        for row in rows
        if row.status.state == "starting" and row.is_wanted and not _is_ahead(row, given.now)
    }
    for row in rows:
        facts = _facts(row, given.memory.get(str(row.pk), 0), failing, offline, given.now)
        yield Judged(row, judged(facts), evaluate(facts, given.settings, given.now))


def _is_ahead(row: Flow, now: datetime) -> bool:
    """Whether its state began later than now: the clock was set back, and what a run reports looks old."""
    return row.status.since is not None and row.status.since > now


def _facts(
    row: Flow, starting_s: float, failing: Failing, offline: Offlines, now: datetime
) -> FlowFacts:
    status, mine = row.status, failing.get(row.pk, ())
    is_measured = not row.measured.is_stale(now)
    topics = Counter(topic for topic, _, _ in mine)
    offline_counts, brokers = _offline(row, mine, offline)
    answer = row.failover
    if answer is not None and flows.answers.freshness_of_answer(answer).is_stale(now):
        answer = None
    return FlowFacts(
        row.pk,
        row.name,
        row.source.alias,
        row.target.alias,
        status.state.value,
        status.reason,
        status.hint,
        status.since,
        is_active=row.is_wanted or row.is_watched,
        starting_s=starting_s,
        crashes=row.crashes.count,
        crashed_at=row.crashes.last_at,
        is_measured=is_measured,
        lag_ms=row.lag_ms if is_measured else None,
        lag_unknown=row.unknown_ms_count,
        partitions_failing=len(mine),
        topics=tuple(topic for topic, _ in topics.most_common(MOST_TOPICS)),
        offline=offline_counts,
        offline_brokers=tuple(sorted(brokers)),
        rpo_ms=answer.rpo_ms if answer else None,
        rpo_records=answer.rpo_records if answer else None,
        audit=_audit(row),
    )


def _audit(row: Flow) -> AuditFacts | None:
    one = row.audit
    if one.at is None:
        return None
    return AuditFacts(one.at, one.differs, one.level, one.sentence, one.counts, one.found)


def _offline(
    row: Flow, mine: Sequence[tuple[str, int, str]], offline: Offlines
) -> tuple[Counter[str], set[int]]:
    """Return how many offline partitions fail, by cluster, and the brokers that are down."""
    counts, brokers = Counter[str](), set[int]()
    for topic, number, remote in mine:
        for cluster, name in ((row.source, topic), (row.target, remote)):
            down = offline.get((cluster.pk, name, number))
            if down is not None:
                counts[cluster.alias] += 1
                brokers |= down
    return counts, brokers


AREA = Area("flows", judge)
