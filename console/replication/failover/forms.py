"""The forms of failovers: text from a browser to the values that the actions check."""

from __future__ import annotations

from typing import Any

from django import forms

from console.clusters.models import Group
from console.frame.pages.forms import ActionForm, lines_field, split_lines
from jobs.replication.failover.model import Untranslated

_WORDS = {
    Untranslated.REFUSE: "Block the group",
    Untranslated.EARLIEST: "Earliest offset: skips no record, reprocesses many",
    Untranslated.LEAVE: "Set no offset: auto.offset.reset of the consumers applies",
}


class PlanForm(ActionForm):
    """The input of a plan; the action checks it."""

    name = forms.CharField(
        label="Name",
        required=False,
        max_length=100,
        help_text="You type it again to apply the plan. Empty: direction and time.",
    )
    chosen = forms.MultipleChoiceField(
        label="Groups", required=False, widget=forms.CheckboxSelectMultiple
    )
    groups = lines_field(
        "More groups",
        "Names or regular expressions, one per line: billing, payments-.*. An expression must match the "
        "whole name.",
        rows=2,
    )
    topics = lines_field(
        "Topics",
        "Only offsets of these topics are moved. Names on the cluster that the groups leave, one per line.",
        initial=".*",
        rows=2,
    )
    untranslated = forms.ChoiceField(
        label="Untranslatable partitions",
        choices=[(one.value, text) for one, text in _WORDS.items()],
        initial=Untranslated.REFUSE.value,
        help_text="Partitions that were never replicated, or whose offset syncs are lost.",
    )

    def __init__(self, groups: list[Group], *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        choices = [(one.group_id, f"{one.group_id} ({one.state})") for one in groups]
        field = self.fields["chosen"]
        field.choices = choices  # type: ignore[attr-defined]  # a MultipleChoiceField has them
        if not choices:
            del self.fields["chosen"]
            self.fields["groups"].label = "Groups"

    def values(self) -> dict[str, Any]:
        """Return the values as the action takes them; call after `is_valid`."""
        given = self.cleaned_data
        groups = [*given.get("chosen", ()), *split_lines(given["groups"])]
        return {
            "name": given["name"],
            "groups": list(dict.fromkeys(groups)),
            "topics": split_lines(given["topics"]),
            "untranslated": given["untranslated"],
        }


class ConfirmForm(ActionForm):
    """The plan's name, typed again."""

    confirm = forms.CharField(
        label="Name of the plan", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )


class UndoForm(ConfirmForm):
    """Likewise, and whether groups that committed since are rolled back, too."""

    even_if_moved = forms.BooleanField(
        label="Also groups that have committed since",
        required=False,
        help_text="They reprocess what they have read since then.",
    )
