"""The shape of an application's balance in the API: fields are those of the dataclasses."""

from __future__ import annotations

from rest_framework import serializers

from console.frame.rest.serializers import PlainSerializer
from console.streams.serializers import StreamsPlace
from jobs.streams.balance.advice import Advice
from jobs.streams.balance.load import RATE, STATE, Balance, Load, Spread, TaskLoad


class StreamsBalancePlace(StreamsPlace):
    """Of which cluster an application is, and which tasks are the largest."""

    order = serializers.ChoiceField(
        required=False, default=STATE, choices=[STATE, RATE], help_text="The largest tasks by this."
    )


class TaskLoadSerializer(PlainSerializer):
    """What a task takes; `copies` are process ids."""

    of = TaskLoad


class LoadSerializer(PlainSerializer):
    """What an instance or a thread has; sums are of the tasks that have a number."""

    of = Load


class SpreadSerializer(PlainSerializer):
    """How uneven the tasks of a subtopology are by state or rate, and the largest."""

    of = Spread


class AdviceSerializer(PlainSerializer):
    """What is uneven, why it counts, what to do."""

    of = Advice


class BalanceSerializer(PlainSerializer):
    """How the load is spread; `tasks` are the largest 100 of `task_count`."""

    of = Balance
    task_count = serializers.IntegerField()
    advice = AdviceSerializer(many=True)
