"""Shared by all forms: errors of actions at their fields, the focus after a refusal, fields of lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.forms.renderers import DjangoTemplates
from django.http import HttpRequest

from console.frame.errors import ActionRefused
from jobs.cluster.errors import InvalidFields

_TYPED = {"autocomplete": "off", "spellcheck": "false"}


def first_wrong(form: forms.BaseForm) -> str:
    """Return the name of the first field that was refused; empty without one."""
    shown = (name for name, field in form.fields.items() if not field.widget.is_hidden)
    return next((name for name in shown if form.is_bound and name in form.errors), "")


class FocusedField(forms.BoundField):
    """A field that has the focus when it is the first wrong one of its form."""

    def build_widget_attrs(self, attrs: Any, widget: Any = None) -> dict[str, Any]:
        built: dict[str, Any] = super().build_widget_attrs(attrs, widget)
        return {**built, "autofocus": True} if self.name == first_wrong(self.form) else built


class FormRenderer(DjangoTemplates):
    """Renderer of all forms; named in the settings."""

    bound_field_class = FocusedField


class RemovalForm(forms.Form):
    """The name of what is removed, typed again; `noun` is what it is the name of: `cluster's alias`."""

    confirm = forms.CharField(widget=forms.TextInput(attrs=_TYPED))

    prefix = "remove"

    def __init__(self, name: str, noun: str, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data)
        self._name = name
        self.fields["confirm"].label = f"Type the {noun} to confirm: {name}"

    def clean_confirm(self) -> str:
        """Refuse another name."""
        typed: str = self.cleaned_data["confirm"]
        if typed != self._name:
            raise forms.ValidationError(f"Type this to confirm: {self._name}")
        return typed


class ActionForm(forms.Form):
    """A form whose values an action checks; the errors are put to the fields."""

    def take_errors(self, errors: Mapping[str, str], general: str = "") -> None:
        """Put the errors of `InvalidFields` to their fields; `general` to the form when there are none."""
        for name, text in errors.items():
            self.add_error(name if name in self.fields else None, text)
        if general and not errors:
            self.add_error(None, general)

    def complete(self, check: Callable[[], object]) -> None:
        """Add what a check refuses to fields that are not refused yet: all faults come in one round."""
        try:
            check()
        except InvalidFields as invalid:
            known = self.fields.keys() - self.errors.keys()
            self.take_errors({k: v for k, v in invalid.errors.items() if k in known})

    def attempt(self, do: Callable[[], object]) -> bool:
        """Do something and return whether it was done; a refusal is put to the fields or to the form."""
        try:
            do()
        except InvalidFields as invalid:
            self.take_errors(invalid.errors)
        except ActionRefused as refusal:
            self.add_error(None, refusal.message)
        else:
            return True
        return False


def attempt(request: HttpRequest, do: Callable[[], object], done: str = "") -> bool:
    """Do something and return whether it was done; `done` or the refusal is a message of the next page."""
    try:
        do()
    except ActionRefused as refusal:
        messages.error(request, refusal.message)
    except InvalidFields as wrong:
        messages.error(request, " ".join(wrong.errors.values()))
    else:
        if done:
            messages.success(request, done)
        return True
    return False


def text_field(label: str, longest: int, help_text: str = "", **more: Any) -> forms.CharField:
    widget = forms.TextInput(attrs={**_TYPED, **more.pop("attrs", {})})
    return forms.CharField(
        label=label, max_length=longest, help_text=help_text, widget=widget, **more
    )


def lines_field(
    label: str, help_text: str, *, initial: str = "", rows: int = 3, missing: str = ""
) -> forms.CharField:
    """Return a field for one value per line, see `split_lines`; `missing`: the error without a value."""
    return forms.CharField(
        label=label,
        help_text=help_text,
        initial=initial,
        required=bool(missing),
        error_messages={"required": missing} if missing else None,
        widget=forms.Textarea(attrs={"rows": rows, "spellcheck": "false", "class": "mono"}),
    )


def split_lines(text: str) -> list[str]:
    """Return the lines of a field without blanks around them, empty ones left out."""
    return [line.strip() for line in text.splitlines() if line.strip()]
