"""What changes of a metadata log are about."""

from __future__ import annotations

from django.db import models


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
