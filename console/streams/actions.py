"""What can be done with applications: say what their topology is."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from console.accounts.audit import audit, change
from console.accounts.models import User
from console.streams.models import StreamsApplication
from console.streams.snapshots import picture_of
from jobs.cluster.errors import InvalidFields
from jobs.streams.assembly import fitting
from jobs.streams.topology.described import DescribedTopology
from jobs.streams.topology.reading import DescriptionError, read_description


@change("streams.describe")
def set_description(row: StreamsApplication, text: str, person: User, now: datetime) -> None:
    """Keep what `Topology#describe()` printed, an empty text removes it.

    Raises `InvalidFields` with the line that cannot be read, or with the topics of a description that has
    none in common with what runs; nothing is changed then.
    """
    text = text.replace("\r\n", "\n").strip("\n")
    if not text.strip():
        text = ""
    if "\0" in text:
        raise InvalidFields({"description": "The text holds a character NUL."})
    try:
        if text:
            _refuse_other(row, read_description(text))
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


def _refuse_other(row: StreamsApplication, description: DescribedTopology) -> None:
    picture = picture_of(row)
    _, fit = fitting(picture.application, picture.facts, description)
    if fit.is_other:
        text = f"It is the description of another application. {' '.join(fit.problems)}"
        raise InvalidFields({"description": text})


def _shown(text: str) -> str:
    """Return a description as the audit log has it: its size, the whole would be pages."""
    lines = len(text.splitlines())
    return f"{lines} lines" if lines else ""
