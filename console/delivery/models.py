"""The outbox: one row per message and address."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Q

from console.frame.security import masking


class Channel(models.TextChoices):
    """How something is delivered."""

    EMAIL = "email", "E-mail"
    FOLDER = "folder", "Folder"
    WEBHOOK = "webhook", "Webhook"
    ALERTMANAGER = "alertmanager", "Alertmanager webhook"
    SLACK = "slack", "Slack"
    TEAMS = "teams", "Microsoft Teams"
    PAGERDUTY = "pagerduty", "PagerDuty"
    OPSGENIE = "opsgenie", "Opsgenie"
    TELEGRAM = "telegram", "Telegram"


# Where reports are sent.
OF_REPORTS = [(one.value, one.label) for one in (Channel.EMAIL, Channel.FOLDER, Channel.WEBHOOK)]


class DeliveryState(models.TextChoices):
    """REFUSED: the receiver said no for good. GAVE_UP: it was tried for too long."""

    PENDING = "pending", "Pending"
    DELIVERED = "delivered", "Delivered"
    REFUSED = "refused", "Refused"
    GAVE_UP = "gave_up", "Gave up"


NOT_DELIVERED = (DeliveryState.REFUSED, DeliveryState.GAVE_UP)


def shown_address(channel: str, address: str) -> str:
    """Return an address as it is shown: of a webhook the host and a mark, its path may be a secret."""
    return masking.shown_address(address) if channel == Channel.WEBHOOK else address


class Delivery(models.Model):
    """A message on its way to one address, written in the transaction of what it is about.

    `source` names the room that sends it (`outbox.SOURCES`), `subject` is its title for people. Of a report
    `run` is set. Of a notification `content` is the message, `sender` its channel, and `address` is what is
    shown of where it goes. `key` is the same for one event and address: it is written once, and a receiver
    recognises a second copy by it. `log` is what happened, newest last: {"at", "outcome", "sentence"}.
    `next_at` is when it is tried next, null when it is over. `tried_since` is when a person asked for it
    again, null: since `created_at`. `message_id` is that of the e-mail, so that a bounce finds it.
    """

    source = models.CharField(max_length=20, default="report")
    subject = models.CharField(max_length=300, blank=True)
    key = models.CharField(max_length=200, null=True, blank=True, unique=True)
    run: models.ForeignKey[Any, Any] = models.ForeignKey(
        "reports.ReportRun", models.CASCADE, null=True, blank=True, related_name="deliveries"
    )
    sender: models.ForeignKey[Any, Any] = models.ForeignKey(
        "notifications.NotificationChannel",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="deliveries",
    )
    content = models.JSONField(default=dict, blank=True)
    channel = models.CharField(max_length=12, choices=Channel)
    address = models.CharField(max_length=500)
    state = models.CharField(max_length=10, choices=DeliveryState, default=DeliveryState.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    next_at = models.DateTimeField(null=True, blank=True, db_index=True)
    delivered_at = models.DateTimeField(null=True, blank=True)
    claimed_until: models.DateTimeField[datetime | None, datetime | None] = models.DateTimeField(
        null=True, blank=True
    )
    tried_since: models.DateTimeField[datetime | None, datetime | None] = models.DateTimeField(
        null=True, blank=True
    )
    message_id = models.CharField(max_length=400, blank=True, default="", db_index=True)
    log = models.JSONField(default=list)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "channel", "address"], name="one_delivery_per_address"
            )
        ]

    def __str__(self) -> str:
        return f"{self.channel} {self.shown_address} ({self.state})"

    @classmethod
    def visible_to(cls, user: Any) -> Q:
        """Return the condition of the deliveries that a person without a role everywhere sees."""
        runs = cls._meta.get_field("run").related_model
        return Q(run__in=runs._default_manager.filter(runs.visible_to(user)).values("pk"))  # type: ignore[union-attr]  # a model

    @property
    def shown_address(self) -> str:
        """The address for pages and lists."""
        return shown_address(self.channel, self.address)

    @property
    def can_retry(self) -> bool:
        """Whether it is over and was not delivered."""
        return self.state in NOT_DELIVERED

    @property
    def sentence(self) -> str:
        """What happened last; empty before the first attempt."""
        return str(self.log[-1]["sentence"]) if self.log else ""
