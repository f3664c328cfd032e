"""The form of a kind of analysis, made from its arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from console.frame.pages.forms import ActionForm
from console.frame.security.access import can
from console.runs import uploads
from console.runs.analyses import sources
from console.runs.analyses.questions import NeedsAdmin, Question, read_question
from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import Analysis, Argument, ArgumentType
from jobs.spark.analyses.kinds import QUESTIONS

_MOMENT = "2026-03-31T12:00:00Z"
_NONE = ("", "\N{EM DASH}")


class AnalysisForm(ActionForm):
    """The form of one kind; `question` is set once it is valid.

    Values are checked by the registry, as those of the API and of the shell: the fields only show them.
    """

    question: Question

    def __init__(
        self,
        analysis: Analysis,
        user: Any,
        data: Mapping[str, Any] | None = None,
        *,
        files: Any = None,
        initial: Mapping[str, Any] | None = None,
        analyses: Mapping[str, Analysis] = QUESTIONS,
    ) -> None:
        super().__init__(data, files, initial=dict(initial or {}))
        self._analysis, self._user, self._analyses = analysis, user, analyses
        for argument in analysis.arguments:
            self.fields[argument.name] = _field(argument, user)

    def clean(self) -> dict[str, Any]:
        """Check all arguments; what is wrong is put to its field."""
        given: dict[str, Any] = super().clean() or {}
        kind = self._analysis.kind
        try:
            self.question = read_question(kind, given, self._user, self._analyses)
        except InvalidFields as wrong:
            self.take_errors({n: t for n, t in wrong.errors.items() if n not in self.errors})
        except NeedsAdmin as refusal:
            self.add_error(refusal.name, str(refusal))
        return given

    def refuse_large(self, names: Collection[str]) -> None:
        """Say at its field that a file was too large to be read; the form was looked at before."""
        for name in names:
            self.errors.pop(name, None)
            self.add_error(name if name in self.fields else None, uploads.too_large())


class ListInput(forms.FileInput):
    """A file to choose, and the one that is kept already: its name comes back with the form."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        """Return the file that was chosen, else the name of the one that is kept."""
        return super().value_from_datadict(data, files, name) or data.get(name) or None

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """Tell what is kept, beside the field."""
        field = super().render(name, value, attrs, renderer)
        kept = uploads.find(value) if isinstance(value, str) else None
        if kept is None:
            return field
        return field + render_to_string("runs/analyses/_kept.html", {"name": name, "kept": kept})

    def format_value(self, value: Any) -> None:
        """Browsers fill in no file."""


class ListField(forms.Field):
    """A list to upload; its value is the name under which it is kept."""

    widget = ListInput(attrs={"accept": ".csv,.parquet,text/csv"})
    kept: str = ""

    def clean(self, value: Any) -> Any:
        """Keep the file at once, so that a form with another fault does not lose it."""
        if isinstance(value, UploadedFile):
            try:
                value = self.kept = uploads.store("file", value, timezone.now()).name
            except InvalidFields as wrong:
                raise forms.ValidationError(list(wrong.errors.values())) from None
        return super().clean(value)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Show what is kept instead of what was sent."""
        return self.kept or (data if isinstance(data, str) else None)


def _field(argument: Argument, user: Any) -> forms.Field:
    shared: dict[str, Any] = {
        "label": argument.label,
        "help_text": argument.help,
        "required": argument.is_required,
        "initial": argument.default,
    }
    if argument.type is ArgumentType.FILE:
        return ListField(**shared)
    if argument.type in sources.NOUNS:
        names = _names(argument.type, user)
        is_clear = argument.is_required and len(names) == 1
        shared["initial"] = names[0][0] if is_clear else None
        return forms.ChoiceField(choices=[_NONE, *names], **shared)
    if argument.type is ArgumentType.CHOICE:
        words = [(word, _choice_text(argument, word)) for word in argument.choices]
        first = [_NONE] if argument.default is None else []
        return forms.ChoiceField(choices=[*first, *words], **shared)
    return forms.CharField(widget=_widget(argument), **shared)


def _choice_text(argument: Argument, word: str) -> str:
    mark = " (needs the role admin)" if word in argument.admin_choices else ""
    return word.replace("_", " ").capitalize() + mark


def _widget(argument: Argument) -> forms.Widget:
    if argument.type is ArgumentType.INTEGER:
        bounds = {"min": argument.least, "max": argument.most}
        return forms.NumberInput({n: value for n, value in bounds.items() if value is not None})
    if argument.type is ArgumentType.MOMENT:
        return forms.TextInput({"placeholder": _MOMENT, "spellcheck": "false", "class": "mono"})
    return forms.TextInput({"spellcheck": "false"})


def _names(type_: ArgumentType, user: Any) -> list[tuple[str, str]]:
    """Return the logs, flows or clusters that a person may ask about."""
    seen = sources.list_sources(type_, user)
    return [(one.name, one.label) for one in seen if can(user, "operate", *one.clusters)]
