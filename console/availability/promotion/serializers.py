"""Serializers of promotions, drills and runbooks."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers

from console.accounts.asked_rights import STOPPED
from console.availability.advice.models import (
    ObserverEvent,
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
from console.findings.models import SEVERITIES, Finding
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
    """Filters of actions."""

    state = serializers.ChoiceField(
        choices=ActionState.choices, required=False, help_text="Only in this state."
    )
    topic = serializers.CharField(
        required=False, max_length=TOPIC_NAME_LENGTH, help_text="Only for this topic."
    )


class FindingFilters(OfCluster):
    """Filters of findings."""

    state = serializers.ChoiceField(
        choices=["open", "ended", "all"],
        required=False,
        default="open",
        help_text="`open` (the default), `ended`, or `all`.",
    )


class ActorsQuery(Parameters):
    """The cluster."""

    cluster = serializers.CharField(max_length=63, help_text=_CLUSTER)


class PromotionPolicySerializer(serializers.ModelSerializer[PromotionPolicy]):
    """A policy: topics, trigger, method, mode."""

    cluster = serializers.CharField(source="cluster.alias")
    policy = serializers.ChoiceField(
        choices=Trigger.choices, help_text="Empty: the trigger of the topic's placement."
    )
    mode = serializers.ChoiceField(choices=Mode.choices)
    actor = serializers.ChoiceField(choices=Actor.choices)
    kind = serializers.ChoiceField(choices=PatternKind.choices)
    allowed_brokers = serializers.ListField(child=serializers.IntegerField())
    acts = serializers.BooleanField(help_text="Whether actions start without confirmation.")
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
    """The editable fields of a policy."""

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
        help_text="The only brokers that an action may promote.",
    )
    cooldown_s = serializers.IntegerField(required=False)
    hold_s = serializers.IntegerField(required=False)
    note = serializers.CharField(required=False, max_length=300, allow_blank=True)
    confirm = serializers.CharField(
        required=False,
        max_length=TOPIC_NAME_LENGTH,
        help_text="The pattern, when mode `act` is enabled or covers more than before.",
    )


class ChangedPromotionPolicySerializer(_PolicyFields):
    """Changed fields of a policy; other fields stay."""

    shown_by = PromotionPolicySerializer

    cluster = serializers.CharField(
        required=False,
        max_length=63,
        help_text="Alias of the policy's cluster: a policy cannot be moved to another cluster.",
    )

    def validate_cluster(self, alias: str) -> str:
        """Refuse another cluster than that of the policy."""
        own: str = self.context["policy"].cluster.alias
        if alias != own:
            text = f"This policy belongs to {own}. Create one for {alias}, and delete this one."
            raise serializers.ValidationError(text)
        return alias


class NewPromotionPolicySerializer(_PolicyFields):
    """A new policy."""

    cluster = serializers.CharField(max_length=63, help_text=_CLUSTER)
    pattern = serializers.CharField(max_length=TOPIC_NAME_LENGTH)


class PromotionRefusalSerializer(serializers.Serializer[Any]):
    """Why an action is refused."""

    code = serializers.CharField()
    sentence = serializers.CharField()
    todo = serializers.CharField()


class PromotionActionSerializer(serializers.ModelSerializer[PromotionAction]):
    """An advice to promote, from dry run to revert."""

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
    """An action with its dry run and its outcome in the words of `jobs.availability.acting`."""

    plan = serializers.DictField()
    outcome = serializers.DictField()
    candidates = serializers.ListField(child=serializers.DictField())

    class Meta(PromotionActionSerializer.Meta):
        fields = [*PromotionActionSerializer.Meta.fields, "plan", "outcome", "candidates"]


class ApplyPromotionSerializer(BodySerializer):
    """The confirmation."""

    confirm = serializers.CharField(max_length=300, help_text="The action's subject.")


class RevertPromotionSerializer(ApplyPromotionSerializer):
    """The confirmation, and the reason."""

    reason = serializers.CharField(required=False, max_length=300, allow_blank=True, default="")


class PromotionStopSerializer(serializers.ModelSerializer[PromotionStop]):
    """A stop switch; `cluster` null: that of all clusters."""

    cluster = serializers.CharField(source="cluster.alias", default=None, allow_null=True)
    by = _person("by")

    class Meta:
        model = PromotionStop
        fields = ["cluster", "is_on", "why", "by", "at"]


class TurnStopSerializer(BodySerializer):
    """A change of a stop switch."""

    cluster = serializers.CharField(
        required=False, allow_null=True, max_length=63, help_text="The alias; null: all clusters."
    )
    is_on = serializers.BooleanField()
    why = serializers.CharField(required=False, max_length=300, allow_blank=True, default="")


class ExpectedTimeSerializer(serializers.Serializer[Any]):
    """An expected time, and the source of the figures."""

    least_ms = serializers.FloatField()
    most_ms = serializers.FloatField()
    source = serializers.CharField()  # type: ignore[assignment]  # not Field.source


class PromotionWaySerializer(serializers.Serializer[Any]):
    """A promotion method: availability on this cluster, blocking conditions, cost."""

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
    """An observer joined or left the ISR, or became leader."""

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


class PromotionFindingSerializer(serializers.ModelSerializer[Finding]):
    """A finding about observers and leaders; `trouble` and `cause` name its runbook."""

    cluster = serializers.CharField(source="cluster.alias")
    severity = serializers.ChoiceField(choices=SEVERITIES)
    brokers = serializers.ListField(child=serializers.IntegerField())

    class Meta:
        model = Finding
        extra_kwargs: ClassVar = {"topic": {"max_length": TOPIC_NAME_LENGTH}}
        fields = [
            "id", "cluster", "code", "severity", "topic", "partition", "brokers", "trouble", "cause",
            "sentence", "todo", "opened_at", "last_seen_at", "closed_at",
        ]  # fmt: skip


class DrillResultSerializer(serializers.ModelSerializer[DrillResult]):
    """The result of one method, or of one partition of a recorded drill."""

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
    """A drill with its results and its log: [time, sentence]."""

    results = DrillResultSerializer(many=True)
    log = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))

    class Meta(DrillSerializer.Meta):
        fields = [*DrillSerializer.Meta.fields, "results", "log"]


class RecordedResultSerializer(BodySerializer):
    """Predicted and observed values of one subject."""

    subject = serializers.CharField(max_length=300)
    prediction = serializers.DictField()
    seen = serializers.DictField()
    message = serializers.CharField(required=False, allow_blank=True, max_length=2000)


class NewDrillSerializer(BodySerializer):
    """A drill to carry out (`promotion`), or one to record (`what_if`)."""

    cluster = serializers.CharField(max_length=63, help_text=_CLUSTER)
    kind = serializers.ChoiceField(
        choices=DrillKind.choices, required=False, default=DrillKind.PROMOTION.value
    )
    title = serializers.CharField(required=False, allow_blank=True, max_length=200)
    actors = serializers.ListField(
        child=serializers.CharField(max_length=30),
        required=False,
        max_length=10,
        help_text="promotion: the methods; default: all that can be drilled.",
    )
    broker = _broker(
        required=False, allow_null=True, help_text="promotion: the standby broker to promote."
    )
    confirm = serializers.CharField(
        required=False, max_length=63, help_text="promotion: the cluster's alias, typed again."
    )
    results = RecordedResultSerializer(
        many=True, required=False, help_text="what_if: predicted and observed results."
    )
