"""Write what a round saw of one application: its row, and a snapshot when it runs in another way."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from console.clusters.models import Cluster
from console.streams.collection.counts import counts_of
from console.streams.models import StreamsApplication, StreamsSnapshot
from console.streams.snapshots import described
from jobs.cluster.group_members import ClassicGroup, StreamsGroup
from jobs.streams.application import Application
from jobs.streams.assembly import application_of
from jobs.streams.lag import changelogs_of
from jobs.streams.observation import Observation
from jobs.streams.stored import FORM, fingerprint_of, pack_application, pack_facts

GONE = "Gone"
_STABLE = "Stable"


def save_application(
    cluster: Cluster, row: StreamsApplication | None, seen: Observation, now: datetime
) -> None:
    """Write an application that the cluster described.

    A group without the metadata of its members, as while it rebalances, changes state and thread count only.
    """
    application = application_of(seen)
    values: dict[str, Any] = {
        "protocol": application.protocol.value,
        "state": application.state,
        "last_seen_at": now,
        "problem": "",
    }
    if is_whole(seen.group) and application.tasks:
        shown = described(application, seen.facts, row.description if row else "")
        values |= counts_of(shown, seen.facts)
        values |= {
            "facts": pack_facts(seen.facts),
            "facts_at": datetime.fromtimestamp(seen.observed_at_ms / 1000, UTC),
        }
    else:
        values |= _without_metadata(application, row)
    cautions = list(application.cautions)
    values |= {"cautions": cautions, "caution_count": len(cautions)}
    with transaction.atomic():
        kept, _ = StreamsApplication.objects.update_or_create(
            cluster=cluster,
            application_id=application.application_id,
            defaults=values,
            create_defaults={**values, "first_seen_at": now},
        )
        if "facts" in values:
            _save_snapshot(kept, application, seen, now)


def save_problem(row: StreamsApplication, problem: str) -> None:
    """Write why an application could not be described; what was known of it stays."""
    StreamsApplication.objects.filter(pk=row.pk).update(problem=problem)


def save_gone(row: StreamsApplication) -> None:
    """Write that the cluster does not list the group any more."""
    StreamsApplication.objects.filter(pk=row.pk).update(
        state=GONE, problem="", instances=0, threads=0, tasks_without_thread=row.tasks
    )


def is_whole(group: ClassicGroup | StreamsGroup) -> bool:
    """Return whether a group shows who runs which task."""
    if isinstance(group, StreamsGroup):
        return bool(group.members) and group.subtopologies is not None
    return group.state == _STABLE and any(one.metadata for one in group.members)


def _without_metadata(application: Application, row: StreamsApplication | None) -> dict[str, Any]:
    if application.threads:
        return {
            "instances": None,
            "threads": len(application.threads),
            "tasks_without_thread": None,
        }
    return {"instances": 0, "threads": 0, "tasks_without_thread": row.tasks if row else None}


def _save_snapshot(
    row: StreamsApplication, application: Application, seen: Observation, now: datetime
) -> None:
    fingerprint = f"{FORM}:{fingerprint_of(application)}"
    newest = row.snapshots.order_by("-pk").values_list("fingerprint", flat=True).first()
    if newest != fingerprint:
        StreamsSnapshot.objects.create(
            application=row,
            taken_at=now,
            generation=application.generation,
            fingerprint=fingerprint,
            content=pack_application(application),
            changelogs=pack_facts(changelogs_of(application, seen.facts)),
        )
