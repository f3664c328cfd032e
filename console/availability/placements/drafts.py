"""Draft placements: parsing, validation against the cluster, preview."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from console.availability.placements.effects import Preview, preview_placement
from console.availability.placements.models import (
    LARGEST_PRIORITY,
    PatternKind,
    TopicPlacement,
)
from console.availability.placements.placements import check_pattern, list_placements
from console.availability.what_if.cluster_models import snapshot_of
from console.clusters.models import Cluster
from jobs.availability.placements.placement import (
    InvalidPlacement,
    Placement,
    check_placement,
    parse_placement,
)
from jobs.cluster.errors import InvalidFields

_LONGEST_NOTE = 300


def draft_of(
    cluster: Cluster, values: Mapping[str, Any], row: TopicPlacement | None = None
) -> TopicPlacement:
    """Return the placement that values mean, not saved; fields not given stay those of `row`.

    `placement` is Confluent's JSON as text or as a mapping. Raises `InvalidFields`: the parts of a wrong
    placement are named `placement.replicas[1].constraints.rack`.
    """
    given = {**values_of(row), **values}
    errors = _plain_errors(given)
    if wrong := check_pattern(given["kind"], given["pattern"]):
        errors.setdefault("pattern", wrong)
    placement = _read_placement(cluster, given["placement"], errors)
    if errors or placement is None:
        raise InvalidFields(errors)
    draft = TopicPlacement(
        cluster=cluster,
        kind=given["kind"],
        pattern=given["pattern"],
        priority=given["priority"],
        document=placement.as_json(),
        note=given["note"],
    )
    if row is not None:
        draft.pk, draft.created_at = row.pk, row.created_at
    return draft


def preview(draft: TopicPlacement) -> Preview:
    """Return what saving a draft would mean; nothing is written."""
    return preview_placement(snapshot_of(draft.cluster), list_placements(draft.cluster), draft)


def confirmation_of(draft: TopicPlacement) -> str:
    """Return what names a draft beside the placements as they are: it changes when either does."""
    rows = list_placements(draft.cluster).order_by("pk").values_list("pk", "changed_at")
    about = [draft.cluster_id, draft.pk, draft.kind, draft.pattern, draft.priority, draft.document]
    text = json.dumps([about, [[pk, at.isoformat()] for pk, at in rows]], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:24]


def _plain_errors(given: Mapping[str, Any]) -> dict[str, str]:
    errors = {}
    if given["kind"] not in PatternKind.values:
        errors["kind"] = f"One of {', '.join(PatternKind.values)}."
    if not 0 <= given["priority"] <= LARGEST_PRIORITY:
        errors["priority"] = f"From 0 to {LARGEST_PRIORITY}."
    if len(given["note"]) > _LONGEST_NOTE:
        errors["note"] = f"At most {_LONGEST_NOTE} characters."
    return errors


def _read_placement(cluster: Cluster, value: Any, errors: dict[str, str]) -> Placement | None:
    """Return a placement that this cluster can hold; what is wrong with it is added to `errors`."""
    try:
        placement = parse_placement(value)
    except InvalidPlacement as invalid:
        errors.update(at_field(invalid.problems))
        return None
    errors.update(at_field(check_on_cluster(cluster, placement)))
    return placement


def check_on_cluster(cluster: Cluster, placement: Placement) -> dict[str, str]:
    """Return what keeps a cluster from holding a placement, by its parts."""
    rows = cluster.brokers.values_list("broker_id", "rack")
    racks = {number: rack or None for number, rack in rows}
    if not racks:
        return {"": f"No broker of {cluster.alias} is collected yet: its racks are unknown."}
    if not any(racks.values()):
        text = "has a rack. Placements need racks: set broker.rack on each broker."
        return {"": f"No broker of {cluster.alias} {text}"}
    return check_placement(placement, racks)


def at_field(problems: Mapping[str, str], name: str = "placement") -> dict[str, str]:
    """Return the problems of a placement under the name of its field."""
    return {f"{name}.{path}" if path else name: text for path, text in problems.items()}


def values_of(row: TopicPlacement | None) -> dict[str, Any]:
    """Return a placement as the actions take its values; without one those of a new one."""
    if row is None:
        plain = {"kind": PatternKind.EXACT.value, "pattern": "", "priority": 0}
        return {**plain, "placement": "", "note": ""}
    names = ("kind", "pattern", "priority", "note")
    return {**{name: getattr(row, name) for name in names}, "placement": row.document}
