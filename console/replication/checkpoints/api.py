"""Checkpoints, failover readiness and offset translation over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.frame.rest.parsing import body_of
from console.frame.rest.serializers import FreshnessSerializer
from console.replication.checkpoints import queries as readiness_queries
from console.replication.checkpoints import series as checkpoint_series
from console.replication.checkpoints.history import share_ready
from console.replication.checkpoints.serializers import (
    CheckpointSeriesSerializer,
    FlowReadinessSerializer,
    GroupReadinessSerializer,
    OffsetListSerializer,
    TopicReadinessSerializer,
    TranslationSerializer,
    TranslationsSerializer,
)
from console.replication.flows.models import GroupReadiness, ReplicationFlow
from console.replication.translation.limits import limits_of
from console.replication.translation.translator import open_flow_translator
from console.replication.translation.workbench import REVERSE, translate_all, translate_one
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.obstacles import Readiness
from jobs.replication.translation.questions import Question


class ReadinessRoutes:
    """The routes of a flow's checkpoints, for its view set."""

    _flow: Callable[[], ReplicationFlow]
    paged: Callable[..., Response]
    asked: dict[str, Any]

    @extend_schema(responses=GroupReadinessSerializer(many=True))
    @action(detail=True)
    def checkpoints(self, request: Request, pk: str) -> Response:
        """List groups with their checkpoints, the records they reprocess or skip, and their readiness."""
        rows = GroupReadiness.objects.filter(flow=self._flow())
        wanted = {
            name: self.asked[name]
            for name in ("group", "readiness", "reason")
            if self.asked.get(name)
        }
        return self.paged(rows.filter(**wanted), GroupReadinessSerializer, "group")

    @extend_schema(responses=FlowReadinessSerializer)
    @action(detail=True, pagination_class=None)
    def readiness(self, request: Request, pk: str) -> Response:
        """Return the failover readiness of the flow: RPO, records reprocessed, and obstacles."""
        return Response(_answer(self._flow()))

    @extend_schema(responses=CheckpointSeriesSerializer)
    @action(detail=True, url_path="checkpoint-series", pagination_class=None)
    def checkpoint_series(self, request: Request, pk: str) -> Response:
        """Return checkpoint lag over time as columns, of the flow, of a group or of one partition of it."""
        key = (self.asked["group"], self.asked["topic"], self.asked["partition"])
        return Response(
            checkpoint_series.read_series(
                self._flow(), key, self.asked["time_range"], timezone.now(), self.asked["points"]
            )
        )

    @extend_schema(responses=TranslationSerializer)
    @action(detail=True, pagination_class=None)
    def translate(self, request: Request, pk: str) -> Response:
        """Translate an offset; return its range, the evidence, and MirrorMaker 2's translation."""
        where = TopicPartition(self.asked["topic"], self.asked["partition"])
        question = Question(1, where, self.asked["offset"])
        flow, direction = self._flow(), self.asked["direction"]
        limits = limits_of(flow, [where], is_reverse=direction == REVERSE)
        translator = open_flow_translator(flow)
        return Response(translate_one(flow, translator, question, direction, limits).to_mapping())

    @extend_schema(request=OffsetListSerializer, responses=TranslationsSerializer)
    @translate.mapping.post
    def translate_many(self, request: Request, pk: str) -> Response:
        """Translate a list of offsets; nothing is stored or changed."""
        asked = body_of(OffsetListSerializer, request)
        questions = [
            Question(
                number, TopicPartition(one["topic"], one["partition"]), one["offset"], one["group"]
            )
            for number, one in enumerate(asked["offsets"], start=1)
        ]
        found = _translated(self._flow(), questions, asked["direction"])
        return Response({"translations": found})


def _translated(
    flow: ReplicationFlow, questions: list[Question], direction: str
) -> list[dict[str, Any]]:
    limits = limits_of(flow, {one.where for one in questions}, is_reverse=direction == REVERSE)
    rows = translate_all(flow, open_flow_translator(flow), questions, direction, limits)
    return [row.to_mapping() for row in rows]


def _answer(flow: ReplicationFlow) -> dict[str, Any]:
    now = timezone.now()
    answer = readiness_queries.answer_of(flow)
    share = share_ready(flow, "", now)
    step = Readiness(answer.readiness) if answer else Readiness.UNKNOWN
    values = {name: getattr(answer, name, None) for name in _FROM_ROW}
    return {
        **values,
        "behind_unknown_count": answer.behind_unknown_count if answer else 0,
        "readiness": step.value,
        "found": answer.found if answer else "",
        "found_since": answer.found_since if answer else None,
        "evidence": answer.evidence if answer else [],
        "colour": step.colour,
        "counts": answer.counts if answer else {},
        "ready_share": share.share,
        "ready_since": share.since,
        "freshness": FreshnessSerializer(readiness_queries.freshness_of(flow)).data,
        "applications": [
            one.to_mapping() for one in readiness_queries.answers_for_flows([flow], now)[flow.pk]
        ],
        "topics": TopicReadinessSerializer(readiness_queries.list_topics(flow), many=True).data,
    }


_FROM_ROW = (
    "rpo_records",
    "rpo_ms",
    "reread_lo",
    "reread_hi",
    "skipped_lo",
    "skipped_hi",
    "repeated_hi",
    "repeated_coming_hi",
    "behind",
    "checkpoint_at",
    "since",
)
