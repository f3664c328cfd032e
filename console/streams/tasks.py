"""Rounds and upkeep of Kafka Streams."""

from __future__ import annotations

from console.frame.rounds import KINDS, Kind
from console.frame.tasks import PRUNES
from console.streams.collection import rows
from console.streams.collection.collect import APPLICATIONS, collect_applications

KINDS[APPLICATIONS.name] = Kind(APPLICATIONS.due, collect_applications, rounds=APPLICATIONS)
PRUNES["streams"] = rows.prune
