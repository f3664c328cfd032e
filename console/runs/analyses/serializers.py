"""Shapes of analyses and results in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.frame.rest.parameters import LARGEST_PAGE, PAGE_SIZE, Parameters
from console.frame.rest.serializers import BodySerializer
from jobs.spark.analyses.analysis import ArgumentType, ColumnType
from jobs.spark.analyses.kinds import QUESTIONS

KIND_CHOICES = [(kind, one.question) for kind, one in QUESTIONS.items()]
LARGEST_OFFSET = 2**53
LONGEST_ARGUMENTS = 50


@extend_schema_field(serializers.ChoiceField(choices=KIND_CHOICES))
class KindField(serializers.CharField):
    """A kind of analysis, for the schema an enumeration."""


class AskSerializer(BodySerializer):
    """A kind of analysis and its arguments, see `kinds`."""

    kind = KindField(
        max_length=40, help_text="`GET /api/v1/runs/kinds/` lists the arguments of each."
    )
    arguments = serializers.DictField(
        required=False, default=dict, help_text="By name; others have their defaults."
    )

    def validate_arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """Refuse unknown arguments."""
        if len(given) > LONGEST_ARGUMENTS:
            raise serializers.ValidationError(f"At most {LONGEST_ARGUMENTS} arguments.")
        return given


@extend_schema_field(OpenApiTypes.BINARY)
class ListFileField(serializers.FileField):
    """A file that comes in; the schema would say an address, as for files that go out."""


class FileSerializer(serializers.Serializer[Any]):
    """A list to keep."""

    file = ListFileField(help_text="CSV in UTF-8 or Parquet; at most ANALYSIS_UPLOAD_MB.")


class UploadSerializer(serializers.Serializer[Any]):
    """A list that is kept."""

    name = serializers.CharField(help_text="The value of an argument of the type file.")
    bytes = serializers.IntegerField()
    kept_until = serializers.DateTimeField(help_text="Unless it is used before.")


@extend_schema_field({"type": ["string", "integer", "null"]})
class DefaultField(serializers.JSONField):
    """Default of an argument."""


class ArgumentSerializer(serializers.Serializer[Any]):
    """An argument: a log or cluster is written by its alias, a flow by its name, a moment in ISO 8601, a
    file by the `name` that `POST /api/v1/runs/files/` answers.
    """

    name = serializers.CharField()
    type = serializers.ChoiceField(choices=[one.value for one in ArgumentType])
    label = serializers.CharField()  # type: ignore[assignment]  # a field of that name, not the attribute
    help = serializers.CharField()
    is_required = serializers.BooleanField()
    default = DefaultField()
    least = serializers.IntegerField(allow_null=True)
    most = serializers.IntegerField(allow_null=True)
    choices = serializers.ListField(child=serializers.CharField())
    admin_choices = serializers.ListField(
        child=serializers.CharField(),
        help_text="Choices that need the role admin: their results contain content of records.",
    )


class ColumnSerializer(serializers.Serializer[Any]):
    """A column of a table."""

    name = serializers.CharField()
    title = serializers.CharField()
    type = serializers.ChoiceField(choices=[one.value for one in ColumnType])
    definition = serializers.CharField()


class TableSerializer(serializers.Serializer[Any]):
    """A table of a result."""

    name = serializers.CharField()
    title = serializers.CharField()
    columns = ColumnSerializer(many=True)


class KindSerializer(serializers.Serializer[Any]):
    """A kind of analysis."""

    kind = serializers.CharField()
    title = serializers.CharField()
    question = serializers.CharField()
    definition = serializers.CharField()
    keep_days = serializers.IntegerField(help_text="Days that results are kept.")
    arguments = ArgumentSerializer(many=True)
    tables = TableSerializer(many=True)


class RowsQuery(Parameters):
    """Range of rows."""

    offset = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=LARGEST_OFFSET, help_text="Rows to skip."
    )
    limit = serializers.IntegerField(
        required=False,
        default=PAGE_SIZE,
        min_value=1,
        max_value=LARGEST_PAGE,
        help_text="Rows at most.",
    )


class RowsSerializer(TableSerializer):
    """Rows of a table; `total` is how many it has, a moment is ISO 8601 in UTC."""

    total = serializers.IntegerField()
    offset = serializers.IntegerField()
    rows = serializers.ListField(child=serializers.DictField())


class ResultSerializer(serializers.Serializer[Any]):
    """The result document of an analysis; each table has its first rows as `preview`."""

    kind = serializers.CharField()
    question = serializers.CharField()
    definition = serializers.CharField()
    arguments = serializers.DictField()
    facts = serializers.DictField()
    notes = serializers.ListField(child=serializers.CharField(), help_text="Limits of the result.")
    seconds = serializers.FloatField()
    tables = serializers.ListField(child=serializers.DictField())
