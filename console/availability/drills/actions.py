"""Actions on drills: request one, or record one."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from console.accounts.asked_rights import rights_asked
from console.accounts.audit import audit
from console.accounts.models import User
from console.availability.acting.store import is_stopped
from console.availability.drills.models import Drill, DrillKind, DrillResult, DrillState
from console.availability.promotion.audit import promotion_change, subject_of
from console.availability.promotion.models import Actor
from console.clusters.models import Broker, Cluster
from console.frame.errors import ActionRefused
from jobs.cluster.errors import InvalidFields

PREFIX = "crosslog-drill-"
MOST_RESULTS = 5000
# Methods that work on a new topic; a held-back replica does not.
DRILLABLE = (Actor.FENCED_STANDBY, Actor.REASSIGN_TO_SPARE, Actor.RELAX_MIN_ISR)


@promotion_change("drill.start")
def start_drill(
    cluster: Cluster, values: Mapping[str, Any], user: User | None, now: datetime
) -> Drill:
    """Request a drill on a test topic; `manage.py promote` starts it within seconds.

    Values: `actors` (codes; empty: all that can be drilled), `broker` (to promote; null: a suitable one),
    `confirm` (the cluster's alias, typed again). Raises `InvalidFields` and `ActionRefused`.
    """
    actors, broker = _read(cluster, values)
    if is_stopped(cluster.pk):
        text = "The stop switch is on: no drill starts. Turn it off on the page Promotion."
        raise ActionRefused("stopped", text)
    drill_id = uuid.uuid4()
    row = Drill(
        pk=drill_id,
        cluster=cluster,
        title=str(values.get("title") or "").strip()[:200],
        actors=actors,
        broker=broker,
        topic=f"{PREFIX}{drill_id.hex[:8]}",
        requested_by=user,
        asked_with=rights_asked(user),
        created_at=now,
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            after = {"drill": str(row.pk), "actors": actors, "broker": broker, "topic": row.topic}
            audit("drill.start", subject_of(row), cluster=cluster.alias, after=after)
    except IntegrityError:
        text = "A drill of this cluster is running: wait until it has ended."
        raise ActionRefused("drill_is_running", text) from None
    return row


@promotion_change("drill.record")
def record_drill(
    cluster: Cluster, values: Mapping[str, Any], user: User | None, now: datetime
) -> Drill:
    """Record predicted and observed results; raises `InvalidFields`.

    Values: `title` and `results`: mappings of `subject` (a partition such as orders-0), `prediction` and
    `seen` (mappings; fields that are in both are compared) and `message`.
    """
    title = str(values.get("title") or "").strip()[:200]
    results = _results(values.get("results"))
    row = Drill(
        cluster=cluster,
        kind=DrillKind.WHAT_IF,
        title=title or f"What-if of {now:%Y-%m-%d %H:%M}",
        requested_by=user,
        created_at=now,
        started_at=now,
        finished_at=now,
        topic_removed_at=now,
    )
    for one in results:
        one.drill, one.at = row, now
    row.good_count = sum(one.is_good for one in results)
    row.bad_count = len(results) - row.good_count
    row.state = DrillState.PARTIAL if row.bad_count else DrillState.SUCCEEDED
    with transaction.atomic():
        row.save(force_insert=True)
        DrillResult.objects.bulk_create(results, batch_size=500)
        after = {"drill": str(row.pk), "title": row.title, "as_predicted": row.good_count}
        audit("drill.record", subject_of(row), cluster=cluster.alias, after=after)
    return row


def _read(cluster: Cluster, values: Mapping[str, Any]) -> tuple[list[str], int | None]:
    errors: dict[str, str] = {}
    actors = [str(one) for one in values.get("actors") or [one.value for one in DRILLABLE]]
    unknown = sorted(set(actors) - {one.value for one in DRILLABLE})
    if unknown:
        known = ", ".join(one.value for one in DRILLABLE)
        errors["actors"] = f"Cannot be drilled: {', '.join(unknown)}. Known: {known}."
    broker = values.get("broker")
    if broker is not None:
        brokers = Broker.objects.filter(cluster=cluster).values_list("broker_id", flat=True)
        if broker not in set(brokers):
            names = ", ".join(map(str, sorted(brokers))) or "none collected yet"
            errors["broker"] = f"Not a broker of {cluster.alias}: {broker}. It has: {names}."
    if str(values.get("confirm") or "").strip() != cluster.alias:
        errors["confirm"] = f"Type this to confirm: {cluster.alias}"
    if errors:
        raise InvalidFields(errors)
    return list(dict.fromkeys(actors)), broker


def _results(given: Any) -> list[DrillResult]:
    if not isinstance(given, list) or not given or len(given) > MOST_RESULTS:
        text = f"A list of 1 to {MOST_RESULTS} results: subject, prediction and seen."
        raise InvalidFields({"results": text})
    found: dict[str, DrillResult] = {}
    for number, one in enumerate(given):
        is_whole = isinstance(one, Mapping) and all(
            isinstance(one.get(name), Mapping) for name in ("prediction", "seen")
        )
        subject = str(one.get("subject") or "").strip() if is_whole else ""
        if not subject or subject in found or len(subject) > 300:  # noqa: PLR2004  its column
            text = f"Result {number + 1} needs a unique subject, prediction and seen."
            raise InvalidFields({"results": text})
        prediction, seen = dict(one["prediction"]), dict(one["seen"])
        differs = sorted(n for n in prediction.keys() & seen.keys() if prediction[n] != seen[n])
        is_compared = bool(prediction.keys() & seen.keys())
        why = (
            f"Different from the prediction: {', '.join(differs)}." if differs else "As predicted."
        )
        found[subject] = DrillResult(
            subject=subject,
            is_good=is_compared and not differs,
            prediction=prediction,
            seen=seen,
            message=str(
                one.get("message") or (why if is_compared else "No common field to compare.")
            )[:2000],
        )
    return list(found.values())
