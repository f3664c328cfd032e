"""Forms of promotions, drills and runbooks."""

from __future__ import annotations

from typing import Any

from django import forms

from console.availability.drills.actions import DRILLABLE
from console.availability.placements.models import LARGEST_PRIORITY, PatternKind
from console.availability.promotion.models import (
    COOLDOWN_S,
    HOLD_S,
    Actor,
    Mode,
    PromotionPolicy,
    Trigger,
)
from console.availability.promotion.policies import told_policy
from console.clusters.models import TOPIC_NAME_LENGTH
from console.frame.pages.forms import ActionForm
from jobs.availability.runbooks.runbook import Trouble, TroubleCause
from jobs.json_text import BadJson, parse_json

_OFF = {"autocomplete": "off"}
_LARGEST_ID = 2**31 - 1


class PolicyForm(ActionForm):
    """A policy; the action validates it."""

    kind = forms.ChoiceField(
        label="Match topics by", choices=PatternKind.choices, initial=PatternKind.EXACT
    )
    pattern = forms.CharField(
        label="Topic or pattern",
        required=False,
        max_length=TOPIC_NAME_LENGTH,
        help_text="orders, or orders.*",
    )
    priority = forms.IntegerField(
        label="Priority",
        required=False,
        initial=0,
        help_text=f"0 to {LARGEST_PRIORITY}. Of several matching patterns the highest priority applies.",
    )
    policy = forms.ChoiceField(
        label="Trigger", required=False, choices=Trigger.choices, initial=Trigger.OF_PLACEMENT
    )
    actor = forms.ChoiceField(label="Method", choices=Actor.choices, initial=Actor.FENCED_STANDBY)
    allowed_brokers = forms.CharField(
        label="Brokers that may be promoted",
        required=False,
        max_length=2000,
        help_text="Broker ids, separated by blanks. No other broker is promoted.",
        widget=forms.TextInput(attrs=_OFF),
    )
    mode = forms.ChoiceField(
        label="Mode",
        choices=[
            (Mode.ADVISE, "Advise: an operator confirms each promotion"),
            (Mode.ACT, "Automatic: crosslog promotes and reverts"),
        ],
        initial=Mode.ADVISE,
        widget=forms.RadioSelect,
    )
    cooldown_s = forms.IntegerField(
        label="Cooldown (s)",
        required=False,
        initial=COOLDOWN_S,
        help_text="Minimum time between two actions on the same broker or partition.",
    )
    hold_s = forms.IntegerField(
        label="Hold time (s)",
        required=False,
        initial=HOLD_S,
        help_text="A promotion is reverted when all sync replicas were in the ISR for this time.",
    )
    note = forms.CharField(label="Note", required=False, max_length=300)
    confirm = forms.CharField(
        label="To enable automatic mode, type the topic or pattern again",
        required=False,
        max_length=TOPIC_NAME_LENGTH,
        widget=forms.TextInput(attrs=_OFF),
    )

    def clean_allowed_brokers(self) -> list[int]:
        return read_ids(self.cleaned_data["allowed_brokers"])

    def values(self) -> dict[str, Any]:
        """Return the values as the action takes them; call after `is_valid`."""
        return dict(self.cleaned_data)


def initial_of(policy: PromotionPolicy) -> dict[str, Any]:
    """Return the initial values of the form of an existing policy."""
    brokers = " ".join(map(str, policy.allowed_brokers))
    return {**told_policy(policy), "allowed_brokers": brokers}


def read_ids(text: str) -> list[int]:
    """Return numbers separated by blanks or commas; raises `forms.ValidationError`."""
    words = text.replace(",", " ").split()
    for word in words:
        if not (word.isdecimal() and word.isascii()) or int(word) > _LARGEST_ID:
            raise forms.ValidationError(f"{word[:40]!r} is not a broker id.")
    return [int(word) for word in words]


class ConfirmForm(ActionForm):
    """The subject of the change, typed again."""

    confirm = forms.CharField(label="Type it to confirm", widget=forms.TextInput(attrs=_OFF))


class RevertForm(ConfirmForm):
    """The subject, and the reason."""

    reason = forms.CharField(label="Reason", required=False, max_length=300)


class StopForm(ActionForm):
    """The reason to turn the stop switch."""

    why = forms.CharField(label="Reason", required=False, max_length=300)


class DrillForm(ActionForm):
    """The methods of a drill."""

    actors = forms.MultipleChoiceField(
        label="Methods",
        choices=[(one.value, one.label) for one in DRILLABLE],
        initial=[one.value for one in DRILLABLE],
        widget=forms.CheckboxSelectMultiple,
    )
    broker = forms.IntegerField(
        label="Standby broker",
        required=False,
        min_value=0,
        max_value=_LARGEST_ID,
        help_text="Default: the first fenced standby broker.",
    )
    confirm = forms.CharField(
        label="Type the cluster's alias to confirm", widget=forms.TextInput(attrs=_OFF)
    )


class RecordForm(ActionForm):
    """Predicted and observed results."""

    title = forms.CharField(label="Title", required=False, max_length=200)
    results = forms.CharField(
        label="Results",
        help_text='JSON list: [{"subject": "orders-0", "prediction": {"leader": 2}, "seen": {"leader": 2}}]. '
        "Fields that are in both are compared.",
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "class": "mono"}),
    )

    def clean_results(self) -> Any:
        try:
            return parse_json(self.cleaned_data["results"])
        except BadJson as problem:
            raise forms.ValidationError(str(problem)) from None


class RunbookForm(ActionForm):
    """Filters of runbooks; the values are in the address."""

    severity = forms.ChoiceField(
        label="Severity", required=False, choices=[("", "any"), *((t, t) for t in Trouble)]
    )
    cause = forms.ChoiceField(
        label="Cause", required=False, choices=[("", "any"), *((c, c) for c in TroubleCause)]
    )
    topic = forms.CharField(label="Topic", required=False, max_length=TOPIC_NAME_LENGTH)
    partition = forms.IntegerField(
        label="Partition", required=False, min_value=0, max_value=_LARGEST_ID
    )
    broker = forms.IntegerField(label="Broker", required=False, min_value=0, max_value=_LARGEST_ID)

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        for name in ("severity", "cause"):
            field: Any = self.fields[name]
            field.choices = [(value, spoken_word(word)) for value, word in field.choices]


def spoken_word(word: str) -> str:
    """Return the label of a code: `under_min_isr` becomes `Under min ISR`."""
    text = str(word).replace("_", " ").replace(" isr", " ISR").replace("rf ", "RF ")
    return text[:1].upper() + text[1:]
