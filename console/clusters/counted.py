"""Kafka's counts of partitions on pages and in the API: names, definitions, and how to narrow down to one."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet

from console.frame.tables.table import Choice
from jobs.availability.status.severity import Counted

COUNTED_AS = {
    Counted.OFFLINE: "Offline",
    Counted.UNDER_MIN_ISR: "Under min ISR",
    Counted.AT_MIN_ISR: "At min ISR",
    Counted.UNDER_REPLICATED: "Under-replicated",
}
_OVERLAP = "Kafka's count: a partition can be in several."
COUNTED = {
    Counted.OFFLINE: "Partitions without a leader.",
    Counted.UNDER_MIN_ISR: (
        "Partitions without a leader or with fewer in-sync replicas than min.insync.replicas: writes with "
        f"acks=all are refused. {_OVERLAP}"
    ),
    Counted.AT_MIN_ISR: (
        "Partitions with exactly min.insync.replicas in sync, also when no replica is missing (such as all "
        f"with one replica). {_OVERLAP}"
    ),
    Counted.UNDER_REPLICATED: (
        "Partitions with fewer in-sync replicas than replicas, however many are left, observers included. "
        f"{_OVERLAP}"
    ),
}


def in_count(word: str) -> Q:
    """Return the condition that a partition is in one of Kafka's counts."""
    return Q(counted_text__contains=f"|{word}|")


def _narrow(rows: QuerySet[Any], word: str) -> QuerySet[Any]:
    return rows.filter(in_count(word)) if word in COUNTED_AS else rows.none()


COUNTED_FILTER = Choice(
    "Counted as", [(one.value, name) for one, name in COUNTED_AS.items()], _narrow
)
