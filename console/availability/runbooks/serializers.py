"""The shapes of runbooks in the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from console.availability.promotion.serializers import CAUSES, TROUBLES
from console.clusters.models import TOPIC_NAME_LENGTH
from console.frame.rest.parameters import Parameters


class RunbookQuery(Parameters):
    """Which runbooks, and what is filled in."""

    cluster = serializers.CharField(max_length=63, help_text="Its alias.")
    severity = serializers.ChoiceField(
        choices=TROUBLES, required=False, help_text="How bad it is; all without it."
    )
    cause = serializers.ChoiceField(
        choices=CAUSES, required=False, help_text="Why; all without it."
    )
    topic = serializers.CharField(
        required=False, max_length=TOPIC_NAME_LENGTH, help_text="Its worst partition is filled in."
    )
    partition = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="This partition of the topic instead.",
    )
    broker = serializers.IntegerField(
        required=False, min_value=0, max_value=2**31 - 1, help_text="The broker that it is about."
    )
    applies = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Only those of the states and causes that partitions are in now, one for each.",
    )


class RunbookCheckSerializer(serializers.Serializer[Any]):
    """How to see that a step worked."""

    command = serializers.CharField()
    expect = serializers.CharField()
    page = serializers.CharField()


class RunbookStepSerializer(serializers.Serializer[Any]):
    """One step of a runbook."""

    number = serializers.IntegerField()
    sentence = serializers.CharField()
    command = serializers.CharField(allow_null=True)
    commands = serializers.ListField(child=serializers.CharField())
    check = RunbookCheckSerializer()
    is_dangerous = serializers.BooleanField()


class RunbookSerializer(serializers.Serializer[Any]):
    """The steps for one trouble with one cause."""

    severity = serializers.ChoiceField(choices=TROUBLES, source="trouble")
    cause = serializers.ChoiceField(choices=CAUSES)
    title = serializers.CharField()
    summary = serializers.CharField()
    steps = RunbookStepSerializer(many=True)
    prevent = serializers.CharField()
    topic = serializers.CharField(help_text="Filled in; empty: none is named.")
    partition = serializers.IntegerField(allow_null=True)
    applies = serializers.BooleanField(
        help_text="Whether the partition is in this state now, with this cause."
    )
    actual = serializers.CharField(
        help_text="The state that the partition is in instead; empty where it is this one, or without a "
        "partition."
    )
