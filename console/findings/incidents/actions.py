"""What people do with incidents: acknowledge, silence, name an owner, write a note."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from console.accounts.audit import audit, change
from console.accounts.models import User
from console.findings.incidents.models import EventKind, Incident, IncidentEvent
from console.findings.incidents.queries import list_incidents
from console.frame.errors import ActionRefused, or_404
from console.frame.security.access import visible
from jobs.cluster.errors import InvalidFields

LONGEST_SILENCE = timedelta(days=30)
LONGEST_NOTE = 5000
_TOLD = ("state", "acknowledged_by", "silenced_until", "owner", "note")


@change("incident.acknowledge")
@transaction.atomic
def acknowledge(incident: Incident, user: User | None, now: datetime) -> Incident:
    row = _unresolved(incident)
    if row.acknowledged_at is None:
        given = {"acknowledged_at": now, "acknowledged_by": user}
        _write("incident.acknowledge", row, EventKind.ACKNOWLEDGED, user, now, given)
    return row


@change("incident.unacknowledge")
@transaction.atomic
def unacknowledge(incident: Incident, user: User | None, now: datetime) -> Incident:
    row = _unresolved(incident)
    if row.acknowledged_at is not None:
        given = {"acknowledged_at": None, "acknowledged_by": None}
        _write("incident.unacknowledge", row, EventKind.UNACKNOWLEDGED, user, now, given)
    return row


@change("incident.silence")
@transaction.atomic
def silence(incident: Incident, until: datetime, user: User | None, now: datetime) -> Incident:
    """Silence it up to a time within 30 days; raises `InvalidFields`."""
    row = _unresolved(incident)
    if not now < until <= now + LONGEST_SILENCE:
        raise InvalidFields(
            {"until": "Enter a time in the future, at most 30 days from now (UTC)."}
        )
    if row.silenced_until != until:
        text, given = f"Until {until:%Y-%m-%d %H:%M:%S} UTC.", {"silenced_until": until}
        _write("incident.silence", row, EventKind.SILENCED, user, now, given, text=text)
    return row


@change("incident.unsilence")
@transaction.atomic
def unsilence(incident: Incident, user: User | None, now: datetime) -> Incident:
    """End the silence; that of a maintenance window ends with the window."""
    row = _unresolved(incident)
    if row.silenced_until is not None:
        given = {"silenced_until": None}
        _write("incident.unsilence", row, EventKind.UNSILENCED, user, now, given)
    return row


@change("incident.set_owner")
@transaction.atomic
def set_owner(incident: Incident, name: str, user: User | None, now: datetime) -> Incident:
    """Name the owner by username, "" for none; raises `InvalidFields` unless that user may see it."""
    row = _unresolved(incident)
    owner = _owner_of(row, name.strip())
    if row.owner != owner:
        text = owner.get_username() if owner else "No owner."
        _write("incident.set_owner", row, EventKind.OWNER, user, now, {"owner": owner}, text=text)
    return row


@change("incident.set_note")
@transaction.atomic
def set_note(incident: Incident, note: str, user: User | None, now: datetime) -> Incident:
    """Replace the note, also of a resolved incident; raises `InvalidFields`."""
    row = _locked(incident)
    text = note.strip()
    if len(text) > LONGEST_NOTE:
        raise InvalidFields({"note": f"Enter at most {LONGEST_NOTE:,} characters."})
    if row.note != text:
        given = {"note": text}
        _write("incident.set_note", row, EventKind.NOTE, user, now, given, text=text or "Removed.")
    return row


def _locked(incident: Incident) -> Incident:
    rows = list_incidents().filter(pk=incident.pk)
    return or_404(rows.select_for_update(of=("self",)).first())


def _unresolved(incident: Incident) -> Incident:
    row = _locked(incident)
    if row.ended_at is not None:
        raise ActionRefused("resolved", "The incident is resolved: only its note can be changed.")
    return row


def _owner_of(row: Incident, name: str) -> User | None:
    if not name:
        return None
    person = User.objects.filter(username=name).first()
    if person is None or not visible(person, Incident.objects.filter(pk=row.pk)).exists():
        raise InvalidFields({"owner": f"No user {name} may see this incident."})
    return person


def _write(  # noqa: PLR0913 - what an event and an entry of the audit log hold
    action: str,
    row: Incident,
    event: EventKind,
    user: User | None,
    now: datetime,
    given: Mapping[str, Any],
    *,
    text: str = "",
) -> None:
    before = _told(row)
    for name, value in given.items():
        setattr(row, name, value)
    row.state = row.state_at(now)
    row.save(update_fields=[*given, "state"])
    by = user.get_username() if user else ""
    IncidentEvent.objects.create(incident=row, at=now, kind=event, text=text, by=by)
    alias = row.cluster.alias if row.cluster else ""
    audit(action, f"incident:{row.pk}", before=before, after=_told(row), cluster=alias)


def _told(row: Incident) -> dict[str, Any]:
    return {name: str(getattr(row, name) or "") for name in _TOLD}
