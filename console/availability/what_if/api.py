"""Failure simulation over REST: of a registered cluster, or of a given model. Nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.availability.api_lookup import find_cluster
from console.availability.placements.drafts import at_field
from console.availability.placements.models import TopicPlacement
from console.availability.placements.placements import Proposed, check_pattern
from console.availability.placements.serializers import RowParameters
from console.availability.what_if.cluster_snapshots import ClusterSnapshot
from console.availability.what_if.matrices import matrix_of, quorum_json
from console.availability.what_if.query import (
    BadStep,
    WhatIfRequest,
    answer_for,
    make_election,
    make_step,
    read_query,
    step_errors,
    write_step,
)
from console.availability.what_if.serializers import (
    MatrixSerializer,
    WhatIfParameters,
    WhatIfQuery,
    WhatIfSerializer,
)
from console.availability.what_if.simulation import KINDS, TopicResult, WhatIfResult, simulate_model
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import ApiViewSet
from jobs.availability.placements.placement import InvalidPlacement, parse_placement
from jobs.availability.what_if.answer_json import counts_mapping
from jobs.availability.what_if.model.cluster import ClusterModel, InvalidCluster
from jobs.availability.what_if.steps import Step, UnknownTarget
from jobs.cluster.errors import InvalidFields

_LARGEST_DIGITS = 9


class WhatIfViewSet(ApiViewSet[TopicPlacement]):
    """Failure simulation of a cluster."""

    queryset = TopicPlacement.objects.none()
    serializer_class = WhatIfSerializer
    parameters: ClassVar = {"list": WhatIfParameters, "matrix": RowParameters}
    anywhere_actions: ClassVar = ("list", "create", "matrix")
    # It asks a question that is too long for an address, and changes nothing.
    access: ClassVar = {"create": "view"}
    secret_answers: ClassVar = ("create",)
    pagination_class = None

    @extend_schema(responses=WhatIfSerializer)
    def list(self, request: Request) -> Response:
        """Simulate steps on a cluster; the same parameters as the page's address."""
        cluster = find_cluster(request.user, self.asked["cluster"])
        told = answer_for(cluster, read_query(self.asked))
        return Response(_answer_json(told.answer, self.asked, cluster.alias, told.snapshot))

    @extend_schema(request=WhatIfQuery, responses={200: WhatIfSerializer})
    def create(self, request: Request) -> Response:
        """Simulate steps on a registered cluster or on a given model; writes nothing."""
        asked = body_of(WhatIfQuery, request)
        steps = read_steps(asked.get("steps", ()))
        if "model" in asked:
            return Response(_answer_json(_ask_described(asked["model"], steps), asked))
        cluster = find_cluster(request.user, asked["cluster"])
        sites = _read_sites(asked.get("sites") or {})
        proposed = read_proposals(asked.get("proposed") or ())
        about = (asked.get("at"), tuple(proposed), sites, "observers" in asked)
        told = answer_for(cluster, WhatIfRequest(tuple(steps), *about))
        return Response(_answer_json(told.answer, asked, cluster.alias, told.snapshot))

    @extend_schema(responses=MatrixSerializer)
    @action(detail=False, pagination_class=None)
    def matrix(self, request: Request) -> Response:
        """Return the effect of every single failure, and the worst one."""
        cluster = find_cluster(request.user, self.asked["cluster"])
        kept = matrix_of(cluster)
        text, first = self.asked["topic"].lower(), self.asked["offset"]
        rows = [row for row in kept.document["topics"] if text in row[0].lower()]
        sites = kept.document["sites"]
        told = {
            "cluster": cluster.alias,
            "seen_at": kept.seen_at,
            "made_at": kept.made_at,
            "gaps": list(kept.gaps),
            "worst": kept.document["worst"],
            "failures": kept.document["failures"],
            "left_out": kept.document["left_out"],
            "topic_count": len(rows),
            "topics": [_row_json(row, sites) for row in rows[first : first + self.asked["limit"]]],
            "offset": first,
        }
        return Response(MatrixSerializer(told).data)


def read_steps(rows: Any) -> list[Step]:
    """Return the steps of a request; raises `ValidationError` naming the one that is wrong."""
    return [_read_step(number, row) for number, row in enumerate(rows)]


def _read_step(number: int, row: Mapping[str, Any]) -> Step:
    kind, topic = row["action"], row.get("topic")
    if kind in {"unclean_election", "preferred_election"}:
        return make_election(kind.removesuffix("_election"), topic)
    names = ("racks", "brokers", "controllers")
    targets = {name: frozenset(row.get(name) or ()) for name in names}
    verb = "lose" if kind == "lose" else "return-clean" if row.get("is_clean") else "return"
    try:
        return make_step(verb, targets)
    except BadStep as bad:
        raise serializers.ValidationError({f"steps[{number}]": str(bad)}) from None


def read_proposals(rows: Any) -> list[Proposed]:
    """Return the proposed placements of a request; raises `InvalidFields` at the field that is wrong."""
    found = []
    errors: dict[str, str] = {}
    for number, row in enumerate(rows):
        if wrong := check_pattern(row["kind"], row["pattern"]):
            errors[f"proposed[{number}].pattern"] = wrong
            continue
        try:
            placement = parse_placement(row["placement"])
        except InvalidPlacement as invalid:
            errors |= at_field(invalid.problems, f"proposed[{number}].placement")
            continue
        least = row.get("min_insync_replicas")
        found.append(Proposed(row["kind"], row["pattern"], placement, least))
    if errors:
        raise InvalidFields(errors)
    return found


def _ask_described(document: Any, steps: list[Step]) -> WhatIfResult:
    try:
        return simulate_model(ClusterModel.from_json(document), steps)
    except InvalidCluster as invalid:
        raise InvalidFields(at_field(invalid.problems, "model")) from None
    except UnknownTarget as unknown:
        raise InvalidFields(step_errors(unknown.problems)) from None


def _read_sites(given: Mapping[str, str]) -> dict[int, str]:
    for name in given:
        if not (name.isascii() and name.isdecimal() and len(name) <= _LARGEST_DIGITS):
            raise InvalidFields({"sites": f"{name!r} is no number of a controller."})
    return {int(name): rack for name, rack in given.items()}


def _answer_json(
    answer: WhatIfResult,
    asked: Mapping[str, Any],
    alias: str | None = None,
    snapshot: ClusterSnapshot | None = None,
) -> Any:
    first, most = asked["offset"], asked["limit"]
    keeps, topic = KINDS[asked["show"]], asked.get("topic") or ""
    told = {
        "cluster": alias,
        "seen_at": snapshot.seen_at if snapshot else None,
        "gaps": list(snapshot.gaps) if snapshot else [],
        "quorum_before": quorum_json(answer.quorum_before),
        "steps": [
            {
                "name": one.name,
                "step": write_step(one.step),
                "counts": counts_mapping(one.counts),
                "quorum": quorum_json(one.quorum),
            }
            for one in answer.steps
        ],
        "counts": counts_mapping(answer.counts),
        "quorum": quorum_json(answer.quorum),
        "topic_count": answer.topic_count,
        "topics": [_topic_json(one) for one in islice(answer.topics, first, first + most)],
        "partition_count": answer.count_partitions(keeps, topic),
        "partitions": list(answer.partitions(keeps, topic, first=first, most=most)),
        "offset": first,
    }
    return WhatIfSerializer(told).data


def _topic_json(one: TopicResult) -> dict[str, Any]:
    placement = one.topic.resolved.placement
    return {
        "topic": one.name,
        "worst_before": one.worst_before.word,
        "counts": counts_mapping(one.counts),
        "placement": None if placement is None else placement.as_json(),
    }


def _row_json(row: Any, sites: list[str]) -> dict[str, Any]:
    name, count, cells = row
    told = [
        {
            "site": site,
            "worst": worst,
            "unwritable": unwritable,
            "offline": offline,
            "at_risk": risk,
            "writable_unknown": sum(unknown),
        }
        for site, (worst, unwritable, offline, risk, *unknown) in zip(sites, cells, strict=True)
    ]
    return {"topic": name, "partitions": count, "sites": told}
