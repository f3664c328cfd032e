"""Serializers of failure simulation."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from console.availability.placements.models import PatternKind
from console.availability.placements.serializers import ClusterParameters
from console.availability.what_if.query import (
    BROKERS,
    LARGEST_ID,
    LARGEST_MIN_ISR,
    LONGEST_RACK,
    MOST_STEPS,
    MOST_TARGETS,
)
from console.availability.what_if.simulation import KINDS
from console.clusters.models import TOPIC_NAME_LENGTH
from console.frame.rest.parameters import LARGEST_PAGE
from console.frame.rest.serializers import BodySerializer
from jobs.availability.status.severity import Severity
from jobs.availability.what_if.outcome import Promoter, RiskCode

ACTIONS = ("lose", "return", "unclean_election", "preferred_election")
SEVERITY_WORDS = [one.word for one in Severity]
FAILURE_KINDS = [(kind, kind) for kind in ("site", "broker", "controller")]
LARGEST_OFFSET = 10_000_000
_LIMIT = "Maximum number of topics, and of partitions; the answer has their counts."


class WhatIfParameters(ClusterParameters):
    """The parameters of the page's address."""

    steps = serializers.CharField(
        required=False,
        max_length=20_000,
        help_text="`lose:rack:west,broker:4;return:broker:4;unclean:orders`, names percent-encoded.",
    )
    at = serializers.CharField(
        required=False, max_length=64, help_text="A past time, ISO 8601; default: now."
    )
    sites = serializers.CharField(
        required=False, max_length=1000, help_text="Controller sites: `4=west 5=east`."
    )
    observers = serializers.ChoiceField(
        choices=[BROKERS],
        required=False,
        help_text="`brokers`: the brokers keep observers outside the ISR and promote them.",
    )
    kind = serializers.ChoiceField(
        choices=PatternKind.choices, required=False, help_text="Type of `pattern`."
    )
    pattern = serializers.CharField(
        required=False, max_length=TOPIC_NAME_LENGTH, help_text="Topics of the proposed placement."
    )
    placement = serializers.CharField(
        required=False, max_length=20_000, help_text="The proposed placement, as JSON."
    )
    min_insync_replicas = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST_MIN_ISR, help_text="Proposed with it."
    )
    topic = serializers.CharField(
        required=False, max_length=TOPIC_NAME_LENGTH, help_text="Partitions of this topic only."
    )
    show = serializers.ChoiceField(
        choices=list(KINDS), required=False, default="changed", help_text="Filter of partitions."
    )
    limit = serializers.IntegerField(
        required=False, min_value=0, max_value=LARGEST_PAGE, default=50, help_text=_LIMIT
    )
    offset = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=LARGEST_OFFSET,
        default=0,
        help_text="Number of skipped topics and partitions.",
    )


class StepSerializer(BodySerializer):
    """One step: all its losses or returns happen at once."""

    action = serializers.ChoiceField(choices=ACTIONS)
    racks = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_RACK),
        required=False,
        max_length=MOST_TARGETS,
    )
    brokers = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=LARGEST_ID),
        required=False,
        max_length=MOST_TARGETS,
    )
    controllers = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=LARGEST_ID),
        required=False,
        max_length=MOST_TARGETS,
    )
    is_clean = serializers.BooleanField(
        required=False, help_text="Of a return: after a clean shutdown."
    )
    topic = serializers.CharField(
        required=False,
        allow_null=True,
        max_length=TOPIC_NAME_LENGTH,
        help_text="Of an election: null for all topics.",
    )


class ProposedSerializer(BodySerializer):
    """A proposed placement."""

    kind = serializers.ChoiceField(choices=PatternKind.choices, required=False, default="exact")
    pattern = serializers.CharField(max_length=TOPIC_NAME_LENGTH)
    placement = serializers.DictField()
    min_insync_replicas = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=LARGEST_MIN_ISR
    )


class WhatIfQuery(BodySerializer):
    """A request: about a registered cluster, or about the cluster in `model`."""

    cluster = serializers.CharField(
        required=False, max_length=63, help_text="Alias of the cluster."
    )
    model = serializers.JSONField(
        required=False,
        help_text="A cluster as `crosslog what-if FILE` takes it: an object, a list, or text.",
    )
    steps = StepSerializer(many=True, required=False)
    at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="A past time; default: now."
    )
    proposed = ProposedSerializer(many=True, required=False)
    sites = serializers.DictField(
        child=serializers.CharField(max_length=LONGEST_RACK),
        required=False,
        help_text="Rack by node id, of controllers that are not brokers.",
    )
    observers = serializers.ChoiceField(
        choices=[BROKERS],
        required=False,
        help_text="`brokers`: the brokers keep observers outside the ISR and promote them.",
    )
    topic = serializers.CharField(required=False, max_length=TOPIC_NAME_LENGTH)
    show = serializers.ChoiceField(choices=list(KINDS), required=False, default="changed")
    limit = serializers.IntegerField(
        required=False, min_value=0, max_value=LARGEST_PAGE, default=50, help_text=_LIMIT
    )
    offset = serializers.IntegerField(
        required=False, min_value=0, max_value=LARGEST_OFFSET, default=0
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require exactly one of `cluster` and `model`, and not too many steps."""
        if ("cluster" in attrs) == ("model" in attrs):
            raise serializers.ValidationError(
                {"cluster": "Name a registered cluster, or describe one in `model`."}
            )
        if len(attrs.get("steps", ())) > MOST_STEPS:
            raise serializers.ValidationError({"steps": f"At most {MOST_STEPS} steps."})
        past = {"at", "proposed", "sites", "observers"} & {
            name for name, value in attrs.items() if value
        }
        if "model" in attrs and past:
            text = "Only for a registered cluster; a model holds its own values."
            raise serializers.ValidationError(dict.fromkeys(sorted(past), text))
        return attrs


class WhatIfCountsSerializer(serializers.Serializer[Any]):
    """Numbers over partitions."""

    partitions = serializers.IntegerField()
    offline = serializers.IntegerField()
    unwritable = serializers.IntegerField()
    became_unwritable = serializers.IntegerField()
    writable_unknown = serializers.IntegerField(
        help_text="Writability unknown, because min.insync.replicas is."
    )
    needs_unclean = serializers.IntegerField()
    lost = serializers.IntegerField()
    at_risk = serializers.IntegerField()
    exposed = serializers.IntegerField()
    leader_changes = serializers.IntegerField()
    observers_in_isr = serializers.IntegerField()
    severities = serializers.DictField(child=serializers.IntegerField())
    worst = serializers.ChoiceField(choices=SEVERITY_WORDS)


class QuorumOutcomeSerializer(serializers.Serializer[Any]):
    """The quorum; null: unknown; `voters` 0: unknown."""

    voters = serializers.IntegerField()
    majority = serializers.IntegerField()
    alive_ids = serializers.ListField(child=serializers.IntegerField())
    missing_ids = serializers.ListField(child=serializers.IntegerField())
    unsure_ids = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="Voters with unknown liveness.",
    )
    has_majority = serializers.BooleanField(allow_null=True)
    failures_tolerated = serializers.IntegerField(allow_null=True)
    deadly_racks = serializers.ListField(child=serializers.CharField())
    deadly_nodes = serializers.ListField(child=serializers.IntegerField())
    sentence = serializers.CharField(allow_blank=True)


class StepAnswerSerializer(serializers.Serializer[Any]):
    """The state after a step."""

    name = serializers.CharField()
    step = serializers.CharField(help_text="Its text in an address.")
    counts = WhatIfCountsSerializer()
    quorum = QuorumOutcomeSerializer()


class TopicOutcomeSerializer(serializers.Serializer[Any]):
    """A topic from before the first step to after the last."""

    topic = serializers.CharField()
    worst_before = serializers.ChoiceField(choices=SEVERITY_WORDS)
    counts = WhatIfCountsSerializer()
    placement = serializers.DictField(allow_null=True)


class PartitionMomentSerializer(serializers.Serializer[Any]):
    """A partition at one moment; `leader` null: none; `is_writable` null: unknown."""

    leader = serializers.IntegerField(allow_null=True)
    isr = serializers.ListField(child=serializers.IntegerField())
    elr = serializers.ListField(child=serializers.IntegerField())
    last_known_elr = serializers.ListField(child=serializers.IntegerField())
    observers_in_isr = serializers.ListField(child=serializers.IntegerField())
    is_writable = serializers.BooleanField(allow_null=True)
    severity = serializers.ChoiceField(choices=SEVERITY_WORDS, source="severity.word")


class DataAtRiskSerializer(serializers.Serializer[Any]):
    """The risk of acknowledged records; `records` null: number unknown."""

    code = serializers.ChoiceField(choices=[one.value for one in RiskCode], source="code.value")
    sentence = serializers.CharField(allow_blank=True)
    records = serializers.IntegerField(allow_null=True)


class PartitionOutcomeSerializer(serializers.Serializer[Any]):
    """A partition before the first step and after the last."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    before = PartitionMomentSerializer()
    after = PartitionMomentSerializer()
    data_at_risk = DataAtRiskSerializer()
    needs_unclean = serializers.BooleanField()
    promoter = serializers.ChoiceField(
        choices=[one.value for one in Promoter], source="promoter.value"
    )
    min_insync_replicas = serializers.IntegerField(allow_null=True, help_text="Null: unknown.")
    condition = serializers.CharField(
        allow_blank=True, help_text="Results that depend on unknown settings, by value."
    )


@extend_schema_serializer(many=False)
class WhatIfSerializer(serializers.Serializer[Any]):
    """The result; topics and partitions from `offset` on, and their counts."""

    cluster = serializers.CharField(allow_null=True)
    seen_at = serializers.DateTimeField(allow_null=True)
    gaps = serializers.ListField(child=serializers.CharField(), help_text="Missing data.")
    quorum_before = QuorumOutcomeSerializer()
    steps = StepAnswerSerializer(many=True)
    counts = WhatIfCountsSerializer()
    quorum = QuorumOutcomeSerializer()
    topic_count = serializers.IntegerField()
    topics = TopicOutcomeSerializer(many=True)
    partition_count = serializers.IntegerField(help_text="Matching `show` and `topic`.")
    partitions = PartitionOutcomeSerializer(many=True)
    offset = serializers.IntegerField()


class FailureSerializer(serializers.Serializer[Any]):
    """A single failure."""

    kind = serializers.ChoiceField(choices=FAILURE_KINDS)
    target = serializers.CharField()
    name = serializers.CharField()
    step = serializers.CharField(help_text="As a value of `steps`.")
    counts = WhatIfCountsSerializer()
    quorum = QuorumOutcomeSerializer()
    does_harm = serializers.BooleanField()


class WorstSerializer(FailureSerializer):
    """The worst single failure."""

    sentence = serializers.CharField()


class SiteCellSerializer(serializers.Serializer[Any]):
    """The effect of the loss of a site on a topic."""

    site = serializers.CharField()
    worst = serializers.ChoiceField(choices=SEVERITY_WORDS)
    unwritable = serializers.IntegerField()
    offline = serializers.IntegerField()
    at_risk = serializers.IntegerField()
    writable_unknown = serializers.IntegerField()


class TopicRowSerializer(serializers.Serializer[Any]):
    """A topic and the loss of each site."""

    topic = serializers.CharField()
    partitions = serializers.IntegerField()
    sites = SiteCellSerializer(many=True)


class MatrixSerializer(serializers.Serializer[Any]):
    """All single failures; `worst` null: none has an effect. Topics from `offset` on."""

    cluster = serializers.CharField()
    seen_at = serializers.DateTimeField(allow_null=True)
    made_at = serializers.DateTimeField(
        allow_null=True, help_text="Null: computed for this request."
    )
    gaps = serializers.ListField(child=serializers.CharField())
    worst = WorstSerializer(allow_null=True)
    failures = FailureSerializer(many=True)
    left_out = serializers.IntegerField(help_text="Single failures that were not simulated.")
    topic_count = serializers.IntegerField()
    topics = TopicRowSerializer(many=True)
    offset = serializers.IntegerField()
