"""The forms of promotions, drills and runbooks: text from a browser to the values that actions check."""

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
    """A policy; what is wrong with it is said by the action."""

    kind = forms.ChoiceField(
        label="Topics are named by", choices=PatternKind.choices, initial=PatternKind.EXACT
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
        help_text=f"0 to {LARGEST_PRIORITY}. Of several patterns that fit, the highest counts.",
    )
    policy = forms.ChoiceField(
        label="Promote when", required=False, choices=Trigger.choices, initial=Trigger.OF_PLACEMENT
    )
    actor = forms.ChoiceField(
        label="By way of", choices=Actor.choices, initial=Actor.FENCED_STANDBY
    )
    allowed_brokers = forms.CharField(
        label="Brokers that may be promoted",
        required=False,
        max_length=2000,
        help_text="Ids with blanks between them. No other broker is ever touched.",
        widget=forms.TextInput(attrs=_OFF),
    )
    mode = forms.ChoiceField(
        label="What follows",
        choices=[
            (Mode.ADVISE, "Advise: a person decides"),
            (Mode.ACT, "Act: crosslog promotes and reverts by itself"),
        ],
        initial=Mode.ADVISE,
        widget=forms.RadioSelect,
    )
    cooldown_s = forms.IntegerField(
        label="Cooldown in seconds",
        required=False,
        initial=COOLDOWN_S,
        help_text="So long after an action nothing is done to the same broker or partition.",
    )
    hold_s = forms.IntegerField(
        label="Revert after, in seconds",
        required=False,
        initial=HOLD_S,
        help_text="So long the sync replicas must be back before a promotion is taken back.",
    )
    note = forms.CharField(label="Note", required=False, max_length=300)
    confirm = forms.CharField(
        label="To switch acting on, type the topic or pattern again",
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
    """Return what the form of an existing policy begins with."""
    brokers = " ".join(map(str, policy.allowed_brokers))
    return {**told_policy(policy), "allowed_brokers": brokers}


def read_ids(text: str) -> list[int]:
    """Return numbers that stand with blanks or commas between them; raises `forms.ValidationError`."""
    words = text.replace(",", " ").split()
    for word in words:
        if not (word.isdecimal() and word.isascii()) or int(word) > _LARGEST_ID:
            raise forms.ValidationError(f"{word[:40]!r} is no id of a broker.")
    return [int(word) for word in words]


class ConfirmForm(ActionForm):
    """What is to be changed, typed again."""

    confirm = forms.CharField(label="Type it to confirm", widget=forms.TextInput(attrs=_OFF))


class RevertForm(ConfirmForm):
    """Likewise, with the reason."""

    reason = forms.CharField(label="Why", required=False, max_length=300)


class StopForm(ActionForm):
    """Why the stop switch is turned."""

    why = forms.CharField(label="Why", required=False, max_length=300)


class DrillForm(ActionForm):
    """Which ways are tried on a test topic."""

    actors = forms.MultipleChoiceField(
        label="Try",
        choices=[(one.value, one.label) for one in DRILLABLE],
        initial=[one.value for one in DRILLABLE],
        widget=forms.CheckboxSelectMultiple,
    )
    broker = forms.IntegerField(
        label="Standby broker",
        required=False,
        min_value=0,
        max_value=_LARGEST_ID,
        help_text="Empty: the first one that is set up as a standby.",
    )
    confirm = forms.CharField(
        label="Type the cluster's name to confirm", widget=forms.TextInput(attrs=_OFF)
    )


class RecordForm(ActionForm):
    """What was predicted, and what was then seen."""

    title = forms.CharField(label="What was done", required=False, max_length=200)
    results = forms.CharField(
        label="Results",
        help_text='A list: [{"subject": "orders-0", "prediction": {"leader": 2}, "seen": {"leader": 2}}]. '
        "What both name is compared.",
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "class": "mono"}),
    )

    def clean_results(self) -> Any:
        try:
            return parse_json(self.cleaned_data["results"])
        except BadJson as problem:
            raise forms.ValidationError(str(problem)) from None


class RunbookForm(ActionForm):
    """Which runbook is wanted; the values stand in the address."""

    severity = forms.ChoiceField(
        label="How bad", required=False, choices=[("", "any"), *((t, t) for t in Trouble)]
    )
    cause = forms.ChoiceField(
        label="Why", required=False, choices=[("", "any"), *((c, c) for c in TroubleCause)]
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
    """Return a stable word as people read it: `under_min_isr` becomes `Under min ISR`."""
    text = str(word).replace("_", " ").replace(" isr", " ISR").replace("rf ", "RF ")
    return text[:1].upper() + text[1:]
