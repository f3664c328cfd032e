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
_AUDITED = ("state", "acknowledged_by", "silenced_until", "owner", "note")


@change("incident.acknowledge")
@transaction.atomic
def acknowledge(incident: Incident, user: User | None, now: datetime) -> Incident:
    row = _unresolved(incident)
    given = {} if row.acknowledged_at else {"acknowledged_at": now, "acknowledged_by": user}
    return _write("incident.acknowledge", row, EventKind.ACKNOWLEDGED, user, now, given)


@change("incident.unacknowledge")
@transaction.atomic
def unacknowledge(incident: Incident, user: User | None, now: datetime) -> Incident:
    row, given = _unresolved(incident), {"acknowledged_at": None, "acknowledged_by": None}
    return _write("incident.unacknowledge", row, EventKind.UNACKNOWLEDGED, user, now, given)


@change("incident.silence")
@transaction.atomic
def silence(incident: Incident, until: datetime, user: User | None, now: datetime) -> Incident:
    """Silence it up to a time within 30 days; raises `InvalidFields`."""
    row, given = _unresolved(incident), {"silenced_until": until}
    if not now < until <= now + LONGEST_SILENCE:
        raise InvalidFields(
            {"until": "Enter a time in the future, at most 30 days from now (UTC)."}
        )
    text = f"Until {until:%Y-%m-%d %H:%M:%S} UTC."
    return _write("incident.silence", row, EventKind.SILENCED, user, now, given, text=text)


@change("incident.unsilence")
@transaction.atomic
def unsilence(incident: Incident, user: User | None, now: datetime) -> Incident:
    """End the silence; that of a maintenance window ends with the window."""
    row, given = _unresolved(incident), {"silenced_until": None}
    return _write("incident.unsilence", row, EventKind.UNSILENCED, user, now, given)


@change("incident.set_owner")
@transaction.atomic
def set_owner(incident: Incident, name: str, user: User | None, now: datetime) -> Incident:
    """Name the owner by username, "" for none; raises `InvalidFields` unless that user may see it."""
    row, name = _unresolved(incident), name.strip()
    owner = User.objects.filter(username=name).first() if name else None
    if name and not (owner and visible(owner, Incident.objects.filter(pk=row.pk)).exists()):
        raise InvalidFields({"owner": f"No user {name} may see this incident."})
    given, text = {"owner": owner}, name or "No owner."
    return _write("incident.set_owner", row, EventKind.OWNER, user, now, given, text=text)


@change("incident.set_note")
@transaction.atomic
def set_note(incident: Incident, note: str, user: User | None, now: datetime) -> Incident:
    """Replace the note, also of a resolved incident; raises `InvalidFields`."""
    row, text = _locked(incident), note.strip()
    if len(text) > LONGEST_NOTE:
        raise InvalidFields({"note": f"Enter at most {LONGEST_NOTE:,} characters."})
    given = {"note": text}
    return _write(
        "incident.set_note", row, EventKind.NOTE, user, now, given, text=text or "Removed."
    )


def _locked(incident: Incident) -> Incident:
    rows = list_incidents().filter(pk=incident.pk)
    return or_404(rows.select_for_update(of=("self",)).first())


def _unresolved(incident: Incident) -> Incident:
    row = _locked(incident)
    if row.ended_at is not None:
        raise ActionRefused("resolved", "The incident is resolved: only its note can be changed.")
    return row


def _write(  # noqa: PLR0913 - what an event and an entry of the audit log hold
    action: str,
    row: Incident,
    event: EventKind,
    user: User | None,
    now: datetime,
    given: Mapping[str, Any],
    *,
    text: str = "",
) -> Incident:
    """Write what differs, with its event and its entry of the audit log; nothing when nothing does."""
    changed = {name: value for name, value in given.items() if getattr(row, name) != value}
    if not changed:
        return row
    before = _audited(row)
    for name, value in changed.items():
        setattr(row, name, value)
    row.state = row.state_at(now)
    row.save(update_fields=[*changed, "state"])
    by = user.get_username() if user else ""
    IncidentEvent.objects.create(incident=row, at=now, kind=event, text=text, by=by)
    alias = row.cluster.alias if row.cluster else ""
    audit(action, f"incident:{row.pk}", before=before, after=_audited(row), cluster=alias)
    return row


def _audited(row: Incident) -> dict[str, Any]:
    return {name: str(getattr(row, name) or "") for name in _AUDITED}
