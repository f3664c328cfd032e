"""Forms of the quorum pages: search, partition, points in time."""

from __future__ import annotations

from datetime import UTC, datetime

from django import forms

from console.frame.pages.forms import ActionForm
from console.quorum.history import queries as history
from console.quorum.labels import Kind
from console.quorum.models import MetadataLog
from jobs.numbers import read_whole

# More lanes on one picture are not readable.
MOST_SUBJECTS = 50
LARGEST_OFFSET = 2**63 - 1
_LARGEST_ID = 2**31 - 1
_MOMENT = "An offset (131908), or a time (2026-11-21T03:04:00Z, UTC unless it says otherwise)."


class SearchForm(ActionForm):
    """Search of the log; the address has its values."""

    topic = forms.CharField(required=False, max_length=249)
    broker = forms.CharField(
        required=False,
        max_length=10,
        help_text="The broker that changed, or that caused the change.",
    )
    type = forms.CharField(
        label="Record type", required=False, max_length=60, help_text="PARTITION_CHANGE_RECORD"
    )


class PartitionForm(ActionForm):
    """Topic and partition."""

    topic = forms.CharField(max_length=249)
    partition = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=_LARGEST_ID,
        help_text="Empty: all partitions of the topic.",
    )

    def requested(self) -> tuple[str, int | None]:
        """Return topic and partition; an empty topic when the request has no valid one."""
        if not self.is_bound or not self.is_valid():
            return "", None
        return self.cleaned_data["topic"].strip(), self.cleaned_data["partition"]


class StateForm(ActionForm):
    """A point in time, and another one to compare it with."""

    at = forms.CharField(
        label="Time or offset",
        required=False,
        max_length=64,
        help_text=f"{_MOMENT} Empty: the end of the log.",
    )
    compare = forms.CharField(
        label="Compare with",
        required=False,
        max_length=64,
        help_text="A second time or offset: the page shows the differences.",
    )
    kind = forms.ChoiceField(
        label="Show",
        required=False,
        choices=[(k.value, k.plural) for k in Kind if k != "anomaly"],
    )

    def moments(self, log: MetadataLog) -> tuple[history.Moment | None, history.Moment | None]:
        """Return the moment and the other one; None where none was given or where it is wrong."""
        given = self.cleaned_data
        at, other = (self._moment(log, name, given[name]) for name in ("at", "compare"))
        return at, other

    def _moment(self, log: MetadataLog, name: str, text: str) -> history.Moment | None:
        if not text.strip():
            return None
        try:
            return read_moment(log, text)
        except (ValueError, history.OutsideHistory) as problem:
            self.add_error(name, str(problem))
            return None


def read_moment(log: MetadataLog, text: str) -> history.Moment:
    """Return the moment that an offset or a time means; raises ValueError and `OutsideHistory`."""
    text = text.strip()
    if text.isdecimal():
        offset = read_whole(text, LARGEST_OFFSET)
        if offset is None:
            raise ValueError(f"{text[:40]} is larger than any offset.")
        return history.moment_of(log, offset)
    return history.moment_at(log, read_time(text))


def read_time(text: str) -> datetime:
    """Return a time; raises ValueError with a sentence."""
    try:
        at = datetime.fromisoformat(text.strip())
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r} is neither an offset nor a time: write 131908 or 2026-11-21T03:04:00Z."
        ) from None
