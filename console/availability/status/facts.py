"""Availability of a cluster in one status, and the tiles of the overview and of a partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from console.availability.status import definitions
from console.availability.status.models import PartitionStatus, Rollup
from console.clusters.counted import COUNTED, COUNTED_AS, UNKNOWN, UNSURE, beside
from console.clusters.models import Cluster
from console.frame.pages.freshness import Freshness
from console.frame.pages.states import severity_of, spoken
from jobs.availability.status.severity import OF_BROKERS, Counted, Severity
from jobs.availability.status.tally import STATE_COUNTS
from jobs.numbers import DASH, format_age, format_count, format_span_s
from jobs.severity import Severity as Look


@dataclass(frozen=True, slots=True)
class Answer:
    """Availability of a cluster: severity, status text, reason."""

    look: Look
    word: str
    why: str = ""


def answer_of(counts: Rollup | None, freshness: Freshness) -> Answer:
    """Return the availability of a cluster: the worst state of any partition."""
    if counts is None or freshness.succeeded_at is None:
        return Answer(Look.UNKNOWN, "Unknown", freshness.error or "Not collected yet.")
    if counts.offline:
        why = f"{_partitions(counts.offline)} without a leader."
        return Answer(Look.CRITICAL, "Partitions offline", why)
    if counts.state_under_min_isr:
        why = f"{_partitions(counts.state_under_min_isr)}: writes with acks=all are refused."
        return Answer(Look.CRITICAL, "Partitions under min ISR", why)
    if counts.state_at_min_isr:
        why = f"{_partitions(counts.state_at_min_isr)}: the next replica failure stops writes with acks=all."
        return Answer(Look.WARNING, "Partitions at min ISR", why)
    if counts.state_under_replicated:
        why = f"{_partitions(counts.state_under_replicated)} with a replica out of sync."
        return Answer(Look.WARNING, "Partitions under-replicated", why)
    return _of_good(counts, freshness)


def _of_good(counts: Rollup, freshness: Freshness) -> Answer:
    """Return the availability where no partition is unhealthy; old data are not judged."""
    if counts.unsure:
        why = f"{_partitions(counts.unsure)}: {UNSURE[0].lower()}{UNSURE[1:]}"
        is_yes = not _not_known_writable(counts)
        return Answer(Look.UNKNOWN, "Replica state unknown" if is_yes else "Unknown", why)
    now = timezone.now()
    if freshness.succeeded_at is not None and freshness.is_stale(now):
        age = format_age(freshness.succeeded_at, now)
        return Answer(
            Look.UNKNOWN,
            "Unknown",
            f"All replicas were in sync {age}; no collection succeeded since.",
        )
    return Answer(Look.HEALTHY, "All partitions writable", "All replicas are in sync.")


def _not_known_writable(counts: Rollup) -> int:
    """Return the maximum number of partitions of which it is unknown whether they accept acks=all writes."""
    return min(counts.unsure, counts.rf_below_min)


def with_answers(rows: Sequence[Any]) -> Sequence[Any]:
    """Set `answer`, `freshness` and `method` of clusters of `queries.list_clusters`; no query."""
    from console.availability.status import queries

    for row in rows:
        row.freshness = queries.freshness_of(row)
        row.method = queries.method_of(queries.round_of(row))
        row.answer = answer_of(_counted(row), row.freshness)
    return rows


def _counted(row: Any) -> Rollup | None:
    if row.partitions_count is None:
        return None
    names = (*STATE_COUNTS.values(), "unsure", "rf_below_min")
    return Rollup(**{name: getattr(row, f"{name}_count") for name in names})


def overview_facts(
    cluster: Cluster, counts: Rollup, oldest: datetime | None, unclean: int, label: str
) -> list[dict[str, Any]]:
    """Return Kafka's partition counts, each with a link to its partitions; `label` names the time range."""
    facts = [_count(cluster, counts, one) for one in COUNTED_AS]
    since = "" if oldest is None else f"oldest {format_age(oldest, timezone.now())}"
    note = since or "all replicas in sync"
    facts.append(
        {
            "label": "Replicas out of sync",
            "value": format_count(counts.out_of_sync),
            "note": note if counts.partitions else "",
            "definition": definitions.OUT_OF_SYNC,
            "href": _list(cluster, severity="wrong") if counts.out_of_sync else "",
        }
    )
    if unclean:
        facts.append(_unclean(unclean, label))
    if counts.rf_below_min:
        facts.append(_below(cluster, counts))
    if counts.unsure:
        facts.append(_unsure(cluster, counts))
    return [*facts, _all(cluster, counts)]


_NOTES = {
    Counted.OFFLINE: "no leader",
    Counted.UNDER_MIN_ISR: "by the configured value",
    Counted.AT_MIN_ISR: "by the configured value",
    Counted.UNDER_REPLICATED: "ISR smaller than replicas",
}


def _count(cluster: Cluster, counts: Rollup, counted: Counted) -> dict[str, Any]:
    count = getattr(counts, counted.value)
    # Partitions at min ISR that have all their replicas are in Kafka's count, and healthy.
    is_bad = {
        Counted.AT_MIN_ISR: counts.state_at_min_isr,
        Counted.UNDER_MIN_ISR: counts.offline + counts.state_under_min_isr,
    }.get(counted, count)
    by_brokers = getattr(counts, OF_BROKERS[counted]) if counted in OF_BROKERS else None
    fact = {
        "label": COUNTED_AS[counted],
        "value": format_count(count),
        "note": beside(count, by_brokers) or _NOTES[counted],
        "definition": COUNTED[counted],
        "href": _list(cluster, counted_as=counted.value),
    }
    return fact | ({"severity": severity_of(counted.value)} if is_bad else {})


def _unclean(count: int, label: str) -> dict[str, Any]:
    return {
        "label": "Unclean elections",
        "value": format_count(count),
        "note": label,
        "definition": definitions.UNCLEAN,
        "severity": "critical",
        "href": "#events-title",
    }


def _below(cluster: Cluster, counts: Rollup) -> dict[str, Any]:
    return {
        "label": "RF < min ISR",
        "value": format_count(counts.rf_below_min),
        "note": "RF < min.insync.replicas",
        "definition": definitions.RF_BELOW_MIN,
        "severity": "warning",
        "href": _list(cluster, severity="rf_below_min"),
    }


def _unsure(cluster: Cluster, counts: Rollup) -> dict[str, Any]:
    return {
        "label": "Unknown",
        "value": format_count(counts.unsure),
        "note": "under-replicated or being reassigned; before Kafka 3.7 also: writes refused",
        "definition": UNSURE,
        "href": _list(cluster, severity=UNKNOWN),
    }


def _all(cluster: Cluster, counts: Rollup) -> dict[str, Any]:
    share = counts.partitions - counts.offline - counts.state_under_min_isr
    share -= _not_known_writable(counts)
    return {
        "label": "Partitions",
        "value": format_count(counts.partitions),
        "note": f"{format_count(share)} writable",
        "definition": "All partitions. Writable: a leader, and at least min.insync.replicas in the ISR.",
        "href": _list(cluster),
    }


def partition_facts(row: PartitionStatus, leaderless_s: float, label: str) -> list[dict[str, Any]]:
    word = Severity(row.severity).word
    observers = f", observers {_ids(row.observers)}" if row.observers else ""
    return [
        {
            "label": "State",
            "value": "Unknown" if row.is_unsure else spoken(word) if row.severity else "Healthy",
            "severity": "" if row.is_unsure else severity_of(word),
            "note": f"since {format_age(row.since, timezone.now())}",
            "definition": definitions.SEVERITY,
        },
        {
            "label": "Leader",
            "value": format_count(row.leader),
            "note": "no leader"
            if row.leader is None
            else f"epoch {format_count(row.leader_epoch)}",
            "definition": "The broker that serves reads and writes.",
            **({"severity": "critical"} if row.leader is None else {}),
        },
        {
            "label": "In sync",
            "value": f"{len(row.isr)} of {len(row.replicas)}",
            "note": f"ISR {_ids(row.isr)}{observers}",
            "definition": definitions.OUT_OF_SYNC,
        },
        {
            "label": "Min ISR",
            "value": format_count(row.min_insync_replicas),
            "note": f"{origin_words(row.min_isr_origin)}{_spare(row.spare)}",
            "definition": f"{definitions.MIN_ISR} {definitions.SPARE}",
            **({"severity": "critical"} if (row.spare or 0) < 0 else {}),
        },
        {
            "label": "ELR",
            "value": DASH if row.elr is None else _ids(row.elr),
            "note": "not reported by polling" if row.elr is None else _last_known(row),
            "definition": definitions.ELR,
        },
        {
            "label": "Leaderless time",
            "value": format_span_s(leaderless_s),
            "note": label,
            "definition": "Time without a leader in the time range.",
        },
    ]


_ORIGINS = {
    "topic": "set on the topic",
    "broker": "set on a broker",
    "cluster": "the cluster's default",
    "static": "server.properties",
    "kafka": "Kafka's default",
    "unknown": "source unknown",
}


def origin_words(origin: str) -> str:
    """Return the source of min.insync.replicas as text."""
    return _ORIGINS.get(origin, origin)


def _spare(spare: int | None) -> str:
    if spare is None:
        return ""
    return f", {spare} failures tolerated" if spare >= 0 else f", {-spare} missing"


def _last_known(row: PartitionStatus) -> str:
    return f"last known {_ids(row.last_known_elr)}" if row.last_known_elr else "eligible to lead"


def _ids(ids: Sequence[int] | None) -> str:
    return " ".join(map(str, ids or ())) or "none"


def _partitions(count: int) -> str:
    return f"{format_count(count)} partition{'' if count == 1 else 's'}"


def _list(cluster: Cluster, **filters: str) -> str:
    path = reverse("availability:partitions", args=[cluster.alias])
    return f"{path}?{urlencode(filters)}" if filters else path
