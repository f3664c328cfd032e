"""Replication flows: their state, lag, crashes, records at risk and copy audits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from console.checks.areas.area import Area, Given, Judged
from console.clusters import queries as clusters
from console.replication.flows import queries as flows
from console.replication.flows.queries import Flow
from jobs.checks.flows import STREAMS, AuditFacts, FlowFacts, NotReady, evaluate, judged

MOST_TOPICS, MOST_REASONS = 5, 3
# What an application needs on the target changes slowly.
APPLICATIONS_EVERY_S = 60
_APPLICATIONS_AT_S = "applications_at_s"
FlowApplications = tuple[tuple[NotReady, ...] | None, frozenset[tuple[str, str]]]
_NOT_JUDGED: FlowApplications = (None, frozenset())
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
    at_s = before.get(_APPLICATIONS_AT_S, 0)
    is_due = not 0 <= given.now.timestamp() - at_s < APPLICATIONS_EVERY_S
    given.memory[_APPLICATIONS_AT_S] = given.now.timestamp() if is_due else at_s
    applications = dict(_applications(rows, given.now)) if is_due else {}
    for row in rows:
        facts = _facts(row, given.memory.get(str(row.pk), 0), failing, offline, given.now)
        not_ready, unjudged = applications.get(row.pk, _NOT_JUDGED)
        facts = replace(facts, not_ready=not_ready)
        found = evaluate(facts, given.settings, given.now)
        yield Judged(row, judged(facts), found, unjudged)


def _applications(rows: Sequence[Flow], now: datetime) -> Iterator[tuple[int, FlowApplications]]:
    """Yield the applications that are not ready by flow, and findings on which there is no answer."""
    for pk, answers in flows.answers.answers_for_flows(rows, now).items():
        covered = [one for one in answers if one.has_group]
        unknown = {one.application_id for one in covered if one.failover.ready is None}
        bad = (one for one in covered if one.failover.ready is False)
        found = tuple(_not_ready(one.application_id, one.failover.reasons) for one in bad)
        yield pk, (found, frozenset((STREAMS.id, name) for name in unknown))


def _not_ready(application_id: str, reasons: Sequence[Any]) -> NotReady:
    sure = [one for one in reasons if not one.is_unknown]
    told = tuple(one.text for one in sure[:MOST_REASONS])
    return NotReady(application_id, told, sure[0].todo, tuple(one.code for one in sure))


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
