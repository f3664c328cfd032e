"""The shape of an application's balance in the API: fields are those of the dataclasses."""

from __future__ import annotations

from typing import Any, ClassVar, get_args, get_type_hints

from rest_framework import serializers

from console.streams.serializers import StreamsPlace
from jobs.streams.balance.advice import Advice
from jobs.streams.balance.load import (
    BY_BYTES,
    BY_RATE,
    Balance,
    Load,
    Spread,
    SubtopologyLoad,
    TaskLoad,
)


class StreamsBalancePlace(StreamsPlace):
    """Of which cluster an application is, and which tasks are the largest."""

    order = serializers.ChoiceField(
        required=False, default=BY_BYTES, choices=[BY_BYTES, BY_RATE], help_text="Largest tasks by."
    )


class _PlainSerializer(serializers.Serializer[Any]):
    """The fields of a dataclass; null where it has None."""

    of: ClassVar[type]

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        hints = get_type_hints(self.of)
        return {name: _field(hint) for name, hint in hints.items()} | super().get_fields()


def _field(hint: Any) -> serializers.Field[Any, Any, Any, Any]:
    parts = get_args(hint)
    if parts == (str, ...):
        return serializers.ListField(child=serializers.CharField())
    kind = _KINDS[parts[0] if parts else hint]
    found: serializers.Field[Any, Any, Any, Any] = (
        kind(many=True) if ... in parts else kind(allow_null=type(None) in parts)
    )
    return found


class TaskLoadSerializer(_PlainSerializer):
    """What a task takes; `copies` are process ids."""

    of = TaskLoad


class LoadSerializer(_PlainSerializer):
    """What an instance or a thread has; sums are of the tasks that have a number."""

    of = Load


class SpreadSerializer(_PlainSerializer):
    """How uneven the tasks of a subtopology are, and the largest."""

    of = Spread


class SubtopologyLoadSerializer(_PlainSerializer):
    """A subtopology with the spread of state and of records/s."""

    of = SubtopologyLoad


class AdviceSerializer(_PlainSerializer):
    """What is uneven, why it counts, what to do."""

    of = Advice


class BalanceSerializer(_PlainSerializer):
    """How the load is spread; `tasks` are the largest 100 of `task_count`."""

    of = Balance
    task_count = serializers.IntegerField()
    advice = AdviceSerializer(many=True)


_KINDS: dict[Any, Any] = {
    TaskLoad: TaskLoadSerializer,
    Load: LoadSerializer,
    Spread: SpreadSerializer,
    SubtopologyLoad: SubtopologyLoadSerializer,
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
}
