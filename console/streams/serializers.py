"""The shapes of Kafka Streams applications in the API; documents are those of `jobs.streams.documents`."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from console.findings.serializers import FindingSerializer
from console.frame.rest.parameters import PageParameters, Parameters
from console.frame.rest.serializers import BodySerializer, FreshnessSerializer, PlainSerializer
from console.streams.lookup.answers import LONGEST_KEY
from console.streams.models import PROTOCOLS, StreamsApplication
from jobs.streams.application import Confidence, Protocol, Role
from jobs.streams.keys import KeyFormat
from jobs.streams.probes import Probe
from jobs.streams.topology.reading import MOST_BYTES
from jobs.wire.batches.hashes import Partitioner

STREAMS_PROTOCOLS = [one.value for one in Protocol]
TASK_ROLES = [one.value for one in Role]
STORE_CONFIDENCES = [one.value for one in Confidence]
KEY_FORMATS = [one.value for one in KeyFormat]
PARTITIONERS = [one.value for one in Partitioner]
_CLUSTER = "Alias of a cluster."


def _texts(**more: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField(), **more)


def _number() -> serializers.IntegerField:
    return serializers.IntegerField(allow_null=True)


class StreamsFilters(PageParameters):
    """What a list of applications can be narrowed down to."""

    cluster = serializers.CharField(required=False, max_length=63, help_text=_CLUSTER)
    state = serializers.CharField(
        required=False, max_length=40, help_text="Kafka's word, `Stable`; `Gone` where not listed."
    )
    protocol = serializers.ChoiceField(
        required=False, choices=STREAMS_PROTOCOLS, help_text="Who assigns the tasks."
    )


class StreamsPlace(Parameters):
    """Of which cluster an application is, where several have one of this id."""

    cluster = serializers.CharField(required=False, max_length=63, help_text=_CLUSTER)


class StreamsTaskPlace(PageParameters, StreamsPlace):
    """Of which cluster an application is, and where its tasks begin."""


class StreamsApplicationSerializer(serializers.ModelSerializer[StreamsApplication]):
    """An application in a list; a count is null where its group does not tell it now."""

    cluster = serializers.CharField(source="cluster.alias")
    application = serializers.CharField(source="application_id")
    protocol = serializers.ChoiceField(choices=PROTOCOLS)
    instance_count = serializers.IntegerField(source="instances", allow_null=True)
    thread_count = serializers.IntegerField(source="threads", allow_null=True)
    task_count = serializers.IntegerField(source="tasks", allow_null=True)
    store_count = serializers.IntegerField(source="stores", allow_null=True)
    left_out = serializers.CharField(
        read_only=True,
        help_text="What is beyond the limits of one application, empty for nothing: counts are at least "
        "what is shown then, and what follows from all tasks is null.",
    )
    finding_count = serializers.IntegerField(help_text="Open findings about the application.")
    freshness = FreshnessSerializer(read_only=True)

    class Meta:
        model = StreamsApplication
        fields = (
            "cluster",
            "application",
            "protocol",
            "state",
            "first_seen_at",
            "last_seen_at",
            "facts_at",
            "described_at",
            "problem",
            "left_out",
            "instance_count",
            "thread_count",
            "task_count",
            "tasks_without_thread",
            "store_count",
            "lag_records",
            "lag_unknown_count",
            "lag_at_most_ms",
            "event_time_lag_ms",
            "caution_count",
            "finding_count",
            "answers_wrong",
            "misrouted_share",
            "freshness",
        )
        read_only_fields = fields


class TaskPlacementSerializer(serializers.Serializer[Any]):
    """A thread that has a task."""

    role = serializers.ChoiceField(choices=TASK_ROLES)
    process_id = serializers.CharField()
    endpoint = serializers.CharField(allow_null=True)
    place = serializers.CharField(help_text="The endpoint, else the address it is connected from.")
    thread = serializers.CharField()


class StreamsThreadSerializer(serializers.Serializer[Any]):
    """A stream thread, which is a member of the group."""

    member_id = serializers.CharField()
    client_id = serializers.CharField()
    instance_id = serializers.CharField(allow_null=True)
    active = _texts()
    standby = _texts()
    warm_up = _texts()
    target = serializers.ListField(
        child=_texts(), allow_null=True, help_text="Role and task, where they differ from now."
    )
    version = _number()
    latest_version = _number()
    joins = _number()
    member_epoch = _number()
    error_code = serializers.IntegerField()
    problem = serializers.CharField(allow_null=True)


class StreamsProcessSerializer(serializers.Serializer[Any]):
    """An instance with its threads."""

    process_id = serializers.CharField()
    endpoint = serializers.CharField(allow_null=True)
    client_host = serializers.CharField()
    rack = serializers.CharField(allow_null=True)
    tags = serializers.DictField(child=serializers.CharField())
    threads = StreamsThreadSerializer(many=True)


class TaskInputSerializer(serializers.Serializer[Any]):
    """The lag of a task on one source partition; null where it is not known."""

    partition = serializers.CharField()
    committed = _number()
    end = _number()
    lag_records = _number()
    lag_at_most_ms = _number()
    stream_time_ms = _number()
    event_time_lag_ms = _number()
    window_close_ms = serializers.DictField(child=serializers.IntegerField())


class StreamsTaskSerializer(serializers.Serializer[Any]):
    """A task: who has it, its lag, the size of its state."""

    task = serializers.CharField()
    subtopology = serializers.CharField()
    partitions = _texts()
    placements = TaskPlacementSerializer(many=True)
    input = TaskInputSerializer(many=True)
    changelog_records = _number()
    changelog_bytes = _number()


class SubtopologySerializer(serializers.Serializer[Any]):
    """A subtopology; `tasks` and `stateful` are null where nothing tells them."""

    subtopology = serializers.CharField()
    source_topics = _texts()
    sink_topics = _texts(allow_null=True)
    tasks = _number()
    stateful = serializers.BooleanField(allow_null=True)


class StateStoreSerializer(serializers.Serializer[Any]):
    """A state store, and how its subtopology is known."""

    store = serializers.CharField()
    subtopology = serializers.CharField(allow_null=True)
    candidates = _texts()
    confidence = serializers.ChoiceField(choices=STORE_CONFIDENCES)
    reason = serializers.CharField()
    source_topics = _texts()
    changelog = serializers.CharField(allow_null=True)
    kind = serializers.CharField(allow_null=True)
    is_global = serializers.BooleanField()


class _HostSerializer(serializers.Serializer[Any]):
    partitions = _texts()
    stores = _texts()
    standby_partitions = _texts()
    standby_stores = _texts()


class InstanceMetadataSerializer(_HostSerializer):
    """What an instance runs."""

    process_id = serializers.CharField()
    endpoint = serializers.CharField(allow_null=True)
    place = serializers.CharField()


class AnsweredMetadataSerializer(_HostSerializer):
    """What the application answers of an endpoint."""

    endpoint = serializers.CharField()


class ApplicationAnswersSerializer(serializers.Serializer[Any]):
    """All metadata as the application answers it; null with the reason where that is not known."""

    metadata = AnsweredMetadataSerializer(many=True, allow_null=True)
    reason = serializers.CharField(allow_blank=True)


class StandbyLagSerializer(serializers.Serializer[Any]):
    """How far a copy was behind, at most, at `as_of_ms`, when its thread's last join was first seen."""

    task = serializers.CharField()
    member_id = serializers.CharField()
    role = serializers.ChoiceField(choices=TASK_ROLES)
    position_sum = _number()
    records = _number()
    as_of_ms = _number()


class RestoreCostSerializer(serializers.Serializer[Any]):
    """What other instances read when this one dies; null where only a copy knows what it lacks.

    `records_at_rebalance` is the most that it was at `as_of_ms`, when the last rebalance was first seen.
    """

    process_id = serializers.CharField()
    place = serializers.CharField()
    stateful_tasks = serializers.IntegerField()
    without_copy = _texts()
    records = _number()
    records_at_rebalance = _number()
    as_of_ms = _number()
    bytes = _number()


class StreamsDocumentSerializer(StreamsApplicationSerializer):
    """An application with stores, metadata and lag; the assignment holds since `taken_at`."""

    taken_at = serializers.DateTimeField(allow_null=True)
    shown_state = serializers.CharField(help_text="State of the group when it was last seen whole.")
    observed_at_ms = serializers.IntegerField()
    generation = _number()
    next_rebalance_ms = _number()
    processes = StreamsProcessSerializer(many=True)
    subtopologies = SubtopologySerializer(many=True)
    stores = StateStoreSerializer(many=True)
    metadata = InstanceMetadataSerializer(many=True)
    application_answers = ApplicationAnswersSerializer()
    standby_lag_at_join = StandbyLagSerializer(many=True)
    restore = RestoreCostSerializer(many=True)
    cautions = _texts()
    findings = FindingSerializer(many=True, help_text="Those that are open, worst first.")

    class Meta(StreamsApplicationSerializer.Meta):
        fields = (
            *StreamsApplicationSerializer.Meta.fields,
            "taken_at",
            "shown_state",
            "observed_at_ms",
            "generation",
            "next_rebalance_ms",
            "processes",
            "subtopologies",
            "stores",
            "metadata",
            "application_answers",
            "standby_lag_at_join",
            "restore",
            "cautions",
            "findings",
        )  # type: ignore[assignment]  # a longer tuple


class NewDescriptionSerializer(BodySerializer):
    """What `Topology#describe()` printed; an empty text removes it."""

    description = serializers.CharField(
        allow_blank=True, trim_whitespace=False, max_length=MOST_BYTES
    )


class KeyLookupQuery(BodySerializer):
    """A key of a store. It is not stored; the audit log has a keyed hash of it."""

    store = serializers.CharField(max_length=249)
    key = serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=LONGEST_KEY)
    key_format = serializers.ChoiceField(choices=KEY_FORMATS, required=False, default="utf-8")
    partitioner = serializers.ChoiceField(
        choices=PARTITIONERS,
        required=False,
        default="murmur2",
        help_text="The hash by which producers place the key.",
    )
    check_changelog = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Also search the changelog on the cluster; this needs the role operator.",
    )


class KeyJvmAnswerSerializer(serializers.Serializer[Any]):
    """What the application answers for the key; null where that is not known, see `reason`."""

    active = serializers.CharField(allow_null=True)
    standby = _texts(allow_null=True)
    partition = _number()
    is_right = serializers.BooleanField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    misrouted_share = serializers.FloatField(allow_null=True, help_text="Of all keys of the store.")


class ChangelogFindingSerializer(serializers.Serializer[Any]):
    """Which partitions of the changelog have the key with a value."""

    topic = serializers.CharField(allow_blank=True)
    partitions = serializers.ListField(child=serializers.IntegerField())
    unread = serializers.ListField(child=serializers.IntegerField())
    newest_ms = _number()
    is_as_expected = serializers.BooleanField(allow_null=True)
    sentence = serializers.CharField()


class PossiblePlaceSerializer(serializers.Serializer[Any]):
    """A partition that the key may be in, by which topics, and who runs its task."""

    partition = serializers.IntegerField()
    task = serializers.CharField(allow_null=True)
    topics = _texts()
    place = serializers.CharField(allow_null=True)


class KeyLookupSerializer(serializers.Serializer[Any]):
    """Who serves a key, why, and what the application itself answers."""

    cluster = serializers.CharField()
    application = serializers.CharField()
    state = serializers.CharField()
    taken_at = serializers.DateTimeField(allow_null=True)
    seen_at = serializers.DateTimeField(allow_null=True)
    store = serializers.CharField()
    key_hex = serializers.CharField(allow_blank=True)
    partition = _number()
    partitions = _number()
    task = serializers.CharField(allow_null=True)
    is_global = serializers.BooleanField(help_text="Every instance serves the key.")
    possible = PossiblePlaceSerializer(many=True, help_text="More than one: not settled.")
    active = TaskPlacementSerializer(allow_null=True)
    standby = TaskPlacementSerializer(many=True)
    evidence = _texts()
    cautions = _texts()
    application_answers = KeyJvmAnswerSerializer()
    changelog = ChangelogFindingSerializer(allow_null=True)


class EndpointProbeSerializer(PlainSerializer):
    """The probe of one endpoint; `address` and `took_ms` are null where no connection was made."""

    of = Probe


class ProbesSerializer(serializers.Serializer[Any]):
    """The probes of one request, from the server of the console."""

    probed_at = serializers.DateTimeField()
    probes = EndpointProbeSerializer(many=True)
    left_out = serializers.IntegerField(help_text="Endpoints beyond the limit of one request.")
