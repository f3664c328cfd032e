"""The forms of failovers: text from a browser to the values that the actions check."""

from __future__ import annotations

from typing import Any

from django import forms

from console.clusters.models import Group
from console.frame.pages.forms import ActionForm, lines_field, split_lines
from jobs.replication.failover.model import Untranslated

_WORDS = {
    Untranslated.REFUSE: "Block their group",
    Untranslated.EARLIEST: "Begin at the earliest record: nothing is skipped, much is read again",
    Untranslated.LEAVE: "Set nothing: the consumers' auto.offset.reset decides",
}


class PlanForm(ActionForm):
    """What a plan is about; what is wrong with it is said by the action."""

    name = forms.CharField(
        label="Name",
        required=False,
        max_length=100,
        help_text="It is typed again to confirm. Empty: the direction and the time.",
    )
    chosen = forms.MultipleChoiceField(
        label="Groups", required=False, widget=forms.CheckboxSelectMultiple
    )
    groups = lines_field(
        "More groups",
        "Names or patterns, one per line: billing, or payments-.* for all that begin so. A pattern "
        "matches a whole name.",
        rows=2,
    )
    topics = lines_field(
        "Topics",
        "Only offsets on these are moved, by their names where the groups are now; one per line.",
        initial=".*",
        rows=2,
    )
    untranslated = forms.ChoiceField(
        label="Partitions that nobody can translate",
        choices=[(one.value, text) for one, text in _WORDS.items()],
        initial=Untranslated.REFUSE.value,
        help_text="A partition that was never copied, or whose offset syncs are lost.",
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
    """Likewise, and whether groups that moved on are set back, too."""

    even_if_moved = forms.BooleanField(
        label="Also groups that have moved on since",
        required=False,
        help_text="What they have read meanwhile is read again.",
    )
