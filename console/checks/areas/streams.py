"""Kafka Streams applications: members, tasks, lag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from console.checks.areas.area import Area, Given, Judged
from console.clusters import queries as clusters
from console.frame.pages.freshness import Freshness
from console.streams import queries as streams
from jobs.checks.streams import CHECKS, Application, judge_application
from jobs.findings import Finding


def judge(given: Given) -> Iterator[Judged]:
    """Judge the applications of each cluster whose last round is fresh."""
    watched = {one.pk: one for one in clusters.enabled_clusters().select_related("streams_round")}
    fresh = {pk: _freshness(one) for pk, one in watched.items()}
    fresh = {pk: one for pk, one in fresh.items() if not one.is_stale(given.now)}
    codes = {pk: {one.id for one in CHECKS} for pk in fresh}
    found: dict[int, list[Finding]] = {pk: [] for pk in fresh}
    memory: dict[str, Any] = {}
    for row in streams.applications_of(watched):
        pk, known = row.cluster_id, given.memory.get(str(row.pk), {})
        if pk not in fresh or _is_old(row, fresh[pk], given):
            memory |= {str(row.pk): known} if known else {}
            if pk in fresh:
                codes[pk] -= known.get("waited", {}).keys()
            continue
        lag = _lag(row, known.get("lag"))
        one = Application(
            pk,
            row.cluster.alias,
            row.application_id,
            row.state,
            row.tasks_without_thread,
            row.lag_records,
            lag["is_growing"] if lag else None if row.protocol == "streams" else False,
        )
        result = judge_application(
            one, given.settings, known.get("waited", {}), given.passed_s, given.now
        )
        codes[pk] -= result.unknown
        found[pk] += result.found
        if lag or result.waited:
            memory[str(row.pk)] = {"lag": lag, "waited": result.waited}
    given.memory = memory
    for pk, cluster in watched.items():
        yield Judged(cluster, codes.get(pk, ()), tuple(found.get(pk, ())))


def _freshness(cluster: Any) -> Freshness:
    return streams.freshness_of(getattr(cluster, "streams_round", None))


def _is_old(row: Any, of_round: Freshness, given: Given) -> bool:
    """Whether the last round did not see an application that is there."""
    if row.state == "Gone":
        return False
    seen = Freshness("", row.last_seen_at, stale_after_s=of_round.stale_after_s)
    return bool(row.problem) or seen.is_late(given.now)


def _lag(row: Any, before: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the lag of a group of the streams protocol, and whether it grew since the collection before."""
    if row.protocol != "streams" or row.facts_at is None or row.lag_unknown_count:
        return None
    at_ms = int(row.facts_at.timestamp() * 1000)
    if before and before["at_ms"] == at_ms:
        return dict(before)
    is_growing = bool(before) and (row.lag_records or 0) > (before or {})["records"]
    return {"at_ms": at_ms, "records": row.lag_records or 0, "is_growing": is_growing}


AREA = Area("streams", judge)
