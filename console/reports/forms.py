"""The form of a report, and that of a past period; errors are at their fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms

from console.delivery.destinations import lines_of, parse_lines
from console.frame.pages.forms import ActionForm, lines_field
from console.reports.definition import (
    DEFAULTS,
    LONGEST_NAME,
    MOST_KEEP_DAYS,
    check_definition,
)
from console.reports.subjects import NOUNS, list_subjects, name_of
from jobs.cluster.errors import InvalidFields
from jobs.reports.kinds.kind import ReportKind, SubjectNoun
from jobs.reports.periods import LABELS, Period, given_period
from jobs.reports.rendering.formats import Format, Paper

_FORMATS = [
    (Format.PDF.value, "PDF"),
    (Format.HTML.value, "HTML, one file"),
    (Format.CSV.value, "CSV, a zip with a file per table"),
    (Format.JSON.value, "JSON"),
]
# A preview is not delivered and kept for a fixed time.
_NOT_OF_PREVIEWS = ("recipients", "keep_days")
_ZONE_HELP = "Days, weeks and months begin at midnight of this zone: Europe/Berlin, UTC."


def _line(label: str, help_text: str = "", longest: int = 64, initial: str = "") -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(
        label=label, help_text=help_text, max_length=longest, initial=initial, widget=widget
    )


class ReportForm(ActionForm):
    """A report of one kind; `values` are what the actions take."""

    name = _line("Name", "Title of the report and subject of its e-mails.", LONGEST_NAME)
    subjects = forms.MultipleChoiceField(label="Subjects", required=False)
    period = forms.ChoiceField(label="Period", choices=[(one.value, LABELS[one]) for one in LABELS])
    time_zone = _line("Time zone", _ZONE_HELP)
    with_before = forms.BooleanField(
        label="Compare with the period before",
        required=False,
        help_text="Last week beside the week before.",
    )
    formats = forms.MultipleChoiceField(
        label="Formats of deliveries",
        choices=_FORMATS,
        widget=forms.CheckboxSelectMultiple,
        help_text="All of them can be downloaded.",
    )
    paper = forms.ChoiceField(
        label="Paper", choices=[(Paper.A4.value, "A4"), (Paper.LETTER.value, "Letter")]
    )
    recipients = lines_field(
        "Recipients",
        "One per line: ops@example.org, folder:weekly, https://hooks.example.org/reports. Without recipients "
        "the report is only stored for download.",
    )
    keep_days = forms.IntegerField(label="Keep for (days)", min_value=1, max_value=MOST_KEEP_DAYS)

    def __init__(
        self,
        kind: ReportKind,
        person: Any,
        data: Any = None,
        *,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        told = {**DEFAULTS, "name": kind.title, **(initial or {})}
        super().__init__(data, initial={**told, "recipients": lines_of(told["recipients"])})
        self._kind = kind
        self._person = person
        if kind.subject is SubjectNoun.NONE:
            del self.fields["subjects"]
        else:
            self._offer_subjects(person)

    def clean(self) -> dict[str, Any]:
        """Add what the action refuses, so that all faults are shown in one round."""
        values = super().clean() or {}
        unused = _NOT_OF_PREVIEWS if "preview" in self.data else ()
        given = {name: value for name, value in self.values.items() if name not in unused}
        try:
            check_definition(given, self._person)
        except InvalidFields as invalid:
            self.take_errors({k: v for k, v in invalid.errors.items() if k not in self.errors})
        return values

    def _offer_subjects(self, person: Any) -> None:
        field: Any = self.fields["subjects"]
        word = NOUNS[self._kind.subject]
        field.label = f"{word.capitalize()}s"
        names = [name_of(row) for row in list_subjects(self._kind.subject, person)]
        field.choices = [(name, name) for name in names]
        field.widget.attrs["size"] = min(max(len(names), 2), 8)
        field.help_text = f"None selected: all {word}s that the owner may view at that time."

    @property
    def values(self) -> dict[str, Any]:
        """What was given, as the actions take it."""
        given = dict(self.cleaned_data)
        recipients = parse_lines(given.pop("recipients", ""))
        return {**given, "kind": self._kind.kind, "recipients": recipients}


class PastPeriodForm(ActionForm):
    """A period that is over: days of the report's zone, or moments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # `from` is no name that a class can have.
        self.fields["from"] = _line("From", "2026-11-16, or 2026-11-16T07:00:00Z.", 40)
        self.fields["to"] = _line("To", "Exclusive.", 40)

    def period(self, time_zone: str, now: datetime) -> Period:
        """Return the period; raises `InvalidFields`."""
        return given_period(self.cleaned_data["from"], self.cleaned_data["to"], time_zone, now)
