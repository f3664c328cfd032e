"""Serializers of runbooks."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from console.availability.promotion.serializers import CAUSES, TROUBLES
from console.clusters.models import TOPIC_NAME_LENGTH
from console.frame.rest.parameters import Parameters


class RunbookQuery(Parameters):
    """Filters of runbooks, and the partition to fill in."""

    cluster = serializers.CharField(max_length=63, help_text="Its alias.")
    severity = serializers.ChoiceField(
        choices=TROUBLES, required=False, help_text="Severity; default: all."
    )
    cause = serializers.ChoiceField(
        choices=CAUSES, required=False, help_text="Cause; default: all."
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
        help_text="Only those for the current states and causes of partitions, one for each.",
    )


class RunbookCheckSerializer(serializers.Serializer[Any]):
    """The check of a step: command and expected result."""

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
    """The steps for one severity and cause."""

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
