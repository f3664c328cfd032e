"""Labels of metadata kinds and values, and definitions of the numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.db import models

from jobs.numbers import DASH

LAG_MS = "Time since this replica had all records of the leader, by the leader's clock."
HIGH_WATERMARK = "Records below this offset are on a majority of the voters: they are committed."
EPOCH = "Grows by one with each election, also when no candidate wins it."
GAP = (
    "Time without a record before this one. An active controller writes one at least every 500 ms, so this "
    "is about the time without a controller. The clocks of two controllers are compared."
)
COMMITTED = (
    "A voter set is in effect when the leader appends it, and is committed when the high watermark passes "
    "it."
)
CAUSE = (
    "From the other records of the same batch: a fenced broker, a shutdown, a reassignment. "
    "An ISR change alone comes from the leader: a follower fell behind, or caught up."
)
AT = (
    "When the active controller created the batch, by its clock. All records of a batch have the same time; "
    "it may jump where the leader changed. The order is by offset."
)


def told(value: Any) -> str:
    """Return one value as text: ids with blanks, yes and no, JSON for what is nested."""
    if value is None or value == "":
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(one, str | int) for one in value):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return str(value)


def told_changes(changes: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return (field, before, after) of stored changes, as text."""
    return [(field(name), told(before), told(after)) for name, (before, after) in changes.items()]


def field(name: str) -> str:
    """Return a field's name for people; Kafka's own words stay."""
    return _FIELDS.get(name, name.replace("_", " "))


_FIELDS = {"isr": "ISR", "elr": "ELR", "last_known_elr": "last known ELR"}


class Kind(models.TextChoices):
    """What a change is about: the words of `jobs.quorum.history.changes.ChangeKind`."""

    PARTITION = "partition", "Partition"
    TOPIC = "topic", "Topic"
    BROKER = "broker", "Broker"
    CONTROLLER = "controller", "Controller"
    CONFIG = "config", "Config"
    FEATURE = "feature", "Feature"
    QUOTA = "quota", "Quota"
    ACL = "acl", "ACL"
    PRODUCER_IDS = "producer_ids", "Producer IDs"
    SCRAM = "scram", "SCRAM credential"
    DELEGATION_TOKEN = "delegation_token", "Delegation token"
    ANOMALY = "anomaly", "Anomaly"

    @property
    def plural(self) -> str:
        return self.label if self.label.endswith("s") else f"{self.label}s"


# A subject of these kinds can be removed and created again under the same key.
RETURNING = frozenset(set(Kind.values) - {Kind.PARTITION, Kind.TOPIC})
