"""Write what was measured of a flow: only rows that changed, in a constant number of statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction

from console.frame.rounds import Outcome, ending
from console.replication.control.crashes import task_crashes
from console.replication.flows.models import (
    FlowPartition,
    FlowRound,
    FlowTopic,
    LagSample,
    ReplicationFlow,
)
from console.replication.measurement import measure
from console.replication.measurement.measure import Measured, Totals
from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.contract import CopyState
from jobs.replication.flow.spec import OnRecreated

MEASURED = (
    "remote_topic",
    "state",
    "reason",
    "position",
    "log_start_offset",
    "end_offset",
    "lag",
    "lag_ms",
    "rate_per_s",
    "last_timestamp_ms",
    "head_timestamp_ms",
    "path",
    "path_reason",
    "bytes_per_s",
    "batch_bytes",
    "packed",
    "retries",
    "commit_ms",
    "throttled_ms",
    "quota_ms",
    "duplicates",
    "findings",
)
TOPIC_FIELDS = (
    "topic_id",
    "remote_topic",
    "partition_count",
    "state",
    "failed_count",
    "reason",
    "problem",
    "accepts_new",
    "lag",
    "lag_ms",
    "rate_per_s",
)
# Topics get a sample each round while there are few; a flow writes at most this many rows a second.
TOPIC_SAMPLES_PER_S = 2


def as_measured(row: FlowPartition) -> Measured:
    """Return a stored partition as the rules see it."""
    values = {name: getattr(row, name) for name in MEASURED}
    values |= {"state": CopyState(row.state), "findings": tuple(row.findings)}
    return Measured(topic=row.topic, partition=row.partition, **values)


def save_measurement(
    flow: ReplicationFlow,
    rows: Sequence[Measured],
    progress: Mapping[str, Any] | None,
    now: datetime,
    *,
    sample: bool,
) -> None:
    """Write partitions, topics, the flow's totals and, when the numbers are new, samples."""
    totals = measure.total(rows)
    topics = {name: measure.total(group) for name, group in measure.by_topic(rows).items()}
    with transaction.atomic():
        _save_partitions(flow, rows, now)
        _save_topics(flow, rows, topics, progress, now)
        _save_totals(flow, totals, progress, now)
        if sample:
            _save_samples(flow, totals, topics, now)


def save_round(
    flow: ReplicationFlow,
    noun: FlowRound.Noun,
    now: datetime,
    duration_ms: int | None,
    fault: ClusterFault | None,
) -> None:
    """Write how a part of a measurement went; `duration_ms` is None when no cluster was queried."""
    row, _ = FlowRound.objects.get_or_create(flow=flow, noun=noun)
    values = {"finished_at": now, "duration_ms": duration_ms, **ending(Outcome(fault=fault), now)}
    FlowRound.objects.filter(pk=row.pk).update(**values | error_of(fault))


def error_of(fault: ClusterFault | None) -> dict[str, str]:
    """Return the error of a round that queries two clusters: it names the one that did not answer."""
    return {} if fault is None else {"error": str(fault)}


def _save_partitions(flow: ReplicationFlow, rows: Sequence[Measured], now: datetime) -> None:
    before = {(r.topic, r.partition): r for r in FlowPartition.objects.filter(flow=flow)}
    changed = []
    for row in rows:
        old = before.pop((row.topic, row.partition), None)
        values = {**_partition_values(row)}
        if old is not None and all(getattr(old, k) == v for k, v in values.items()):
            continue
        same_state = old is not None and (old.state, old.reason) == (row.state.value, row.reason)
        since = old.since if same_state and old is not None else now
        changed.append(
            FlowPartition(
                flow=flow,
                topic=row.topic,
                partition=row.partition,
                since=since,
                updated_at=now,
                **values,
            )
        )
    _upsert(
        FlowPartition.objects,
        changed,
        ["flow", "topic", "partition"],
        [*MEASURED, "since", "updated_at"],
    )
    FlowPartition.objects.filter(pk__in=[row.pk for row in before.values()]).delete()


def _partition_values(row: Measured) -> dict[str, Any]:
    values = {name: value for name, value in asdict(row).items() if name in MEASURED}
    return {**values, "state": row.state.value, "findings": list(row.findings)}


def _save_topics(
    flow: ReplicationFlow,
    rows: Sequence[Measured],
    topics: Mapping[str, Totals],
    progress: Mapping[str, Any] | None,
    now: datetime,
) -> None:
    before = {row.topic: row for row in FlowTopic.objects.filter(flow=flow)}
    places = progress["topics"] if progress else {}
    groups = measure.by_topic(rows)
    changed = []
    for name in sorted({*topics, *places}):
        old = before.pop(name, None)
        place = places.get(name) or _place_of(old)
        values = _topic_values(place, topics.get(name) or measure.total([]), groups.get(name, []))
        if old is None or any(getattr(old, k) != v for k, v in values.items()):
            changed.append(FlowTopic(flow=flow, topic=name, updated_at=now, **values))
    _upsert(FlowTopic.objects, changed, ["flow", "topic"], [*TOPIC_FIELDS, "updated_at"])
    FlowTopic.objects.filter(pk__in=[row.pk for row in before.values()]).delete()


def _place_of(topic: FlowTopic | None) -> dict[str, Any]:
    if topic is None:
        return {}
    return {
        "topic_id": topic.topic_id,
        "remote_topic": topic.remote_topic,
        "problem": topic.problem,
    }


def _topic_values(
    place: Mapping[str, Any], totals: Totals, rows: Sequence[Measured]
) -> dict[str, Any]:
    remote_topic = place.get("remote_topic") or next((r.remote_topic for r in rows), "")
    return {
        "topic_id": place.get("topic_id") or "",
        "remote_topic": remote_topic,
        "partition_count": totals.partitions,
        "state": totals.state.value,
        "failed_count": totals.failed,
        "reason": totals.reason,
        "problem": place.get("problem") or "",
        "accepts_new": measure.accepts_new_topic(rows),
        "lag": totals.lag,
        "lag_ms": totals.lag_ms,
        "unknown_count": totals.unknown,
        "unknown_ms_count": totals.unknown_ms,
        "rate_per_s": totals.rate_per_s,
    }


def _save_totals(
    flow: ReplicationFlow, totals: Totals, progress: Mapping[str, Any] | None, now: datetime
) -> None:
    reason = totals.reason or (measure.waits_because(progress) if progress else "")
    changes: dict[str, Any] = {
        "measured_at": now,
        "partition_count": totals.partitions,
        "states": dict(totals.states),
        "lag": totals.lag,
        "lag_ms": totals.lag_ms,
        "unknown_count": totals.unknown,
        "unknown_ms_count": totals.unknown_ms,
        "rate_per_s": totals.rate_per_s,
        "held_back": dict(totals.held_back),
        **_told(flow, progress, now),
    }
    if reason != flow.worst_reason:
        changes |= {"worst_reason": reason, "worst_since": now if reason else None}
    if progress is not None:
        changes |= _learned(flow, progress)
        changes["counted"] = count_on(flow.counted, str(flow.run_id), progress)
    ReplicationFlow.objects.filter(pk=flow.pk, reset_topics=flow.reset_topics).update(**changes)


def _told(
    flow: ReplicationFlow, progress: Mapping[str, Any] | None, now: datetime
) -> dict[str, Any]:
    """Return what only a run knows; of remote topics the last word stays when it has ended."""
    told = progress or {}
    control = told.get("control") or {}
    found = {"eta_s": told.get("eta_s"), "control_problem": control.get("problem") or ""}
    found |= {"task_crashes": task_crashes(flow.task_crashes, told.get("crashes") or (), now)}
    found |= {"hosting": told.get("engine")}
    found |= {"checkpoint_writing": told.get("checkpoints") or flow.checkpoint_writing}
    return found | {"topic_sync": _synced(flow.topic_sync, told.get("topic_sync"))}


def _synced(before: Mapping[str, Any], sync: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the last sync of remote topics with the last changes that one made, and `changed_at`.

    A sync is made every minute and rarely changes anything: what was changed would be gone at once.
    """
    if sync is None or sync["at"] == before.get("at"):
        return before
    if sync["changes"]:
        return {**sync, "changed_at": sync["at"]}
    return {
        **sync,
        "changes": before.get("changes") or [],
        "changed_at": before.get("changed_at"),
    }


def _learned(flow: ReplicationFlow, progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return the topic ids that the run copies, and which accepted topics have arrived.

    Only from a run that knows about all accepted topics: an older one still reports their old ids.
    """
    arguments = flow.run.arguments if flow.run else {}
    if not set(flow.reset_topics) <= set(arguments.get("reset_topics") or ()):
        return {}
    seen = {
        name: place["topic_id"]
        for name, place in progress["topics"].items()
        if place.get("topic_id")
        and (name not in flow.topic_ids or flow.on_recreated == OnRecreated.FROM_START)
    }
    groups = measure.by_topic(measure.from_progress(progress))
    waiting = [topic for topic in flow.reset_topics if not _copies(groups.get(topic, []))]
    return {"topic_ids": {**flow.topic_ids, **seen}, "reset_topics": waiting}


def _copies(rows: Sequence[Measured]) -> bool:
    going = {CopyState.CAUGHT_UP, CopyState.COPYING}
    return bool(rows) and all(row.state in going for row in rows)


def _save_samples(
    flow: ReplicationFlow, totals: Totals, topics: Mapping[str, Totals], now: datetime
) -> None:
    at_s = int(now.timestamp())
    samples = [_sample(flow, "", totals, at_s)] if totals.partitions else []
    every = timedelta(seconds=max(settings.FLOW_INTERVAL_S, len(topics) / TOPIC_SAMPLES_PER_S) - 1)
    if flow.topics_sampled_at is None or now - flow.topics_sampled_at >= every:
        samples += [_sample(flow, name, part, at_s) for name, part in topics.items()]
        ReplicationFlow.objects.filter(pk=flow.pk).update(topics_sampled_at=now)
    LagSample.objects.bulk_create(samples, batch_size=500)


def _sample(flow: ReplicationFlow, topic: str, totals: Totals, at_s: int) -> LagSample:
    return LagSample(
        flow=flow,
        topic=topic,
        at_s=at_s,
        lag=totals.lag,
        lag_ms=totals.lag_ms,
        unknown_count=totals.unknown,
        rate_per_s=totals.rate_per_s,
    )


def _upsert(
    rows: models.Manager[Any], changed: Sequence[Any], unique: list[str], fields: list[str]
) -> None:
    rows.bulk_create(
        changed, batch_size=500, update_conflicts=True, unique_fields=unique, update_fields=fields
    )


# What a flow copied since it is known, over all its runs: a run counts from 0, this never falls.

COUNTED = ("records", "bytes", "commits", "retries")


def count_on(counted: Mapping[str, Any], run: str, progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts after another look at a run; pure.

    `total` is what was counted so far, `seen` what the run had told at the last look. Of a run that
    was not seen before everything is new. A partition that left the flow takes its part of `seen` with it
    and nothing from `total`.
    """
    before = counted.get("seen", {}) if counted.get("run") == run else {}
    total = counted.get("total", {})
    seen = {name: sum(row.get(name) or 0 for row in progress["partitions"]) for name in COUNTED}
    return {
        "run": run,
        "seen": seen,
        "total": {
            name: total.get(name, 0) + max(seen[name] - before.get(name, 0), 0) for name in COUNTED
        },
    }
