"""The shapes that every room's API shares."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from console.frame.pages.freshness import Freshness


class ErrorSerializer(serializers.Serializer[Any]):
    """The one shape of errors: `code` for programs, `detail` for people, sentences per field."""

    code = serializers.CharField()
    detail = serializers.CharField()
    fields = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))  # type: ignore[assignment]  # the metaclass takes it before it can hide Serializer.fields


class FreshnessSerializer(serializers.Serializer[Freshness]):
    """How old the rows of one noun are, and why they are not newer."""

    noun = serializers.CharField()
    succeeded_at = serializers.DateTimeField(allow_null=True)
    failing_since = serializers.DateTimeField(allow_null=True)
    error = serializers.CharField()
    hint = serializers.CharField()
    duration_ms = serializers.IntegerField(allow_null=True)
    is_stale = serializers.SerializerMethodField(
        help_text="Too old to act on: rounds fail, never succeeded, or come later than they should."
    )

    def get_is_stale(self, entry: Freshness) -> bool:
        """Return whether the rows are too old to act on."""
        return entry.is_stale(timezone.now())
