"""Reads of flows."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from console.clusters.models import Cluster, Topic
from console.frame.pages.freshness import (
    Freshness,
    freshness_of_round,
    oldest,
    stale_after_s,
)
from console.frame.security.access import clusters_of, visible
from console.frame.series import small_lines
from console.replication.checkpoints import queries as readiness
from console.replication.control.crashes import with_crashes
from console.replication.findings.models import FlowWatch
from console.replication.flows.audits import audits_of
from console.replication.flows.models import (
    FlowPartition,
    FlowRound,
    FlowTopic,
    LagSample,
    ReplicationFlow,
)
from console.replication.flows.status import RESTS_S, judge_flow
from console.runs import queries as run_queries
from console.runs.models import Run
from jobs.replication.copy.contract import CopyState
from jobs.replication.flow.selection import should_replicate
from jobs.replication.flow.spec import SyncsLocation

RECENT_S = 3600
# Runs of audits are removed then: see `keep_days` of an analysis.
AUDITS_KEPT = timedelta(days=90)

# The names under which other rooms know what was read here, and the reads of answers.
Flow = ReplicationFlow
answers = readiness
crashed = with_crashes

# What the numbers of a flow mean, wherever they are shown.
LAG = "Source log end offset minus replicated position: records that the target does not have yet."
LAG_MS = (
    "Timestamp of the newest source record minus timestamp of the last replicated record: valid during a "
    "catch-up, too, and constant while nothing is produced."
)
RATE = "Records replicated per second, mean of the last 10 s."


def list_flows() -> QuerySet[ReplicationFlow]:
    """Return all flows with their clusters, newest run and rounds, in a constant number of queries."""
    flows = ReplicationFlow.objects.select_related("source", "target", "run", "created_by")
    return flows.prefetch_related("rounds").defer("run__progress", "run__arguments", "run__summary")


def where(flow_id: int | None = None, pk: str = "", **_: str) -> Collection[int]:
    """Return the two clusters of a flow, for the guard of pages and routes."""
    return clusters_of(ReplicationFlow.objects.filter(pk=flow_id or pk or 0))


def get_flow(flow_id: int, now: datetime) -> ReplicationFlow | None:
    """Return one flow with its status, crashes and copy audit; None when there is none."""
    flow = list_flows().filter(pk=flow_id).first()
    return with_audits(with_crashes(with_status([flow], now), now), now)[0] if flow else None


def with_status(flows: Iterable[ReplicationFlow], now: datetime) -> list[ReplicationFlow]:
    """Return the flows, each with its status and how fresh its numbers are (`measured`); no query."""
    judged = list(flows)
    for flow in judged:
        flow.status = judge_flow(flow, now)
        flow.measured = _measured(flow, now)
    return judged


def _measured(flow: ReplicationFlow, now: datetime) -> Freshness:
    """Return the part of a flow that is stale, else when all of it was measured."""
    stale = [one for one in freshness_of(flow) if one.is_failing or one.is_late(now)]
    late_s = None if flow.measured_at is None else stale_after_s(RESTS_S, None)
    return oldest(stale) or Freshness("Flow", flow.measured_at, stale_after_s=late_s)


def with_audits(flows: list[ReplicationFlow], now: datetime) -> list[ReplicationFlow]:
    """Return the flows, each with the copy audit that counts at a moment (`audit`); some queries."""
    found = audits_of(flows, now)
    for flow in flows:
        flow.audit = found[flow.pk]
    return flows


def with_recent_lag(flows: list[ReplicationFlow], now: datetime) -> list[ReplicationFlow]:
    """Return the flows, each with its lag over the last hour in 30 steps; one query."""
    since, step_s = int(now.timestamp()) - RECENT_S, RECENT_S // 30
    rows = LagSample.objects.filter(flow__in=[flow.pk for flow in flows], topic="", at_s__gte=since)
    lines = small_lines(rows, "flow", "lag", step_s)
    for flow in flows:
        flow.recent_lag = lines.get(flow.pk, [])
    return flows


def list_topics(flow: ReplicationFlow | None = None) -> QuerySet[FlowTopic]:
    """Return the topics of a flow, of all flows when none is named."""
    return FlowTopic.objects.all() if flow is None else FlowTopic.objects.filter(flow=flow)


def written_topics(clusters: Iterable[int]) -> dict[int, frozenset[str]]:
    """Return the topics that flows write, by cluster; one query."""
    rows = FlowTopic.objects.filter(flow__target__in=list(clusters)).order_by()
    found: dict[int, set[str]] = {}
    for cluster, name in rows.values_list("flow__target", "remote_topic"):
        found.setdefault(cluster, set()).add(name)
    return {cluster: frozenset(names) for cluster, names in found.items()}


def list_partitions(
    flow: ReplicationFlow | None = None, topic: str = ""
) -> QuerySet[FlowPartition]:
    """Return the partitions of all flows, of one flow and of one topic when they are named."""
    partitions = FlowPartition.objects.all() if flow is None else flow.partitions.all()
    return partitions.filter(topic=topic) if topic else partitions


def failing_partitions() -> dict[int, list[tuple[str, int, str]]]:
    """Return topic, number and remote topic of partitions that failed or are retried, by flow; one query."""
    rows = FlowPartition.objects.filter(state__in=[CopyState.FAILED, CopyState.RETRYING])
    found: dict[int, list[tuple[str, int, str]]] = {}
    places = rows.values_list("flow_id", "topic", "partition", "remote_topic")
    for flow, topic, number, remote in places:
        found.setdefault(flow, []).append((topic, number, remote))
    return found


def partition_counts(flow: ReplicationFlow) -> dict[str, int]:
    """Return the topics of a flow with their partitions (0: not known): measured, or on its source."""
    seen = Topic.objects.filter(cluster=flow.source_id).values_list("name", "partition_count")
    spec = flow.spec()
    there = {name: count for name, count in seen if should_replicate(spec, name)}
    measured = dict(flow.flow_topics.values_list("topic", "partition_count"))
    return {name: max(there.get(name, 0), measured.get(name, 0)) for name in there | measured}


def list_runs(flow: ReplicationFlow) -> QuerySet[Run]:
    """Return the runs of a flow, newest first."""
    return run_queries.list_runs_of(flow.subject)


def findings_of(flow: ReplicationFlow, limit: int = 50) -> list[FlowPartition]:
    """Return partitions that are replicated and have findings."""
    return list(FlowPartition.objects.filter(flow=flow).exclude(findings=[])[:limit])


def list_watches() -> QuerySet[FlowWatch]:
    """Return how flows were last looked at, those that were."""
    return FlowWatch.objects.exclude(finished_at=None)


def watch_of(flow: ReplicationFlow) -> FlowWatch | None:
    """Return how a flow was last looked at; None before the first look."""
    return list_watches().filter(flow=flow).first()


def freshness_of(flow: ReplicationFlow) -> list[Freshness]:
    """Return how fresh the parts of what is known of the flow are."""
    rounds = {round_.noun: round_ for round_ in flow.rounds.all()}
    has_syncs = flow.offset_syncs != SyncsLocation.NONE
    nouns = [n for n in FlowRound.Noun.values if n != FlowRound.Noun.SYNCS or has_syncs]
    every_s = {
        FlowRound.Noun.POSITIONS: RESTS_S,
        FlowRound.Noun.SOURCE: RESTS_S if flow.partition_count else None,
    }
    return [
        freshness_of_round(FlowRound.Noun(n).label, rounds.get(n), every_s.get(FlowRound.Noun(n)))
        for n in nouns
    ]


def list_clusters(user: Any) -> list[Cluster]:
    """Return the clusters that a flow of this person can connect."""
    return list(visible(user, Cluster.objects.order_by("alias")))


def rest_s() -> int:
    """Return how far apart the samples of a flow at rest may be."""
    return RESTS_S
