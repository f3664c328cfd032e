"""Incidents of a round: opened, changed, silenced and resolved, from all findings that are open."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max

from console.findings.incidents.models import EventKind, Incident, IncidentEvent, State, Subject
from console.findings.incidents.reading import (
    Scopes,
    read_open,
    read_scopes,
    read_windows,
)
from console.findings.incidents.timeline import Told, change_of, told_of
from console.findings.models import Finding
from console.findings.store import lead_to_incidents
from jobs.checks.check import CHECKS, CLOSE_AFTER, OPEN_AFTER
from jobs.checks.damping import Damping, Wait
from jobs.checks.incidents import LASTING, causes_of
from jobs.checks.maintenance import Window, active_windows
from jobs.checks.open_findings import Cause, Recovering
from jobs.checks.settings import Settings
from jobs.numbers import format_span_s

logger = logging.getLogger(__name__)

# Called in the transaction of the incidents, with the time; filled by the `apps` modules of rooms. What one
# did not write it writes in the next round.
FOLLOW_UPS: dict[str, Callable[[datetime], object]] = {}
BROKEN = "broken"
_BATCH = 500
_WITHOUT_CHECK = Wait(0, 30)
_SAME = ("subject_kind", "subject", "title", "todo")
_OF_CAUSE = (
    *_SAME, "check_id", "brokers", "severity", "rank", "sentence", "effects", "finding_count",
)  # fmt: skip


def save_incidents(
    now: datetime, lasted_s: float, given: Settings, memory: Mapping[str, Any]
) -> dict[str, Any]:
    """Make incidents of all open findings; return what the next round has to know.

    BROKEN in it names the follow-ups that failed. `lasted_s` is the time since the round before. A constant
    number of queries, and writes in batches.
    """
    rows = {row.key: row for row in Incident.objects.filter(ended_at=None)}
    scopes, before = read_scopes(), Damping.from_mapping(memory.get("damping", {}))
    findings, incidents = read_open(scopes, {row.pk: key for key, row in rows.items()})
    recovering = [
        Recovering(key, row.cluster_id, int(row.subject) if row.subject else None)
        for key, row in rows.items()
        if row.cluster_id is not None and row.check_id in LASTING and before.is_recovering(key)
    ]
    causes = {one.key: one for one in causes_of(findings, scopes.names, recovering)}
    present = {key for key, one in causes.items() if not one.is_over}
    waits = {
        key: _wait_of(row.check_id, row.cluster_id, row.flow_id, _group(row), given)
        for key, row in rows.items()
    }
    for key in present:
        one = causes[key]
        waits[key] = _wait_of(one.check, one.cluster, one.flow, _group(one), given)
    damping, opened, resolved = before.after(
        waits, present, causes.keys() - present, rows.keys(), lasted_s
    )
    turn = _Turn(now, lasted_s, scopes, read_windows(), dict(memory.get("told", {})))
    with transaction.atomic():
        rows |= turn.open([causes[key] for key in causes if key in opened])
        turn.confirm({rows[key]: one for key, one in causes.items() if key in rows}, opened)
        lead_to_incidents(
            (pk, rows[key].pk)
            for key, one in causes.items()
            if key in rows
            for pk in one.findings
            if incidents.get(pk) != rows[key].pk
        )
        turn.resolve([rows.pop(key) for key in resolved])
        turn.silence(rows.values())
        IncidentEvent.objects.bulk_create(turn.events, batch_size=_BATCH)
        broken = [name for name in FOLLOW_UPS if not _follow_up(name, now)]
    return {
        BROKEN: broken,
        "damping": damping.to_mapping(),
        "told": {key: turn.told[key] for key in rows if key in turn.told},
    }


def _follow_up(name: str, now: datetime) -> bool:
    """Call a follow-up in a savepoint; return whether it wrote what it had to."""
    try:
        with transaction.atomic():
            FOLLOW_UPS[name](now)
    except Exception:
        # A broken follow-up must not cost the incidents.
        logger.exception("follow-up broke name=%s", name)
        return False
    return True


def prune(now: datetime) -> int:
    """Remove incidents that ended more than INCIDENTS_RETENTION_D days ago; return how many rows."""
    limit = now - timedelta(days=settings.INCIDENTS_RETENTION_D)
    return Incident.objects.filter(ended_at__lt=limit).delete()[0]


def _wait_of(
    check_id: str, cluster: int | None, flow: int | None, group: str, given: Settings
) -> Wait:
    """Return how long the check of a cause waits there."""
    check = CHECKS.by_id.get(check_id)
    if check is None or check.is_advice:
        return _WITHOUT_CHECK
    values = given.values(check, cluster=cluster, flow=flow, group=group) or check.defaults
    return Wait(values[OPEN_AFTER], values[CLOSE_AFTER])


def _group(one: Cause | Incident) -> str:
    return one.subject if one.subject_kind == Subject.GROUP else ""


@dataclass
class _Turn:
    """One round: what it writes, and the entries of timelines that follow."""

    now: datetime
    lasted_s: float
    scopes: Scopes
    windows: Sequence[Window]
    told: dict[str, Told]
    events: list[IncidentEvent] = field(default_factory=list)

    def _say(self, row: Incident, kind: EventKind, text: str) -> None:
        self.events.append(IncidentEvent(incident=row, at=self.now, kind=kind, text=text))

    def open(self, causes: Collection[Cause]) -> dict[str, Incident]:
        """Open incidents, unless another writer just did; return all rows of these causes by key."""
        made = [self._row(cause) for cause in causes]
        if not made:
            return {}
        Incident.objects.bulk_create(made, batch_size=_BATCH, ignore_conflicts=True)
        keys = {row.key for row in made}
        opened = Incident.objects.filter(ended_at=None, opened_at=self.now)
        rows = {row.key: row for row in opened if row.key in keys}
        for key, row in rows.items():
            self.told[key] = told_of(row.severity, row.effects)
            self._say(row, EventKind.OPENED, row.sentence)
        return rows

    def _row(self, cause: Cause) -> Incident:
        row = Incident(
            key=cause.key,
            cluster_id=cause.cluster,
            flow_id=cause.flow,
            log_id=cause.log,
            began_at=min(cause.began_at, self.now),
            opened_at=self.now,
            last_seen_at=self.now,
        )
        _take(row, cause)
        return row

    def confirm(self, causes: Mapping[Incident, Cause], opened: Collection[str]) -> None:
        """Write what changed of incidents whose cause is there or has effects."""
        changed = []
        for row, cause in causes.items():
            if row.key in opened:
                continue
            if _take(row, cause):
                changed.append(row)
            now = told_of(row.severity, row.effects)
            if text := change_of(self.told.setdefault(row.key, now), now, self.lasted_s):
                self.told[row.key] = now
                self._say(row, EventKind.CHANGED, text)
        _write(changed, _OF_CAUSE)
        Incident.objects.filter(pk__in=[row.pk for row in causes]).update(last_seen_at=self.now)

    def resolve(self, rows: Sequence[Incident]) -> None:
        """Resolve incidents: they were over with the last of their findings."""
        mine = Finding.objects.filter(incident__in=[row.pk for row in rows]).order_by()
        ends = dict(mine.values_list("incident").annotate(Max("closed_at")))
        for row in rows:
            ended = ends.get(row.pk) or row.last_seen_at
            row.ended_at = max(min(ended, self.now), row.began_at)
            row.state, row.window = State.RESOLVED.value, ""
            seconds = (row.ended_at - row.began_at).total_seconds()
            self._say(row, EventKind.RESOLVED, f"Resolved after {format_span_s(seconds)}.")
        _write(rows, ("ended_at", "state", "window"))

    def silence(self, rows: Iterable[Incident]) -> None:
        """Silence incidents in maintenance windows, and end silences whose time is over."""
        active = active_windows(self.windows, self.now)
        changed = []
        for row in rows:
            places = self.scopes.clusters(row.cluster_id, row.flow_id, row.log_id)
            titles = [one.title for one in active if one.cluster is None or one.cluster in places]
            window = row.window if row.window in titles else next(iter(titles), "")
            is_over = row.silenced_until is not None and row.silenced_until <= self.now
            until = None if is_over else row.silenced_until
            if (window, until) == (row.window, row.silenced_until):
                continue
            self._tell_silence(row, window)
            row.window, row.silenced_until = window, until
            row.state = row.state_at(self.now)
            changed.append(row)
        _write(changed, ("state", "window", "silenced_until"))

    def _tell_silence(self, row: Incident, window: str) -> None:
        if window and window != row.window:
            self._say(row, EventKind.SILENCED, f"Maintenance window {window}.")
        elif row.window and not window:
            self._say(row, EventKind.UNSILENCED, f"The maintenance window {row.window} ended.")
        else:
            self._say(row, EventKind.UNSILENCED, "The time of the silence is over.")


def _take(row: Incident, cause: Cause) -> bool:
    """Take what a cause says now into a row; return whether anything changed.

    Of a cause that is over the row keeps what it says of it.
    """
    values: dict[str, Any] = {
        "severity": cause.severity.value,
        "rank": cause.severity.rank,
        "sentence": f"{row.title}: over. {cause.sentence}" if cause.is_over else cause.sentence,
        "effects": [asdict(one) for one in cause.effects],
        "finding_count": len(cause.findings),
    }
    if not cause.is_over:
        values |= {name: getattr(cause, name) for name in _SAME}
        values |= {"check_id": cause.check, "brokers": list(cause.brokers)}
    changed = {name: value for name, value in values.items() if getattr(row, name) != value}
    for name, value in changed.items():
        setattr(row, name, value)
    return bool(changed)


def _write(rows: Sequence[Incident], fields: Sequence[str]) -> None:
    """Write some fields of rows: far fewer words than an UPDATE with a case for each row and field."""
    Incident.objects.bulk_create(
        rows,
        batch_size=_BATCH,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=fields,
    )
