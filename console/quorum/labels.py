"""How kinds and values of metadata are written for people, and what the numbers mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.db import models

from jobs.numbers import DASH

LAG_MS = "Time since this replica had all that the leader had, as the leader reckons it."
HIGH_WATERMARK = "Records below this offset are on a majority of the voters: they count."
EPOCH = "Grows by one with every election, also with those that nobody won."
GAP = (
    "How long no record was written before: an active controller writes at least every 500 ms, so this "
    "is about how long there was none. Clocks of two controllers are compared."
)
COMMITTED = (
    "A voter set counts for its leader from the moment it is appended, and is safe once the high "
    "watermark has passed it."
)
CAUSE = (
    "Told from the records beside it in the same batch: a fenced broker, a shutdown, a reassignment. "
    "A lone change of the ISR comes from the leader: a follower fell behind, or caught up."
)
AT = (
    "When the active controller began the batch, by its clock. All records of a batch have one time, "
    "and it may jump where the leader changed: the order is that of the offsets."
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
    CONFIG = "config", "Setting"
    FEATURE = "feature", "Feature"
    QUOTA = "quota", "Quota"
    ACL = "acl", "ACL"
    PRODUCER_IDS = "producer_ids", "Producer ids"
    SCRAM = "scram", "SCRAM credential"
    DELEGATION_TOKEN = "delegation_token", "Delegation token"
    ANOMALY = "anomaly", "Anomaly"

    @property
    def plural(self) -> str:
        """What several of them are called."""
        return self.label if self.label.endswith("s") else f"{self.label}s"


# A thing of these kinds can go and come back under the same key.
RETURNING = frozenset(set(Kind.values) - {Kind.PARTITION, Kind.TOPIC})
