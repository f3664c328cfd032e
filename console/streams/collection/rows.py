"""Write what a round saw of one application: its row, and a snapshot when it runs in another way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max, Sum
from django.db.models.functions import Length

from console.clusters.models import Cluster
from console.quorum import queries as quorum
from console.streams.collection.changes import change_of
from console.streams.models import StreamsApplication, StreamsSnapshot
from console.streams.snapshots import described, facts_in
from jobs import limits
from jobs.cluster.group_members import ClassicGroup, StreamsGroup
from jobs.limits import SENTENCE, short
from jobs.numbers import largest_of, sum_of
from jobs.streams.application import Application, Role
from jobs.streams.assembly import application_of
from jobs.streams.audit.added import KEPT_FOR_MS
from jobs.streams.audit.conditions import Added, Seen
from jobs.streams.audit.rules import audit
from jobs.streams.lag import NOT_KEPT, changelogs_of, ends_before
from jobs.streams.lookup.own_answer import worst_misrouted_share
from jobs.streams.observation import Facts, Observation
from jobs.streams.stored import FORM, fingerprint_of, pack_application, pack_facts
from jobs.streams.topology.from_broker import broker_text

GONE = "Gone"
# How far back the rules of the audit see changes.
CHANGES_OF = timedelta(hours=1)
_STABLE = "Stable"


def save_application(
    cluster: Cluster,
    row: StreamsApplication | None,
    seen: Observation,
    now: datetime,
    day_bytes: int = limits.SNAPSHOT_BYTES_PER_DAY,
    added: Sequence[Added] = (),
) -> None:
    """Write an application that the cluster described; `day_bytes` are for the snapshots of its cluster.

    `added` is of `added_partitions`. A group without the metadata of its members, as while it rebalances,
    changes state and thread count only.
    """
    application = application_of(seen)
    values: dict[str, Any] = {
        "protocol": application.protocol.value,
        "state": application.state,
        "last_seen_at": now,
        "problem": "",
    }
    told = list(application.cautions)
    if is_whole(seen.group) and application.tasks:
        facts = seen.facts
        # One query and one row of JSON more for each application: the deferred facts of the round before.
        last = NOT_KEPT if row is None else facts_in(row.facts)
        if last is not NOT_KEPT:
            facts = replace(facts, before=ends_before(application, last))
        text, why = broker_text(seen.group) if isinstance(seen.group, StreamsGroup) else ("", "")
        told.extend(filter(None, [why]))
        values["broker_description"] = text
        shown = described(application, facts, text, row.description if row else "")
        whole = _seen_whole(row, shown, facts, last, now, added)
        values |= counts_of(whole)
        values["audit"] = audit(whole)
        values |= {
            "facts": pack_facts(facts),
            "facts_at": datetime.fromtimestamp(seen.observed_at_ms / 1000, UTC),
        }
    else:
        values |= _without_metadata(application, row)
    values |= {"cautions": told, "caution_count": len(told)}
    with transaction.atomic():
        kept, _ = StreamsApplication.objects.update_or_create(
            cluster=cluster,
            application_id=application.application_id,
            defaults=values,
            create_defaults={**values, "first_seen_at": now},
        )
        if "facts" in values:
            _save_snapshot(kept, row, application, facts, now, day_bytes)


def _seen_whole(
    row: StreamsApplication | None,
    application: Application,
    facts: Facts,
    before: Facts,
    now: datetime,
    added: Sequence[Added],
) -> Seen:
    """Return what the audit is given of an application that was seen whole."""
    misrouted = worst_misrouted_share(application)
    if row is None:
        return Seen(application, facts, misrouted=misrouted, added=added)
    since = now - CHANGES_OF
    newest = row.snapshots.order_by("-pk").values_list("changelogs", flat=True).first()
    changes = row.snapshots.filter(taken_at__gte=since, change__isnull=False).order_by("pk")
    return Seen(
        application,
        facts,
        None if before is NOT_KEPT else before,
        facts_in(newest or b""),
        tuple(one for one in changes.values_list("change", flat=True) if one),
        misrouted,
        added,
        row.audit.get("memory", {}),
    )


def added_partitions(cluster: Cluster, now: datetime) -> tuple[Added, ...]:
    """Return which topics the metadata log of a cluster gave more partitions lately; one query."""
    since = now - timedelta(milliseconds=KEPT_FOR_MS)
    found = []
    for topic, old, new, at in quorum.partitions_added(cluster, since):
        at_ms = int(at.timestamp() * 1000)
        found.append(Added(topic, old, new, at_ms, at_ms))
    return tuple(found)


def save_problem(row: StreamsApplication, problem: str) -> None:
    """Write why an application could not be described; what was known of it stays."""
    StreamsApplication.objects.filter(pk=row.pk).update(problem=short(problem, SENTENCE))


def save_gone(row: StreamsApplication) -> None:
    """Write that the cluster does not list the group any more."""
    StreamsApplication.objects.filter(pk=row.pk).update(
        state=GONE, problem="", instances=0, threads=0, tasks_without_thread=row.tasks
    )


def size_of(seen: Observation) -> int:
    """Return how much the members of an application wrote, in bytes."""
    group = seen.group
    if isinstance(group, StreamsGroup):
        return len(group.members)
    return sum(len(one.metadata) + len(one.assignment) for one in group.members)


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
            "left_out": " ".join(application.left_out) or (row.left_out if row else ""),
            "tasks_without_thread": None,
        }
    return {"instances": 0, "threads": 0, "tasks_without_thread": row.tasks if row else None}


def _save_snapshot(
    row: StreamsApplication,
    known: StreamsApplication | None,
    application: Application,
    facts: Facts,
    now: datetime,
    day_bytes: int,
) -> None:
    """Keep another assignment: in the newest row where that is of this minute, or no room is left.

    `known` is the row before this round, None for a new one.
    """
    fingerprint = f"{FORM}:{fingerprint_of(application)}"
    newest = row.snapshots.order_by("-pk").only("fingerprint", "taken_at").first()
    if newest is not None and newest.fingerprint == fingerprint:
        return
    is_taken = newest is not None and (
        _minute_of(newest.taken_at) == _minute_of(now)
        or _taken_bytes(row.cluster_id, now) >= day_bytes
    )
    change = change_of(row, known, application, now, is_taken=is_taken)
    StreamsSnapshot.objects.update_or_create(
        pk=newest.pk if newest is not None and is_taken else None,
        defaults={
            "application": row,
            "taken_at": now,
            "generation": application.generation,
            "fingerprint": fingerprint,
            "content": pack_application(application),
            "changelogs": pack_facts(changelogs_of(application, facts)),
            "change": change.to_json(),
        },
    )


def _minute_of(moment: datetime) -> int:
    return int(moment.timestamp()) // limits.SNAPSHOT_EVERY_S


def _taken_bytes(cluster_id: int, now: datetime) -> int:
    """Return how many bytes the snapshots of a cluster have taken in the last 24 h."""
    rows = StreamsSnapshot.objects.filter(
        application__cluster=cluster_id, taken_at__gt=now - timedelta(days=1)
    )
    taken: int | None = rows.aggregate(taken=Sum(Length("content") + Length("changelogs")))["taken"]
    return taken or 0


def counts_of(whole: Seen) -> dict[str, Any]:
    """Return the fields of a row; None: absent, or it follows from tasks that are left out."""
    application, share = whole.application, whole.misrouted
    inputs = [one for own in whole.inputs.values() for one in own]
    lag = sum_of(one.records for one in inputs)
    is_whole = not application.left_out
    return {
        "left_out": " ".join(application.left_out),
        "instances": len(application.processes),
        "threads": len(application.threads),
        "tasks": len(application.placements),
        "tasks_without_thread": sum(
            not any(one.role is Role.ACTIVE for one in own)
            for own in application.placements.values()
        )
        if whole.is_all
        else None,
        "stores": len(application.stores),
        "lag_records": lag.value,
        "lag_unknown_count": lag.unknown,
        "lag_at_most_ms": _largest(one.at_most_ms for one in inputs) if is_whole else None,
        "event_time_lag_ms": _largest(one.event_time_ms for one in inputs) if is_whole else None,
        "answers_wrong": None if share is None else share > 0,
        "misrouted_share": share,
    }


def _largest(values: Iterable[int | None]) -> int | None:
    """Return the largest, None where any is not known: it may be beyond the others."""
    found = largest_of(values)
    return None if found.unknown else found.value


def forget_longest_gone(cluster: Cluster) -> None:
    """Remove the applications of a cluster that are gone for longest, of more than are kept."""
    kept = StreamsApplication.objects.filter(cluster=cluster).order_by("-last_seen_at", "-pk")
    beyond = list(kept.values_list("pk", flat=True)[limits.APPLICATIONS_KEPT :])
    if beyond:
        StreamsApplication.objects.filter(pk__in=beyond).delete()


def prune(now: datetime) -> int:
    """Remove what is older than `STREAMS_RETENTION_D`, but the newest snapshot of each application."""
    before = now - timedelta(days=settings.STREAMS_RETENTION_D)
    StreamsApplication.objects.filter(last_seen_at__lt=before).delete()
    newest = (
        StreamsSnapshot.objects.order_by()
        .values("application")
        .annotate(newest=Max("pk"))
        .values_list("newest", flat=True)
    )
    old = StreamsSnapshot.objects.filter(taken_at__lt=before).exclude(pk__in=list(newest))
    return old.delete()[0]
