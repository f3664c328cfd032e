"""The form of a kind of analysis, made from its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from console.frame.pages.forms import ActionForm
from console.frame.security.access import can
from console.runs.analyses import sources
from console.runs.analyses.questions import Question, read_question
from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import Analysis, Argument, ArgumentType
from jobs.spark.analyses.kinds import ANALYSES

_MOMENT = "2026-03-31T12:00:00Z"
_NONE = ("", "\N{EM DASH}")


class AnalysisForm(ActionForm):
    """A question of one kind; `question` is what was asked, once it is valid.

    Values are checked by the registry, as those of the API and of the shell: the fields only show them.
    """

    question: Question

    def __init__(
        self,
        analysis: Analysis,
        user: Any,
        data: Mapping[str, Any] | None = None,
        *,
        initial: Mapping[str, Any] | None = None,
        analyses: Mapping[str, Analysis] = ANALYSES,
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
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
        return given


def _field(argument: Argument, user: Any) -> forms.Field:
    shared: dict[str, Any] = {
        "label": argument.label,
        "help_text": argument.help,
        "required": argument.is_required,
        "initial": argument.default,
    }
    if argument.type is ArgumentType.LOG:
        logs = _logs(user)
        shared["initial"] = logs[0][0] if len(logs) == 1 else None
        return forms.ChoiceField(choices=[_NONE, *logs], **shared)
    if argument.type is ArgumentType.CHOICE:
        words = [(word, word.replace("_", " ").capitalize()) for word in argument.choices]
        first = [_NONE] if argument.default is None else []
        return forms.ChoiceField(choices=[*first, *words], **shared)
    return forms.CharField(widget=_widget(argument), **shared)


def _widget(argument: Argument) -> forms.Widget:
    if argument.type is ArgumentType.INTEGER:
        bounds = {"min": argument.least, "max": argument.most}
        return forms.NumberInput({n: value for n, value in bounds.items() if value is not None})
    if argument.type is ArgumentType.MOMENT:
        return forms.TextInput({"placeholder": _MOMENT, "spellcheck": "false", "class": "mono"})
    return forms.TextInput({"spellcheck": "false"})


def _logs(user: Any) -> list[tuple[str, str]]:
    """Return the logs that a person may ask about."""
    seen = sources.list_sources(user)
    return [(one.name, one.label) for one in seen if can(user, "operate", *one.clusters)]
