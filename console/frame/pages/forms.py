"""What the forms of all rooms share: actions say what is wrong, and values that are lines of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django import forms
from django.contrib import messages
from django.http import HttpRequest

from console.frame.errors import ActionRefused
from jobs.cluster.errors import InvalidFields


class RemovalForm(forms.Form):
    """The name of what is removed, typed again; `noun` is what it is the name of: `cluster's alias`."""

    confirm = forms.CharField(
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

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
    """A form whose values an action checks: its sentences are put to the fields."""

    def take_errors(self, errors: Mapping[str, str], general: str = "") -> None:
        """Put the sentences of `InvalidFields` to their fields; `general` is told when there are none."""
        for name, text in errors.items():
            self.add_error(name if name in self.fields else None, text)
        if general and not errors:
            self.add_error(None, general)

    def attempt(self, do: Callable[[], object]) -> bool:
        """Do something and say whether it was done; why it was not is put to the fields or to the form."""
        try:
            do()
        except InvalidFields as invalid:
            self.take_errors(invalid.errors)
        except ActionRefused as refusal:
            self.add_error(None, refusal.message)
        else:
            return True
        return False


def attempt(request: HttpRequest, do: Callable[[], object]) -> bool:
    """Do something and say whether it was done; why it was not is a message of the next page."""
    try:
        do()
    except ActionRefused as refusal:
        messages.error(request, refusal.message)
    except InvalidFields as wrong:
        messages.error(request, " ".join(wrong.errors.values()))
    else:
        return True
    return False


def lines_field(
    label: str, help_text: str, *, initial: str = "", rows: int = 3, missing: str = ""
) -> forms.CharField:
    """Return a field for one value per line, see `split_lines`; `missing` is said where one is needed."""
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
