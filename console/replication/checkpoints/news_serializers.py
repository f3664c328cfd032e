"""The shapes of what a run tells of the checkpoints that it writes, in the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class GroupSyncSerializer(serializers.Serializer[Any]):
    """The last time groups of the target were set: `moved_back` are offsets that followed a group back.

    `active` groups were in use and left alone; `ahead` are sentences about groups that were used on the
    target, or set by hand, and `ahead_groups` their names.
    """

    at_ms = serializers.IntegerField()
    groups = serializers.IntegerField()
    active = serializers.IntegerField()
    written = serializers.IntegerField()
    written_total = serializers.IntegerField()
    moved_back = serializers.IntegerField()
    errors = serializers.DictField(child=serializers.CharField())  # type: ignore[assignment]  # the metaclass takes it before it can hide Serializer.errors
    ahead = serializers.ListField(child=serializers.CharField())
    ahead_groups = serializers.ListField(child=serializers.CharField(), required=False)


class CheckpointWritingSerializer(serializers.Serializer[Any]):
    """The rounds of a run: checkpoints that stand, how many are exact, and what has none, by reason.

    `at_ms` is when groups were last asked; null: never. `fault` is why the last round failed. `corrected`
    counts wrong checkpoints of an earlier version or of MirrorMaker 2 that the run's first round replaced.
    """

    at_ms = serializers.IntegerField(allow_null=True)
    groups = serializers.IntegerField()
    told = serializers.IntegerField()
    exact = serializers.IntegerField()
    written = serializers.IntegerField()
    written_total = serializers.IntegerField()
    corrected = serializers.IntegerField(default=0)
    without = serializers.DictField(child=serializers.IntegerField())
    stale_groups = serializers.IntegerField()
    errors = serializers.DictField(child=serializers.CharField())  # type: ignore[assignment]  # the metaclass takes it before it can hide Serializer.errors
    findings = serializers.ListField(child=serializers.CharField())
    fault = serializers.CharField()
    group_sync = GroupSyncSerializer(allow_null=True)
