"""The shape of an application's balance in the API: fields are those of the dataclasses."""

from __future__ import annotations

from typing import Any, ClassVar, get_args, get_type_hints

from rest_framework import serializers

from console.streams.serializers import StreamsPlace
from jobs.streams.balance.advice import Advice
from jobs.streams.balance.load import RATE, STATE, Balance, Load, Spread, TaskLoad


class StreamsBalancePlace(StreamsPlace):
    """Of which cluster an application is, and which tasks are the largest."""

    order = serializers.ChoiceField(
        required=False, default=STATE, choices=[STATE, RATE], help_text="The largest tasks by this."
    )


class _PlainSerializer(serializers.Serializer[Any]):
    """The fields of a dataclass, or tuples of them; null where it has None."""

    of: ClassVar[type]

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        hints = get_type_hints(self.of)
        return {name: _field(hint) for name, hint in hints.items()} | super().get_fields()


class TaskLoadSerializer(_PlainSerializer):
    """What a task takes; `copies` are process ids."""

    of = TaskLoad


class LoadSerializer(_PlainSerializer):
    """What an instance or a thread has; sums are of the tasks that have a number."""

    of = Load


class SpreadSerializer(_PlainSerializer):
    """How uneven the tasks of a subtopology are by state or rate, and the largest."""

    of = Spread


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
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
}


def _field(hint: Any) -> serializers.Field[Any, Any, Any, Any]:
    parts = get_args(hint)
    kind = _KINDS[parts[0] if parts else hint]
    if ... not in parts:
        return kind(allow_null=type(None) in parts)  # type: ignore[no-any-return]  # each is a field
    return serializers.ListField(child=kind())
