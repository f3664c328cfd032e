"""The form of a key lookup."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django import forms

from console.frame.pages.forms import ActionForm
from console.streams.lookup.answers import LONGEST_KEY, KeyQuestion
from jobs.streams.keys import KeyFormat

FORMATS = [
    (KeyFormat.UTF_8.value, "Text (UTF-8)"),
    (KeyFormat.HEX.value, "Bytes, hexadecimal"),
    (KeyFormat.INT32.value, "Integer, 32 bits"),
    (KeyFormat.INT64.value, "Long, 64 bits"),
    (KeyFormat.UUID.value, "UUID"),
    (KeyFormat.CONFLUENT.value, "Confluent: schema id, colon, hexadecimal"),
    (KeyFormat.CONFLUENT_AVRO_STRING.value, "Confluent Avro string: schema id, colon, text"),
    (KeyFormat.CONFLUENT_JSON.value, "Confluent JSON: schema id, colon, JSON"),
]


class KeyLookupForm(ActionForm):
    """Store, key and its format; the key is personal data, so the form is sent by POST."""

    store = forms.ChoiceField(label="State store")
    key = forms.CharField(
        max_length=LONGEST_KEY,
        strip=False,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}
        ),
        help_text="The audit trail has a keyed hash of it, never the key.",
    )
    key_format = forms.ChoiceField(label="Key format", choices=FORMATS, initial="utf-8")
    check_changelog = forms.BooleanField(
        label="Also search the changelog",
        required=False,
        help_text="Reads records of the store's changelog for up to 8 s. This needs the role operator.",
    )

    def __init__(self, stores: Collection[str], data: Any = None, *, may_operate: bool) -> None:
        super().__init__(data)
        field: Any = self.fields["store"]
        field.choices = [(name, name) for name in stores]
        if not may_operate:
            del self.fields["check_changelog"]

    def question(self) -> KeyQuestion:
        """Return what a valid form asks."""
        asked = self.cleaned_data
        return KeyQuestion(
            asked["store"],
            asked["key"],
            KeyFormat(asked["key_format"]),
            bool(asked.get("check_changelog")),
        )
