"""The parameters of a route: declared, described in the schema, and nothing else is accepted."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from console.frame.pages.timerange import DEFAULT_RANGE, MOMENT_FORMS, RANGE_FORM, TimeRange

PAGE_SIZE = 50
LARGEST_PAGE = 500
_UNKNOWN = "This route has no such parameter."
_REPEATED = "Give this parameter once."


class Parameters(serializers.Serializer[Any]):
    """What a route may be asked; a route without parameters has this one.

    A text whose default is "" accepts "": generated clients send the defaults of the schema.
    """

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        declared = super().get_fields()
        for field in declared.values():
            if isinstance(field, serializers.CharField) and field.default == "":
                field.allow_blank = True
        return declared


class PageParameters(Parameters):
    """What every list may be asked."""

    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=LARGEST_PAGE,
        help_text=f"Rows per page; without it {PAGE_SIZE}.",
    )
    cursor = serializers.CharField(
        required=False,
        max_length=2000,
        help_text="Where a page begins: taken from `next` or `previous` of another page.",
    )


class TimeRangeParameters(Parameters):
    """Parameters of every series; reading them adds `time_range`."""

    range = serializers.CharField(
        required=False,
        max_length=64,
        help_text=f"The time up to now, as {RANGE_FORM}. Without it and `from` {DEFAULT_RANGE}.",
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `from` and `to`: one of them is a word of Python."""
        moments = {
            "from": "Begin of an absolute range; without it one hour before `to`.",
            "to": "End of an absolute range; without it now.",
        }
        added = {
            name: serializers.CharField(
                required=False, max_length=64, help_text=f"{text} {MOMENT_FORMS}."
            )
            for name, text in moments.items()
        }
        return {**super().get_fields(), **added}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Turn the three parameters into one `time_range`."""
        time_range = TimeRange.from_query(attrs, timezone.now())
        if time_range.problem:
            raise serializers.ValidationError({_field_of(time_range.problem): time_range.problem})
        rest = {name: value for name, value in attrs.items() if name not in {"range", "from", "to"}}
        return {**rest, "time_range": time_range}


class OptionalTimeRange(TimeRangeParameters):
    """The same, only where a time range is given: without one the whole history counts."""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Add `time_range` where one of the three parameters is given."""
        is_timed = any(name in attrs for name in ("range", "from", "to"))
        return super().validate(attrs) if is_timed else attrs


def read_parameters(request: Request, kind: type[Parameters]) -> dict[str, Any]:
    """Return the validated parameters of a request; raises `ValidationError` naming every bad one."""
    given = request.query_params
    asked = kind(data=given.dict())
    errors: dict[str, Any] = {}
    for name in given:
        if name not in asked.fields:
            errors[name] = [_UNKNOWN]
        elif len(given.getlist(name)) > 1:
            errors[name] = [_REPEATED]
    if not asked.is_valid():
        errors = {**asked.errors, **errors}
    if errors:
        raise serializers.ValidationError(errors)
    return dict(asked.validated_data)


def _field_of(problem: str) -> str:
    """Return the parameter that a problem of a time range names first (`from='x' is not a time`)."""
    name = problem.partition("=")[0]
    return name if name in {"from", "to"} else "range"
