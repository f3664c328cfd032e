"""The form of an application's topology description."""

from __future__ import annotations

from django import forms

from console.frame.pages.forms import ActionForm
from jobs.streams.topology.reading import MOST_BYTES


class DescriptionForm(ActionForm):
    """What `Topology#describe()` printed."""

    description = forms.CharField(
        label="Topology#describe()",
        required=False,
        strip=False,
        max_length=MOST_BYTES,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "class": "mono"}),
        help_text="Paste the whole output. It settles which subtopology has which store, and draws the "
        "topology. Save an empty text to remove it.",
    )
