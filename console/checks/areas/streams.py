"""Kafka Streams applications: members and tasks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from console.checks.areas.area import Area, Given, Judged
from console.clusters import queries as clusters
from console.frame.pages.freshness import Freshness
from console.streams import queries as streams
from jobs.findings import Finding, Key
from jobs.streams.audit.rules import conditions_in
from jobs.streams.audit.running import CHECKS, Application, judge_application

CODES = frozenset(one.id for one in CHECKS)
# Facts have the time of their round in ms.
A_MOMENT = timedelta(seconds=1)


def judge(given: Given) -> Iterator[Judged]:
    """Judge the applications of each cluster whose last round is fresh."""
    watched = {one.pk: one for one in clusters.enabled_clusters().select_related("streams_round")}
    fresh = {pk: _freshness(one) for pk, one in watched.items()}
    fresh = {pk: one for pk, one in fresh.items() if not one.is_stale(given.now)}
    found: dict[int, list[Finding]] = {pk: [] for pk in fresh}
    unjudged: dict[int, set[Key]] = {pk: set() for pk in fresh}
    memory: dict[str, Any] = {}
    for row in streams.applications_of(watched):
        pk, known = row.cluster_id, given.memory.get(str(row.pk), {})
        if pk not in fresh or _is_old(row, fresh[pk], given):
            memory |= {str(row.pk): known} if known else {}
            if pk in fresh:
                unjudged[pk] |= {(code, row.application_id) for code in CODES}
            continue
        result = judge_application(_seen(row), given.settings, known, given.passed_s, given.now)
        unjudged[pk] |= {(code, row.application_id) for code in result.unknown}
        found[pk] += result.found
        if result.waited:
            memory[str(row.pk)] = result.waited
    given.memory = memory
    for pk, cluster in watched.items():
        codes = CODES if pk in fresh else ()
        kept = frozenset(unjudged.get(pk, ()))
        yield Judged(cluster, codes, tuple(found.get(pk, ())), kept)


def _seen(row: Any) -> Application:
    """Return an application as it was recorded; its audit counts while it is of the last collection."""
    is_audited = bool(row.audit) and abs(row.last_seen_at - row.facts_at) < A_MOMENT
    return Application(
        row.cluster_id,
        row.cluster.alias,
        row.application_id,
        row.state,
        row.tasks_without_thread,
        conditions_in(row.audit) if is_audited else None,
    )


def _freshness(cluster: Any) -> Freshness:
    return streams.freshness_of(getattr(cluster, "streams_round", None))


def _is_old(row: Any, of_round: Freshness, given: Given) -> bool:
    """Whether the last round did not see an application that is there."""
    if row.state == "Gone":
        return False
    seen = Freshness("", row.last_seen_at, stale_after_s=of_round.stale_after_s)
    return bool(row.problem) or seen.is_late(given.now)


AREA = Area("streams", judge)
