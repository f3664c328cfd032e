"""The form that sends a test message."""

from __future__ import annotations

from django import forms

from console.frame.pages.forms import ActionForm
from console.reports.delivery.destinations import LONGEST
from console.reports.models import Channel


class DeliveryTestForm(ActionForm):
    """A channel and an address."""

    channel = forms.ChoiceField(label="Channel", choices=Channel.choices)
    address = forms.CharField(
        label="Address",
        max_length=LONGEST,
        help_text="An e-mail address, the name of a folder below REPORT_FOLDER, or the address of a webhook.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
