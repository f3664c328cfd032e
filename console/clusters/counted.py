"""Kafka's counts of partitions on pages and in the API: names, definitions, and how to narrow down to one."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet

from console.frame.tables.columns import Choice
from jobs.availability.status.severity import BEFORE_LIMIT, Counted, Severity

COUNTED_AS = {
    Counted.OFFLINE: "Offline",
    Counted.UNDER_MIN_ISR: "Under min ISR",
    Counted.AT_MIN_ISR: "At min ISR",
    Counted.UNDER_REPLICATED: "Under-replicated",
}
_OF_BROKERS = {
    Counted.BROKER_UNDER_MIN_ISR: "Under min ISR (brokers)",
    Counted.BROKER_AT_MIN_ISR: "At min ISR (brokers)",
}
# In place of a severity: what `severity.Standing.is_unsure` says.
UNKNOWN = "unknown"
UNSURE = (
    "Unknown: under-replicated, or being reassigned. "
    "Listing reassignments needs DESCRIBE on the cluster. Or min.insync.replicas exceeds the number of "
    f"replicas: unknown, {BEFORE_LIMIT}."
)
_UNSURE = Q(is_unsure=True)
_OVERLAP = "As kafka-topics.sh counts: a partition can be in several counts."
_AS_SET = (
    "min.insync.replicas as it is set; the brokers' metrics compare with the number of replicas where that "
    "is smaller, so that their number is beside it where it differs"
)
COUNTED = {
    Counted.OFFLINE: "Partitions without a leader.",
    Counted.UNDER_MIN_ISR: (
        f"Partitions without a leader or with fewer in-sync replicas than {_AS_SET}. Writes with acks=all "
        f"are refused where a broker counts them. {_OVERLAP}"
    ),
    Counted.AT_MIN_ISR: (
        f"Partitions with as many in-sync replicas as {_AS_SET}. Fully replicated ones are counted, "
        f"too. {_OVERLAP}"
    ),
    Counted.UNDER_REPLICATED: (
        "Partitions with fewer in-sync replicas than replicas, however many are left, observers included; "
        f"replicas that a reassignment adds are not counted. {_OVERLAP}"
    ),
}


def in_count(word: str) -> Q:
    """Return the condition that a partition is in one of Kafka's counts."""
    return Q(counted_text__contains=f"|{word}|")


def on_step(word: str, unsure: Q = _UNSURE) -> Q:
    """Return the condition that a row is on a step of the ladder, or on none because that is not known."""
    if word == UNKNOWN:
        return Q(severity=Severity.OK) & unsure
    step = Severity[word.upper()]
    return Q(severity=step) & ~unsure if step is Severity.OK else Q(severity=step)


def beside(number: int | None, by_brokers: int | None) -> str:
    """Return what the brokers count where that differs from the tool's number, else nothing."""
    return "" if by_brokers in {None, number} else f"brokers count {by_brokers:,}"


def _narrow(rows: QuerySet[Any], word: str) -> QuerySet[Any]:
    return rows.filter(in_count(word)) if word in {*Counted} else rows.none()


COUNTED_FILTER = Choice(
    "Counted as",
    [(one.value, name) for one, name in (COUNTED_AS | _OF_BROKERS).items()],
    _narrow,
)
