"""Tables of availability: columns, sort order, filters, help texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Q, QuerySet

from console.availability.status import definitions
from console.availability.status.definitions import cause_words
from console.availability.status.queries import with_replica
from console.clusters.counted import COUNTED, COUNTED_FILTER, UNKNOWN, UNSURE, on_step
from console.frame.tables.columns import ApplyFilter, Choice, Column, equals
from console.frame.tables.table import Table
from jobs.availability.status.severity import Counted, Severity
from jobs.numbers import format_count, read_whole

CELL = "availability/cells/"
_LARGEST = 2**31 - 1
_WRITES_REFUSED = "not_writable"
_SEVERITIES = (
    ("wrong", "unhealthy"),
    (_WRITES_REFUSED, "not writable"),
    *((one.word, one.word.replace("_", " ").replace(" isr", " ISR")) for one in Severity),
    ("rf_below_min", "RF < min ISR"),
    (UNKNOWN, "unknown"),
)


def _of_severity(rows: QuerySet[Any], word: str) -> QuerySet[Any]:
    if word == "wrong":
        return rows.filter(severity__gt=0)
    if word == _WRITES_REFUSED:
        return rows.filter(severity__gte=Severity.UNDER_MIN_ISR.value)
    if word == "rf_below_min":
        return rows.filter(is_rf_below_min=True)
    is_step = word in {UNKNOWN, *(one.word for one in Severity)}
    return rows.filter(on_step(word)) if is_step else rows.none()


def _of_broker(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    """Return no rows for text that is not a number: an ignored filter would mislead."""
    number = read_whole(text, _LARGEST)
    return rows.none() if number is None else rows.filter(with_replica([number]))


def _missing_on(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    number = read_whole(text, _LARGEST)
    return rows.none() if number is None else rows.filter(with_replica([number], "missing_text"))


def _absent(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    number = read_whole(text, _LARGEST)
    return rows.none() if number is None else rows.filter(broker=number)


def _cause(row: Any) -> str:
    return cause_words(row.cause, row.cause_broker)


def _state(row: Any) -> str:
    return UNKNOWN if row.is_unsure else str(row.get_severity_display())


PARTITIONS = Table(
    (
        Column("name", "Partition", "topic", template=f"{CELL}partition.html", csv=str),
        Column("severity", "State", "severity", definition=definitions.SEVERITY,
               template=f"{CELL}severity.html", csv=_state),
        Column("since", "Since", "since", definition=definitions.SINCE, template=f"{CELL}since.html"),
        Column("leader", "Leader", "leader", numeric=True, template=f"{CELL}leader.html"),
        Column("replicas", "Replicas", template=f"{CELL}replicas.html",
               csv=lambda row: " ".join(map(str, row.replicas))),
        Column("isr", "ISR", is_hidden=True, csv=lambda row: " ".join(map(str, row.isr)),
               template=f"{CELL}ids.html"),
        Column("elr", "ELR", definition=definitions.ELR, template=f"{CELL}ids.html", is_hidden=True,
               csv=lambda row: " ".join(map(str, row.elr or ()))),
        Column("last_known_elr", "Last known ELR", is_hidden=True, template=f"{CELL}ids.html",
               csv=lambda row: " ".join(map(str, row.last_known_elr or ()))),
        Column("min_insync_replicas", "Min ISR", "min_insync_replicas", numeric=True,
               definition=definitions.MIN_ISR, template=f"{CELL}min_isr.html"),
        Column("min_isr_origin", "Min ISR from", "min_isr_origin", is_hidden=True),
        Column("spare", "Failures tolerated", numeric=True, definition=definitions.SPARE,
               format=format_count),
        Column("out_since", "Out of sync since", "out_since", definition=definitions.OUT_OF_SYNC,
               template=f"{CELL}out_since.html"),
        Column("worst_lag", "Lag (records)", "worst_lag", numeric=True, definition=definitions.BEHIND,
               format=format_count),
        Column("cause", "Cause", "cause", template=f"{CELL}cause.html", csv=_cause),
        Column("leader_epoch", "Leader epoch", "leader_epoch", numeric=True, is_hidden=True,
               format=format_count),
        Column("partition_epoch", "Partition epoch", "partition_epoch", numeric=True,
               is_hidden=True, format=format_count),
        Column("observers", "Observers", is_hidden=True, template=f"{CELL}ids.html",
               csv=lambda row: " ".join(map(str, row.observers))),
        Column("source", "Source", "source", is_hidden=True, template=f"{CELL}source.html"),
    ),
    search=("topic",),
    filters={
        "severity": Choice("State", _SEVERITIES, _of_severity),
        "counted_as": COUNTED_FILTER,
        "topic": equals("topic"),
        "broker": _of_broker,
        "missing": _missing_on,
        "source": Choice("Source", (("log", "metadata log"), ("poll", "poll")), equals("source")),
    },
    default_sort="-severity",
)  # fmt: skip


def partitions_of(racks: Mapping[str, Sequence[int]]) -> Table:
    """Return the table of partitions with filters for these racks."""

    def of_rack(rows: QuerySet[Any], rack: str) -> QuerySet[Any]:
        return rows.filter(with_replica(racks.get(rack, ())))

    def missing_in(rows: QuerySet[Any], rack: str) -> QuerySet[Any]:
        return rows.filter(with_replica(racks.get(rack, ()), "missing_text"))

    named = [(rack, rack) for rack in racks]
    filters: dict[str, ApplyFilter] = dict(PARTITIONS.filters)
    if named:
        filters["rack"] = Choice("Rack", named, of_rack)
        filters["missing_rack"] = Choice("Out of sync in rack", named, missing_in)
    return replace(PARTITIONS, filters=filters)


_COUNTS = (
    Column("offline", "Offline", "offline", numeric=True, definition=COUNTED[Counted.OFFLINE],
           template=f"{CELL}count.html"),
    Column("under_min_isr", "Under min ISR", "under_min_isr", numeric=True,
           definition=COUNTED[Counted.UNDER_MIN_ISR], template=f"{CELL}count.html"),
    Column("at_min_isr", "At min ISR", "at_min_isr", numeric=True,
           definition=COUNTED[Counted.AT_MIN_ISR], template=f"{CELL}count.html"),
    Column("under_replicated", "Under-replicated", "under_replicated", numeric=True,
           definition=COUNTED[Counted.UNDER_REPLICATED], template=f"{CELL}count.html"),
    Column("out_of_sync", "Replicas out of sync", "out_of_sync", numeric=True,
           definition=definitions.OUT_OF_SYNC, format=format_count),
    Column("broker_under_min_isr", "Under min ISR (brokers)", "broker_under_min_isr", numeric=True,
           is_hidden=True, definition=definitions.BROKERS_COUNT, format=format_count),
    Column("broker_at_min_isr", "At min ISR (brokers)", "broker_at_min_isr", numeric=True,
           is_hidden=True, definition=definitions.BROKERS_COUNT, format=format_count),
    Column("unsure", "Unknown", "unsure", numeric=True, is_hidden=True,
           definition=UNSURE, format=format_count),
    Column("rf_below_min", "RF < min ISR", "rf_below_min", numeric=True, is_hidden=True,
           definition=definitions.RF_BELOW_MIN, format=format_count),
)  # fmt: skip

TOPICS = Table(
    (
        Column("worst", "State", "worst", template=f"{CELL}worst.html", csv="get_worst_display"),
        Column("name", "Topic", "name", template=f"{CELL}topic.html"),
        Column("partitions", "Partitions", "partitions", numeric=True, format=format_count),
        *_COUNTS,
    ),
    search=("name",),
    default_sort="-worst",
    per_page=10,
    name="topics",
)

RACKS = Table(
    (
        Column("worst", "State", "worst", template=f"{CELL}worst.html", csv="get_worst_display"),
        Column("name", "Rack", "name", template=f"{CELL}rack.html"),
        Column("partitions", "Partitions with a replica", "partitions", numeric=True,
               format=format_count),
        Column("leaders", "Leaders", "leaders", numeric=True, format=format_count),
        *_COUNTS,
    ),
    default_sort="name",
    per_page=20,
    name="racks",
)  # fmt: skip

CLUSTERS = Table(
    (
        Column("answer", "Status", "worst", template=f"{CELL}answer.html", csv="answer.word"),
        Column("alias", "Cluster", "alias", template=f"{CELL}cluster.html"),
        Column("partitions_count", "Partitions", "partitions_count", numeric=True,
               format=format_count),
        Column("offline_count", "Offline", "offline_count", numeric=True,
               definition=COUNTED[Counted.OFFLINE], format=format_count),
        Column("under_min_isr_count", "Under min ISR", "under_min_isr_count", numeric=True,
               definition=COUNTED[Counted.UNDER_MIN_ISR], format=format_count),
        Column("at_min_isr_count", "At min ISR", "at_min_isr_count", numeric=True,
               definition=COUNTED[Counted.AT_MIN_ISR], format=format_count),
        Column("under_replicated_count", "Under-replicated", "under_replicated_count",
               numeric=True, definition=COUNTED[Counted.UNDER_REPLICATED], format=format_count),
        Column("out_of_sync_count", "Replicas out of sync", "out_of_sync_count", numeric=True,
               definition=definitions.OUT_OF_SYNC, format=format_count),
        Column("out_since", "Out of sync since", "out_since", template=f"{CELL}ago.html"),
        Column("method", "Source", template=f"{CELL}method.html"),
        Column("freshness", "Last collected", template=f"{CELL}seen.html", csv="freshness.succeeded_at"),
    ),
    search=("alias",),
    default_sort="alias",
)  # fmt: skip

ABSENCES = Table(
    (
        Column("name", "Partition", "topic", template=f"{CELL}absent_partition.html"),
        Column("broker", "Broker", "broker", numeric=True, template=f"{CELL}absent.html"),
        Column("began_at", "Since", "began_at", definition=definitions.SINCE,
               template=f"{CELL}began.html"),
        Column("lag", "Lag (records)", "lag", numeric=True, definition=definitions.BEHIND,
               template=f"{CELL}behind.html"),
        Column("cause", "Cause", "cause", template=f"{CELL}cause.html", csv=_cause),
    ),
    search=("topic",),
    filters={"broker": _absent},
    default_sort="began_at",
    per_page=10,
    name="absences",
)  # fmt: skip

# Of one partition: also those that ended.
PAST_ABSENCES = replace(
    ABSENCES,
    columns=(
        Column("broker", "Broker", "broker", numeric=True, template=f"{CELL}absent.html"),
        Column("began_at", "Started", "began_at", definition=definitions.SINCE,
               template=f"{CELL}began_moment.html"),
        Column("ended_at", "Ended", "ended_at", template=f"{CELL}ended.html"),
        Column("lasted", "Duration", numeric=True, template=f"{CELL}lasted.html",
               csv=lambda row: "" if row.ended_at is None
               else (row.ended_at - row.began_at).total_seconds()),
        Column("lag", "Lag (records)", "lag", numeric=True, definition=definitions.BEHIND,
               template=f"{CELL}behind.html"),
        Column("cause", "Cause", "cause", template=f"{CELL}cause.html", csv=_cause),
        Column("end_cause", "Cause of end", "end_cause", template=f"{CELL}end_cause.html"),
    ),
    search=(),
    default_sort="-began_at",
    per_page=20,
)  # fmt: skip

STRETCHES = Table(
    (
        Column("name", "Partition", "topic", template=f"{CELL}absent_partition.html"),
        Column("severity", "State", "severity", definition=definitions.SEVERITY,
               template=f"{CELL}severity.html", csv="get_severity_display"),
        Column("began_at", "Started", "began_at", definition=definitions.SINCE,
               template=f"{CELL}began_moment.html"),
        Column("ended_at", "Ended", "ended_at", template=f"{CELL}ended.html"),
        Column("lasted", "Duration", numeric=True, template=f"{CELL}lasted.html",
               csv=lambda row: "" if row.ended_at is None
               else (row.ended_at - row.began_at).total_seconds()),
        Column("cause", "Cause", "cause", template=f"{CELL}cause.html", csv=_cause),
        Column("end_cause", "Cause of end", "end_cause", template=f"{CELL}end_cause.html"),
    ),
    search=("topic",),
    default_sort="-began_at",
    per_page=10,
    name="stretches",
)  # fmt: skip

BROKERS = Table(
    (
        Column("broker_id", "Broker", "broker_id", numeric=True, template=f"{CELL}broker.html"),
        Column("rack", "Rack", "rack", template=f"{CELL}or_dash.html"),
        Column("is_there", "State", "is_there", definition=definitions.FENCED,
               template=f"{CELL}there.html"),
        Column("since", "Since", "since", template=f"{CELL}ago.html"),
        Column("partition_count", "Replicas", "partition_count", numeric=True,
               format=format_count),
        Column("leader_count", "Leaders", "leader_count", numeric=True, format=format_count),
        Column("out_of_sync_count", "Replicas out of sync", "out_of_sync_count", numeric=True,
               definition=definitions.OUT_OF_SYNC, template=f"{CELL}out_of_sync.html"),
        Column("out_since", "Out of sync since", "out_since", template=f"{CELL}ago.html"),
        Column("shrinks", "ISR shrinks", "shrinks", numeric=True, definition=definitions.CHURN,
               format=format_count),
        Column("expands", "ISR expands", "expands", numeric=True, definition=definitions.CHURN,
               format=format_count),
        Column("leaders_won", "Leaderships gained", "leaders_won", numeric=True, is_hidden=True,
               format=format_count),
        Column("leaders_lost", "Leaderships lost", "leaders_lost", numeric=True, is_hidden=True,
               format=format_count),
        Column("unclean", "Unclean elections", "unclean", numeric=True, is_hidden=True,
               definition=definitions.UNCLEAN, format=format_count),
        Column("restless", "ISR changes, 24 h", template=f"{CELL}restless.html",
               csv=lambda row: sum(getattr(row, "restless", []))),
        Column("last_fenced_at", "Last fenced", "last_fenced_at", template=f"{CELL}ago.html"),
        Column("registered_at", "Registered", "registered_at", is_hidden=True,
               template=f"{CELL}ago.html"),
        Column("source", "Source", "source", is_hidden=True, template=f"{CELL}source.html"),
    ),
    filters={"rack": lambda rows, rack: rows.filter(rack=rack)},
    default_sort="broker_id",
)  # fmt: skip

NOT_WELL = Q(worst__gt=0) | Q(rf_below_min__gt=0)
