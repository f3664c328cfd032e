"""Reads of checkpoints and of the answers to "can I fail over now?"."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from console.frame.pages.freshness import Freshness, freshness_of_round
from console.replication.checkpoints import applications
from console.replication.checkpoints.text import SEVERITIES, WORDS
from console.replication.flows.models import (
    CheckpointSample,
    CheckpointSeries,
    FlowReadiness,
    GroupReadiness,
    ReadinessChange,
    ReplicationFlow,
    TopicReadiness,
)
from jobs.replication.checkpoints.obstacles import Readiness
from jobs.severity import Severity

# Other rooms read queries only.
answers_for_application = applications.answers_for_application
answers_for_flows = applications.answers_for_flows


def list_answers() -> QuerySet[FlowReadiness]:
    return FlowReadiness.objects.select_related("flow__source", "flow__target").order_by(
        "flow__name"
    )


def row_of(flow: ReplicationFlow) -> FlowReadiness | None:
    """Return the row of a flow's rounds, read once per loaded flow; None before the first round."""
    row: FlowReadiness | None = getattr(flow, "answer", None)
    return row


def answer_of(flow: ReplicationFlow) -> FlowReadiness | None:
    """Return the answer of a flow; None before its first round has succeeded."""
    answer = row_of(flow)
    return answer if answer is not None and answer.succeeded_at is not None else None


def with_answers(flows: Iterable[ReplicationFlow]) -> list[ReplicationFlow]:
    """Return the flows, each with its answer as `failover` (None: not asked yet); one query."""
    found = list(flows)
    rows = FlowReadiness.objects.filter(flow__in=[f.pk for f in found], succeeded_at__isnull=False)
    answers = {row.flow_id: row for row in rows}
    for flow in found:
        flow.failover = answers.get(flow.pk)
    return found


def list_groups(flow: ReplicationFlow | None = None) -> QuerySet[GroupReadiness]:
    """Return the answers for groups, of a flow or of all, without what is only on a group's page."""
    rows = (
        GroupReadiness.objects.all() if flow is None else GroupReadiness.objects.filter(flow=flow)
    )
    return rows.defer("partitions", "topics")


def get_group(flow: ReplicationFlow, group: str) -> GroupReadiness | None:
    """Return the answer for a group with its partitions; None when it has nothing to do with the flow."""
    return GroupReadiness.objects.filter(flow=flow, group=group).first()


def list_topics(flow: ReplicationFlow) -> QuerySet[TopicReadiness]:
    """Return the answers for topics."""
    return TopicReadiness.objects.filter(flow=flow)


def freshness_of(flow: ReplicationFlow) -> Freshness:
    """Return how fresh the answers are."""
    return freshness_of_answer(row_of(flow))


def freshness_of_answer(answer: FlowReadiness | None) -> Freshness:
    """Return how fresh the answer of a flow is."""
    return freshness_of_round("Checkpoints", answer, settings.CHECKPOINT_INTERVAL_S)


def counted(answer: FlowReadiness) -> tuple[int, int]:
    """Return how many groups are ready, and how many the flow covers."""
    counts: dict[str, int] = answer.counts
    covered = sum(n for word, n in counts.items() if word != Readiness.NOT_COVERED)
    return counts.get(Readiness.READY, 0), covered


def age_s(at: datetime | None, now: datetime) -> float | None:
    """Return an age in seconds, never negative; None for none."""
    return None if at is None else max((now - at).total_seconds(), 0.0)


def not_ready(answer: FlowReadiness | Any) -> int:
    """Return how many covered groups are not ready."""
    ready, covered = counted(answer)
    return covered - ready


def in_words(readiness: str) -> tuple[str, Severity]:
    """Return a readiness as people say it, and how bad it is."""
    return WORDS[Readiness(readiness)], SEVERITIES[Readiness(readiness)]


def list_changes() -> QuerySet[ReadinessChange]:
    """Return when answers became other ones, by flow and group, oldest first."""
    return ReadinessChange.objects.order_by("flow", "group", "at", "pk")


def list_series() -> QuerySet[CheckpointSeries]:
    """Return the series of checkpoint lag of flows and groups, without those of partitions."""
    return CheckpointSeries.objects.filter(topic="")


def list_samples() -> QuerySet[CheckpointSample]:
    """Return samples of checkpoint lag."""
    return CheckpointSample.objects.all()
