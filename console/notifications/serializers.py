"""Notification channels and routes as the API shows and reads them."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers

from console.delivery.destinations import LONGEST, MOST
from console.findings.models import SEVERITIES
from console.frame.rest.serializers import AliasField, BodySerializer
from console.notifications import queries
from console.notifications.models import (
    KINDS,
    LONGEST_NAME,
    NotificationChannel,
    NotificationRoute,
)


class NotificationChannelSerializer(
    BodySerializer, serializers.ModelSerializer[NotificationChannel]
):
    """A channel; its secrets are written and never shown."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    kind = serializers.ChoiceField(choices=KINDS)
    address = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MOST * LONGEST,
        help_text="email: one per line; opsgenie: us or eu; telegram: chat id; else what is shown of a URL.",
    )
    secrets = serializers.DictField(
        child=serializers.CharField(allow_blank=True, allow_null=True, max_length=LONGEST),
        write_only=True,
        required=False,
        help_text="`url`, `key`, `token` by kind. Null or empty removes one; one that is not named stays.",
    )
    secrets_set = serializers.SerializerMethodField(help_text="Names of the secrets that are set.")
    changed_by = serializers.CharField(source="changed_by.username", default=None, read_only=True)

    class Meta:
        model = NotificationChannel
        exclude: ClassVar[tuple[str, ...]] = ("sealed",)
        read_only_fields = ("changed_at",)

    def get_secrets_set(self, row: NotificationChannel) -> list[str]:
        return sorted(queries.secrets_of(row))


class ChangedNotificationChannelSerializer(NotificationChannelSerializer):
    """Changed fields of a channel; other fields stay."""

    shown_by = NotificationChannelSerializer
    kind = None  # type: ignore[assignment]  # DRF leaves this field out

    class Meta(NotificationChannelSerializer.Meta):
        exclude = ("sealed", "kind")


class KeysField(serializers.ListField):
    """The keys of the channels of a route."""

    def get_attribute(self, instance: Any) -> list[int]:
        return [one.pk for one in instance.channels.all()]


class NotificationRouteSerializer(BodySerializer, serializers.ModelSerializer[NotificationRoute]):
    """Which incidents are sent to which channels; `subject_pattern` is a glob."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    severity = serializers.ChoiceField(choices=SEVERITIES, help_text="The least one.")
    checks = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Ids or globs; empty for all."
    )
    cluster = AliasField()
    days = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=6),
        max_length=7,
        allow_empty=False,
        required=False,
        help_text="0 is Monday.",
    )
    channels = KeysField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), max_length=200
    )
    wait_s = serializers.IntegerField(required=False)
    repeat_s = serializers.IntegerField(required=False, help_text="0: it is not repeated.")
    changed_by = serializers.CharField(source="changed_by.username", default=None, read_only=True)

    class Meta:
        model = NotificationRoute
        fields = "__all__"
        read_only_fields = ("changed_at",)
