"""What can be done with applications: say what their topology is."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from console.accounts.audit import audit, change
from console.accounts.models import User
from console.streams.models import StreamsApplication
from jobs.cluster.errors import InvalidFields
from jobs.streams.topology.reading import DescriptionError, read_description


@change("streams.describe")
def set_description(row: StreamsApplication, text: str, person: User, now: datetime) -> None:
    """Keep what `Topology#describe()` printed, an empty text removes it.

    Raises `InvalidFields` with the line that cannot be read; nothing is changed then.
    """
    text = text.replace("\r\n", "\n").strip("\n")
    if not text.strip():
        text = ""
    if "\0" in text:
        raise InvalidFields({"description": "The text holds a character NUL."})
    try:
        if text:
            read_description(text)
    except DescriptionError as wrong:
        raise InvalidFields({"description": str(wrong)}) from None
    before = {"description": _shown(row.description)}
    with transaction.atomic():
        StreamsApplication.objects.filter(pk=row.pk).update(
            description=text,
            described_at=now if text else None,
            described_by=person.get_username() if text else "",
        )
        subject, after = row.application_id, {"description": _shown(text)}
        audit("streams.describe", subject, before=before, after=after, cluster=row.cluster.alias)


def _shown(text: str) -> str:
    """Return a description as the trail has it: its size, the whole would be pages."""
    lines = len(text.splitlines())
    return f"{lines} lines" if lines else ""
