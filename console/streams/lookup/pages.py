"""The page of key lookups."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from console.frame.pages.forms import ActionForm
from console.frame.pages.render import render_page
from console.frame.security.access import can, page
from console.streams import equivalents, queries
from console.streams.lookup.answers import LONGEST_KEY, KeyQuestion, LookedUp, look_up
from console.streams.page_context import around_application, find_application
from console.streams.snapshots import picture_of
from jobs.streams.keys import KeyFormat
from jobs.wire.batches.hashes import Partitioner


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@page("view", queries.where)
def key_lookup_page(request: HttpRequest, alias: str, application_id: str) -> HttpResponse:
    """Show who serves a key, and what the application itself answers."""
    row = find_application(alias, application_id)
    picture = picture_of(row)
    may_operate = can(request.user, "operate", row.cluster_id)
    stores = list(picture.application.stores)
    form = KeyLookupForm(stores, request.POST or None, may_operate=may_operate)
    found: list[LookedUp] = []
    if request.method == "POST" and form.is_valid():
        form.attempt(lambda: found.append(look_up(row, form.question())))
    context = {
        **around_application(row, picture, "key-lookup"),
        "form": form,
        "has_stores": bool(stores),
        "found": found[0] if found else None,
        "equivalents": equivalents.of_lookup(row),
    }
    return render_page(request, "streams/lookup/page.html", context)


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
PARTITIONERS = [
    (Partitioner.MURMUR2.value, "murmur2 (Java, Kafka Streams)"),
    (Partitioner.CRC32.value, "CRC-32 (librdkafka's default)"),
    (Partitioner.FNV1A.value, "FNV-1a (librdkafka fnv1a, Sarama)"),
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
        help_text="The audit log has a keyed hash of it, never the key.",
    )
    key_format = forms.ChoiceField(label="Key format", choices=FORMATS, initial="utf-8")
    partitioner = forms.ChoiceField(
        label="Partitioner",
        choices=PARTITIONERS,
        initial=Partitioner.MURMUR2.value,
        required=False,
        help_text="The hash by which producers place keys in the topics that feed the store.",
    )
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
            Partitioner(asked["partitioner"] or Partitioner.MURMUR2),
        )
