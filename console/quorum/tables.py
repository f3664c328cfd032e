"""Tables of the quorum pages: columns, sort order, definitions."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from console.findings.pages import COLUMNS
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from console.quorum import labels
from console.quorum.labels import Kind
from console.quorum.models import MetadataChange
from jobs.numbers import format_count, format_span_ms, read_whole

CELL = "quorum/cells/"
_LARGEST = 2**31 - 1


def _of_number(rows: QuerySet[Any], text: str, field: str) -> QuerySet[Any]:
    """Return no rows for a text that is not a number: to ignore the filter would mislead."""
    number = read_whole(text, _LARGEST)
    return rows.none() if number is None else rows.filter(**{field: number})


def _of_partition(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    return _of_number(rows, text, "partition")


def _of_broker(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    return _of_number(rows, text, "broker")


def _of_type(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    return rows.filter(type=text.strip().upper())


def _of_committed(rows: QuerySet[Any], word: str) -> QuerySet[Any]:
    return rows.filter(is_committed={"yes": True, "no": False}.get(word))


def _state_as_text(row: MetadataChange) -> str:
    return "; ".join(f"{name}={labels.told(value)}" for name, value in row.state.items())


def _state_of_subject(row: Any) -> str:
    return "; ".join(f"{name}={text}" for name, text in row.told_state)


def _state(name: str) -> Any:
    return lambda row: labels.told(row.state.get(name))


OFFSET = Column("offset", "Offset", "offset", numeric=True, template=f"{CELL}offset.html")
AT = Column("at", "Time", "at", definition=labels.AT, template=f"{CELL}moment.html")
EPOCH = Column("epoch", "Epoch", numeric=True, definition=labels.EPOCH, format=format_count)
_WHAT = Column("subject.name", "Subject", template=f"{CELL}subject.html")
_CHANGES = Column("changes", "Change", template=f"{CELL}changes.html", csv=_state_as_text)
_CAUSE = Column("cause", "Cause", definition=labels.CAUSE, template=f"{CELL}cause.html")
_TYPE = Column("type", "Record type", template=f"{CELL}type.html")

LOGS = Table(
    (
        Column("verdict", "Status", template=f"{CELL}answer.html", csv="verdict.word"),
        Column("name", "Cluster", "name", template=f"{CELL}log.html"),
        Column("status.leader_id", "Leader", "status__leader_id", numeric=True, is_id=True),
        Column(
            "status.leader_epoch",
            "Epoch",
            "status__leader_epoch",
            numeric=True,
            definition=labels.EPOCH,
            format=format_count,
        ),
        Column("status.voter_count", "Voters", "status__voter_count", numeric=True),
        Column(
            "status.high_watermark",
            "High watermark",
            "status__high_watermark",
            numeric=True,
            definition=labels.HIGH_WATERMARK,
            format=format_count,
        ),
        Column(
            "status.worst_lag_ms",
            "Max follower lag",
            "status__worst_lag_ms",
            numeric=True,
            definition=labels.LAG_MS,
            format=format_span_ms,
        ),
        Column("source", "Metadata log", "source", template=f"{CELL}source.html"),
        Column(
            "freshness", "Last collected", template=f"{CELL}seen.html", csv="status.succeeded_at"
        ),
    ),
    search=("name", "title"),
    default_sort="name",
)

VOTER_SETS = Table(
    (
        OFFSET,
        AT,
        EPOCH,
        Column("change", "Change", template=f"{CELL}set_change.html", csv="change_text"),
        Column("voters", "Voters", template=f"{CELL}voters.html", csv="voters_text"),
        Column(
            "is_committed",
            "Committed",
            definition=labels.COMMITTED,
            template=f"{CELL}committed.html",
        ),
    ),
    filters={"committed": Choice("Committed", (("yes", "yes"), ("no", "no")), _of_committed)},
    default_sort="-offset",
    per_page=20,
    name="sets",
)

ELECTIONS = Table(
    (
        OFFSET,
        AT,
        EPOCH,
        Column("leader_id", "Leader", "leader_id", numeric=True, is_id=True),
        Column(
            "gap_ms",
            "Leaderless time",
            "gap_ms",
            numeric=True,
            definition=labels.GAP,
            format=format_span_ms,
        ),
        Column("granting", "Votes from", format=labels.told),
        Column("voters", "Voters", format=labels.told),
        Column("oddities", "Anomalies", format=labels.told),
    ),
    default_sort="-offset",
    per_page=20,
    name="elections",
)

CHANGES = Table(
    (OFFSET, AT, _TYPE, _WHAT, _CHANGES, _CAUSE, EPOCH),
    filters={
        "topic": equals("topic"),
        "broker": _of_broker,
        "type": _of_type,
        "kind": Choice("Kind", Kind.choices, equals("kind")),
    },
    default_sort="-offset",
)

PARTITION_CHANGES = Table(
    (
        OFFSET,
        AT,
        Column("subject.name", "Partition", csv="subject.name"),
        Column("leader", "Leader", template=f"{CELL}leader.html", csv=_state("leader")),
        Column("isr", "ISR", template=f"{CELL}isr.html", csv=_state("isr")),
        Column("elr", "ELR", template=f"{CELL}elr.html", csv=_state("elr")),
        Column("replicas", "Replicas", template=f"{CELL}replicas.html", csv=_state("replicas")),
        Column("leader_epoch", "Leader epoch", csv=_state("leader_epoch"), is_hidden=True,
               template=f"{CELL}leader_epoch.html", numeric=True),
        Column("partition_epoch", "Partition epoch", csv=_state("partition_epoch"), is_hidden=True,
               template=f"{CELL}partition_epoch.html", numeric=True),
        _CAUSE,
        _TYPE,
        EPOCH,
    ),
    filters={"topic": equals("topic"), "partition": _of_partition},
    default_sort="-offset",
)  # fmt: skip

BROKER_CHANGES = Table(
    (OFFSET, AT, _WHAT, _TYPE, _CHANGES, _CAUSE, EPOCH),
    filters={"broker": _of_broker},
    default_sort="-offset",
)

SETTING_CHANGES = Table(
    (OFFSET, AT, _WHAT, _CHANGES, _TYPE, EPOCH),
    search=("subject__name",),
    default_sort="-offset",
)

STATES = Table(
    (
        Column("subject", "Subject", template=f"{CELL}thing.html", csv="name"),
        Column("state", "State", template=f"{CELL}state.html", csv=_state_of_subject),
        Column("since", "Since offset", numeric=True, template=f"{CELL}since.html"),
    ),
    search=("name",),
    filters={"topic": equals("topic")},
    name="states",
)

ENDED = Table(
    (
        COLUMNS["severity"],
        COLUMNS["sentence"],
        Column("opened_at", "Started", "opened_at", template=f"{CELL}moment.html"),
        Column("closed_at", "Ended", "closed_at", template=f"{CELL}moment.html"),
        Column("duration_ms", "Duration", numeric=True, format=format_span_ms),
    ),
    default_sort="-closed_at",
    per_page=20,
    name="ended",
)
