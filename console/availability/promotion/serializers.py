"""The shapes of promotions, drills and runbooks in the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from console.accounts.asked_rights import STOPPED
from console.availability.advice.models import (
    SEVERITIES,
    ObserverEvent,
    PromotionFinding,
)
from console.availability.drills.models import Drill, DrillKind, DrillResult, DrillState
from console.availability.placements.models import PatternKind
from console.availability.promotion.models import (
    ActionState,
    Actor,
    Mode,
    PromotionAction,
    PromotionPolicy,
    PromotionStop,
    Trigger,
)
from console.clusters.models import TOPIC_NAME_LENGTH
from console.frame.rest.parameters import PageParameters, Parameters
from console.frame.rest.serializers import BodySerializer
from jobs.availability.runbooks.runbook import Trouble, TroubleCause

LARGEST_ID = 2**31 - 1
MOST_BROKERS = 200
TROUBLES = [(one.value, one.value) for one in Trouble]
CAUSES = [(one.value, one.value) for one in TroubleCause]
_CLUSTER = "The cluster's alias."


def _broker(**more: Any) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=0, max_value=LARGEST_ID, **more)


def _person(source: str) -> serializers.CharField:
    return serializers.CharField(source=f"{source}.username", default=None, allow_null=True)


class OfCluster(PageParameters):
    """Rows of one cluster."""

    cluster = serializers.CharField(required=False, max_length=63, help_text=_CLUSTER)


class ActionFilters(OfCluster):
    """Which actions."""

    state = serializers.ChoiceField(
        choices=ActionState.choices, required=False, help_text="Only in this state."
    )
    topic = serializers.CharField(
        required=False, max_length=TOPIC_NAME_LENGTH, help_text="Only for this topic."
    )


class FindingFilters(OfCluster):
    """Which findings."""

    state = serializers.ChoiceField(
        choices=["open", "ended", "all"],
        required=False,
        default="open",
        help_text="`open` (the default), `ended`, or `all`.",
    )


class ActorsQuery(Parameters):
    """Of which cluster."""

    cluster = serializers.CharField(max_length=63, help_text=_CLUSTER)


class PromotionPolicySerializer(serializers.ModelSerializer[PromotionPolicy]):
    """A policy: for which topics, when, by which way, and what follows."""

    cluster = serializers.CharField(source="cluster.alias")
    policy = serializers.ChoiceField(
        choices=Trigger.choices, help_text="Empty: what the topic's placement says."
    )
    mode = serializers.ChoiceField(choices=Mode.choices)
    actor = serializers.ChoiceField(choices=Actor.choices)
    kind = serializers.ChoiceField(choices=PatternKind.choices)
    allowed_brokers = serializers.ListField(child=serializers.IntegerField())
    acts = serializers.BooleanField(help_text="Whether actions are begun without a person.")
    stopped = serializers.CharField(source="why_stopped", help_text=STOPPED)
    opted_in_by = _person("opted_in_by")
    created_by = _person("created_by")

    class Meta:
        model = PromotionPolicy
        fields = [
            "id", "cluster", "kind", "pattern", "priority", "policy", "mode", "actor", "allowed_brokers",
            "cooldown_s", "hold_s", "note", "acts", "stopped", "opted_in_by", "opted_in_at", "created_by",
            "created_at", "changed_at",
        ]  # fmt: skip


class _PolicyFields(BodySerializer):
    """What a person decides of a policy."""

    kind = serializers.ChoiceField(choices=PatternKind.choices, required=False)
    pattern = serializers.CharField(required=False, max_length=TOPIC_NAME_LENGTH)
    priority = serializers.IntegerField(required=False)
    policy = serializers.ChoiceField(choices=Trigger.choices, required=False, allow_blank=True)
    mode = serializers.ChoiceField(
        choices=Mode.choices, required=False, help_text="`act` needs `confirm`."
    )
    actor = serializers.ChoiceField(choices=Actor.choices, required=False)
    allowed_brokers = serializers.ListField(
        child=_broker(),
        required=False,
        max_length=MOST_BROKERS,
        help_text="The only brokers that an action may touch.",
    )
    cooldown_s = serializers.IntegerField(required=False)
    hold_s = serializers.IntegerField(required=False)
    note = serializers.CharField(required=False, max_length=300, allow_blank=True)
    confirm = serializers.CharField(
        required=False,
        max_length=TOPIC_NAME_LENGTH,
        help_text="The pattern, where acting is switched on or reaches further than before.",
    )


class ChangedPromotionPolicySerializer(_PolicyFields):
    """What is to be changed of a policy; what is not given stays."""

    cluster = serializers.CharField(
        required=False,
        max_length=63,
        help_text="The alias of the policy's own cluster: a policy cannot be moved to another one.",
    )

    def validate_cluster(self, alias: str) -> str:
        """Refuse another cluster than that of the policy."""
        own: str = self.context["policy"].cluster.alias
        if alias != own:
            text = f"This policy is one of {own}; write one for {alias}, and delete this one."
            raise serializers.ValidationError(text)
        return alias


class NewPromotionPolicySerializer(_PolicyFields):
    """A new policy."""

    cluster = serializers.CharField(max_length=63, help_text=_CLUSTER)
    pattern = serializers.CharField(max_length=TOPIC_NAME_LENGTH)


class PromotionRefusalSerializer(serializers.Serializer[Any]):
    """Why an action is not made."""

    code = serializers.CharField()
    sentence = serializers.CharField()
    todo = serializers.CharField()


class PromotionActionSerializer(serializers.ModelSerializer[PromotionAction]):
    """An advice to promote, and what became of it."""

    cluster = serializers.CharField(source="cluster.alias")
    policy = serializers.IntegerField(source="policy_id", allow_null=True)
    trigger = serializers.ChoiceField(choices=Trigger.choices)
    actor = serializers.ChoiceField(choices=Actor.choices)
    state = serializers.ChoiceField(choices=ActionState.choices)
    because = serializers.ListField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField())
    refusals = PromotionRefusalSerializer(many=True)
    evidence = serializers.DictField()
    took_ms = serializers.IntegerField(allow_null=True)
    asked_by = _person("asked_by")
    reverted_by = _person("reverted_by")

    class Meta:
        model = PromotionAction
        fields = [
            "id", "cluster", "policy", "subject", "trigger", "actor", "topic", "partition", "broker",
            "because", "because_count", "state", "is_automatic", "code", "why", "todo", "data_at_risk",
            "how_to_demote", "warnings", "expected_ms", "took_ms", "evidence", "refusals", "advised_at",
            "seen_at", "planned_at", "asked_at", "asked_by", "acted_at", "verified_at", "reverted_by",
            "revert_reason", "ended_at",
        ]  # fmt: skip


class PromotionActionDetailSerializer(PromotionActionSerializer):
    """Likewise, with its dry run and its outcome in the words of `jobs.availability.acting`."""

    plan = serializers.DictField()
    outcome = serializers.DictField()
    candidates = serializers.ListField(child=serializers.DictField())

    class Meta(PromotionActionSerializer.Meta):
        fields = [*PromotionActionSerializer.Meta.fields, "plan", "outcome", "candidates"]


class ApplyPromotionSerializer(BodySerializer):
    """The confirmation."""

    confirm = serializers.CharField(max_length=300, help_text="The action's subject.")


class RevertPromotionSerializer(ApplyPromotionSerializer):
    """The confirmation, and why."""

    reason = serializers.CharField(required=False, max_length=300, allow_blank=True, default="")


class PromotionStopSerializer(serializers.ModelSerializer[PromotionStop]):
    """A stop switch; `cluster` null: that of all clusters."""

    cluster = serializers.CharField(source="cluster.alias", default=None, allow_null=True)
    by = _person("by")

    class Meta:
        model = PromotionStop
        fields = ["cluster", "is_on", "why", "by", "at"]


class TurnStopSerializer(BodySerializer):
    """Which stop switch is turned."""

    cluster = serializers.CharField(
        required=False, allow_null=True, max_length=63, help_text="The alias; null: all clusters."
    )
    is_on = serializers.BooleanField()
    why = serializers.CharField(required=False, max_length=300, allow_blank=True, default="")


class ExpectedTimeSerializer(serializers.Serializer[Any]):
    """An expected time, and where the figures are from."""

    least_ms = serializers.FloatField()
    most_ms = serializers.FloatField()
    source = serializers.CharField()  # type: ignore[assignment]  # not Field.source


class PromotionWaySerializer(serializers.Serializer[Any]):
    """A way to promote: whether this cluster can use it, why not, what it costs."""

    kind = serializers.ChoiceField(choices=Actor.choices)
    title = serializers.CharField()
    summary = serializers.CharField()
    is_usable = serializers.BooleanField()
    problems = serializers.DictField(child=serializers.CharField())
    unknown = serializers.DictField(child=serializers.CharField())
    cost = serializers.CharField()
    act = ExpectedTimeSerializer(allow_null=True)
    outage = ExpectedTimeSerializer(allow_null=True)
    revert = ExpectedTimeSerializer(allow_null=True)
    is_revertible = serializers.BooleanField()
    how_to_revert = serializers.CharField()
    act_commands = serializers.ListField(child=serializers.CharField())
    revert_commands = serializers.ListField(child=serializers.CharField())
    traps = serializers.ListField(child=serializers.CharField())
    brokers = serializers.ListField(child=serializers.IntegerField())


class ObserverEventSerializer(serializers.ModelSerializer[ObserverEvent]):
    """Something that happened to an observer."""

    cluster = serializers.CharField(source="cluster.alias")
    kind = serializers.ChoiceField(choices=ObserverEvent.KINDS)

    class Meta:
        model = ObserverEvent
        fields = [
            "id",
            "cluster",
            "at",
            "kind",
            "topic",
            "partition",
            "broker",
            "lasted_ms",
            "sentence",
        ]


class PromotionFindingSerializer(serializers.ModelSerializer[PromotionFinding]):
    """What people should know about observers and leaders; `trouble` and `cause` name its runbook."""

    cluster = serializers.CharField(source="cluster.alias")
    severity = serializers.ChoiceField(choices=SEVERITIES)
    brokers = serializers.ListField(child=serializers.IntegerField())

    class Meta:
        model = PromotionFinding
        fields = [
            "id", "cluster", "code", "severity", "topic", "partition", "brokers", "trouble", "cause",
            "sentence", "todo", "opened_at", "last_seen_at", "closed_at",
        ]  # fmt: skip


class DrillResultSerializer(serializers.ModelSerializer[DrillResult]):
    """How it went with one actor, or with one partition of a what-if drill."""

    actor = serializers.CharField(allow_blank=True)
    prediction = serializers.DictField()
    seen = serializers.DictField()

    class Meta:
        model = DrillResult
        fields = [
            "subject", "actor", "is_good", "promote_ms", "revert_ms", "expected_ms", "prediction", "seen",
            "message", "at",
        ]  # fmt: skip


class DrillSerializer(serializers.ModelSerializer[Drill]):
    """A drill."""

    cluster = serializers.CharField(source="cluster.alias")
    kind = serializers.ChoiceField(choices=DrillKind.choices)
    state = serializers.ChoiceField(choices=DrillState.choices)
    actors = serializers.ListField(child=serializers.CharField())
    requested_by = _person("requested_by")

    class Meta:
        model = Drill
        fields = [
            "id", "cluster", "kind", "state", "title", "actors", "broker", "topic", "topic_removed_at",
            "requested_by", "created_at", "started_at", "finished_at", "good_count", "bad_count", "error",
        ]  # fmt: skip


class DrillDetailSerializer(DrillSerializer):
    """Likewise, with every result and every step: [time, sentence]."""

    results = DrillResultSerializer(many=True)
    log = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))

    class Meta(DrillSerializer.Meta):
        fields = [*DrillSerializer.Meta.fields, "results", "log"]


class RecordedResultSerializer(BodySerializer):
    """A prediction beside what was seen."""

    subject = serializers.CharField(max_length=300)
    prediction = serializers.DictField()
    seen = serializers.DictField()
    message = serializers.CharField(required=False, allow_blank=True, max_length=2000)


class NewDrillSerializer(BodySerializer):
    """A drill to be carried out (`promotion`), or one that was seen and is written down (`what_if`)."""

    cluster = serializers.CharField(max_length=63, help_text=_CLUSTER)
    kind = serializers.ChoiceField(
        choices=DrillKind.choices, required=False, default=DrillKind.PROMOTION.value
    )
    title = serializers.CharField(required=False, allow_blank=True, max_length=200)
    actors = serializers.ListField(
        child=serializers.CharField(max_length=30),
        required=False,
        max_length=10,
        help_text="promotion: which ways are tried; all that can be without it.",
    )
    broker = _broker(
        required=False, allow_null=True, help_text="promotion: the standby broker to promote."
    )
    confirm = serializers.CharField(
        required=False, max_length=63, help_text="promotion: the cluster's alias, once more."
    )
    results = RecordedResultSerializer(
        many=True, required=False, help_text="what_if: what was predicted and what was seen."
    )
