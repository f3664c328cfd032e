"""The round of all checks: recorded state -> rules -> findings -> incidents."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Model
from django.utils import timezone

from console.checks.areas import (
    clusters,
    crosslog,
    flows,
    groups,
    internal_topics,
    objectives,
    partitions,
    streams,
)
from console.checks.areas.area import Area, Given, Judged
from console.checks.models import CheckRound
from console.findings import store
from console.findings.check_settings import read_settings
from console.findings.incidents.store import BROKEN, save_incidents
from console.findings.models import Finding, Kind
from console.frame.rounds import Clock, Outcome, Rounds
from jobs.checks.damping import plausible_s
from jobs.findings import Life

logger = logging.getLogger(__name__)

AREAS: tuple[Area, ...] = (
    clusters.AREA,
    partitions.AREA,
    groups.AREA,
    flows.AREA,
    streams.AREA,
    internal_topics.AREA,
    crosslog.AREA,
    objectives.AREA,
)
LIFE = Life(Kind.CHECKS.value, most_open=10_000)
ONE = 1
MOST_PASSED_S = 60.0
CHECKS: Rounds[CheckRound, CheckRound] = Rounds(
    name="checks",
    rows=CheckRound,
    of="pk",
    subjects=CheckRound.objects.all,
    every_s=lambda: settings.CHECKS_INTERVAL_S,
    activity="checking",
    claim=timedelta(seconds=120),
)


def due_checks(now: datetime) -> list[int]:
    """Return the one row when a round is due; it is made when there is none."""
    CheckRound.objects.get_or_create(pk=ONE)
    return CHECKS.due(now)


def run_checks(pk: int, clock: Clock = timezone.now, areas: Iterable[Area] = AREAS) -> bool:
    """Run the round when it is due; return whether it was. Never raises a fault."""
    return CHECKS.run(pk, lambda _, row: _check(row, clock, areas), clock, lambda row: row)


def _check(row: CheckRound, clock: Clock, areas: Iterable[Area]) -> Outcome:
    now, known = clock(), row.memory.get("areas", {})
    given_settings, passed_s = read_settings(), _passed_s(row, now)
    memory: dict[str, Any] = {}
    judged: list[Judged] = []
    broken: list[str] = []
    for area in areas:
        given = Given(now, given_settings, passed_s, known.get(area.name, {}))
        try:
            judged += area.judge(given)
        except Exception:
            # A broken rule must not silence the others.
            logger.exception("checks broke area=%s", area.name)
            broken.append(area.name)
        memory[area.name] = given.memory
    save(judged, now)
    incidents = row.memory.get("incidents", {})
    try:
        incidents = save_incidents(now, _lasted_s(row, now), given_settings, incidents)
        broken += incidents.pop(BROKEN)
    except Exception:
        # What areas remember is kept.
        logger.exception("incidents broke")
        broken.append("incidents")
    missing = f"Not checked, see the log of the worker: {', '.join(broken)}." if broken else ""
    at_ms = int(now.timestamp() * 1000)
    return Outcome({"memory": {"areas": memory, "incidents": incidents, "at_ms": at_ms}}, missing)


def _since_last_s(row: CheckRound, now: datetime) -> float | None:
    at_ms = row.memory.get("at_ms")
    return None if at_ms is None else now.timestamp() - at_ms / 1000


def _passed_s(row: CheckRound, now: datetime) -> float:
    return min(max(_since_last_s(row, now) or 0.0, 0.0), MOST_PASSED_S)


def _lasted_s(row: CheckRound, now: datetime) -> float:
    return plausible_s(_since_last_s(row, now), settings.CHECKS_INTERVAL_S)


def save(judged: Iterable[Judged], now: datetime) -> None:
    """Write the findings of each scope; a scope with nothing open and nothing found costs no query."""
    together: dict[tuple[Any, ...], list[Judged]] = {}
    for one in judged:
        together.setdefault(_key(one.scope), []).append(one)
    open_now = set(
        Finding.objects.filter(kind=Kind.CHECKS, closed_at=None)
        .values_list("cluster_id", "flow_id", "log_id")
        .distinct()
    )
    for key, parts in together.items():
        found = [one for part in parts for one in part.found]
        if found or key in open_now:
            codes = {str(code) for part in parts for code in part.codes}
            applied = store.Applied(codes)
            applied.unjudged = frozenset(key for part in parts for key in part.unjudged)
            store.save(parts[0].scope, LIFE, found, now, applied)


def _key(scope: Model | None) -> tuple[Any, ...]:
    """Return (cluster, flow, log) with the key of the scope at its place."""
    names = {"Cluster": 0, "ReplicationFlow": 1, "MetadataLog": 2}
    place = None if scope is None else names[type(scope).__name__]
    return tuple(scope.pk if number == place and scope else None for number in range(3))
