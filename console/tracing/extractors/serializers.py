"""Extractors and samples as the API shows and reads them."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers

from console.frame.rest.parameters import PageParameters
from console.frame.rest.serializers import BodySerializer
from console.tracing.extractors.models import StoredExtractor
from console.tracing.extractors.trial import Trial

_ALIAS = "Alias of the cluster."
_DEFINITION = (
    "`preset`, `topics`, `fields` (a field by role), `steps`, `topic_steps`, `end_topics`, `groups`, "
    "`stuck_after_s`, `stuck_steps`, `lookup_topic`, `registry`, `redact`."
)


class ExtractorFilters(PageParameters):
    """What a list of extractors can be filtered by."""

    cluster = serializers.CharField(required=False, max_length=63, help_text=_ALIAS)


class ExtractorSerializer(serializers.ModelSerializer[StoredExtractor]):
    """An extractor of a cluster."""

    cluster = serializers.CharField(source="cluster.alias")
    definition = serializers.DictField(help_text=_DEFINITION)

    class Meta:
        model = StoredExtractor
        fields = ("id", "cluster", "name", "definition", "created_at", "changed_at", "changed_by")
        read_only_fields = fields


class ChangedExtractorSerializer(BodySerializer):
    """Name and definition of an extractor, which replace those before."""

    shown_by: ClassVar = ExtractorSerializer

    name = serializers.CharField(max_length=100)
    definition = serializers.DictField(help_text=_DEFINITION)


class NewExtractorSerializer(ChangedExtractorSerializer):
    """An extractor to create."""

    cluster = serializers.CharField(max_length=63, help_text=_ALIAS)


class TrialQuery(BodySerializer):
    """A definition to try on the newest records of a topic."""

    cluster = serializers.CharField(max_length=63, help_text=_ALIAS)
    topic = serializers.CharField(max_length=249)
    definition = serializers.DictField(
        required=False, default=dict, help_text=f"{_DEFINITION} Without it: samples and presets."
    )


class RecordQuery(BodySerializer):
    """The place of a record; shown by the rules of the extractor (or preset) of this name."""

    cluster = serializers.CharField(max_length=63, help_text=_ALIAS)
    extractor = serializers.CharField(max_length=100)
    topic = serializers.CharField(max_length=249)
    partition = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    offset = serializers.IntegerField(min_value=0, max_value=2**63 - 1)


class HeaderSerializer(serializers.Serializer[Any]):
    """A header of a record; `value` null: it has none."""

    name = serializers.CharField(source="0")
    value = serializers.CharField(source="1", allow_null=True)


class SampleSerializer(serializers.Serializer[Any]):
    """A record: what was found by role, and its content without what is redacted; null: absent."""

    partition = serializers.IntegerField()
    offset = serializers.IntegerField()
    timestamp_ms = serializers.IntegerField(allow_null=True)
    values = serializers.DictField(help_text="A text, list of texts or number; times in Unix ms.")
    problems = serializers.DictField(child=serializers.CharField())
    key = serializers.CharField(allow_null=True)
    value = serializers.CharField(allow_null=True)
    headers = HeaderSerializer(many=True)


class ProblemSerializer(serializers.Serializer[Any]):
    """A problem of a role, and in how many records."""

    role = serializers.CharField(source="0")
    problem = serializers.CharField(source="1")
    records = serializers.IntegerField(source="2")


class MatchSerializer(serializers.Serializer[Any]):
    """A preset that fits some records: how many have what it looks for, by role."""

    preset = serializers.CharField()
    found = serializers.DictField(child=serializers.IntegerField())


class TrialSerializer(serializers.Serializer[Trial]):
    """What a definition finds in the newest records; `is_cut`: a limit ended reading before its end."""

    topic = serializers.CharField()
    is_cut = serializers.BooleanField()
    found = serializers.DictField(child=serializers.IntegerField(), help_text="Records by role.")
    problems = ProblemSerializer(many=True)
    headers = serializers.DictField(
        child=serializers.IntegerField(), help_text="Records by name of the header."
    )
    presets = MatchSerializer(many=True)
    samples = SampleSerializer(many=True)
