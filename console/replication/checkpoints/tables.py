"""The tables of checkpoints: which columns, how they sort, what they mean."""

from __future__ import annotations

from django.utils import timezone

from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from console.replication.checkpoints import text as words
from console.replication.checkpoints.queries import age_s
from console.replication.flows.models import GroupReadiness
from jobs.numbers import format_count, format_span_ms
from jobs.replication.checkpoints.obstacles import Readiness
from jobs.replication.checkpoints.reasons import CheckpointReason

_STEPS = [(step.value, words.WORDS[step]) for step in reversed(Readiness)]
_REASONS = [(reason.value, words.reason_word(reason.value)) for reason in CheckpointReason]


def _age(row: GroupReadiness) -> int | None:
    seconds = age_s(row.checkpoint_at, timezone.now())
    return None if seconds is None else round(seconds)


_ANSWER = Column(
    "readiness",
    "Readiness",
    "rank",
    template="replication/checkpoints/cells/answer.html",
    csv=lambda row: row.word,
)
_LOSS = (
    Column(
        "rpo_records",
        "RPO (records)",
        "rpo_records",
        numeric=True,
        definition=words.AT_RISK,
        format=format_count,
    ),
    Column(
        "rpo_ms",
        "RPO (time)",
        "rpo_ms",
        numeric=True,
        definition=words.AT_RISK_MS,
        format=format_span_ms,
    ),
)
_REREAD = Column(
    "reread", "Records reprocessed", "reread_hi", numeric=True, definition=words.REREAD, fold=1
)
_REPEATED = Column(
    "repeated",
    "Reprocessed with a plan",
    "repeated_coming_hi",
    numeric=True,
    definition=words.REPEATED,
)
_SINCE = Column("since", "Since", "since", template="replication/cells/ago.html", is_hidden=True)

GROUPS = Table(
    (
        _ANSWER,
        Column(
            "group", "Group", "group", template="replication/checkpoints/cells/group_answer.html"
        ),
        Column("topic_names", "Topics", is_hidden=True),
        Column("state", "State on the source", "state", is_hidden=True),
        Column(
            "checkpoint_at",
            "Checkpoint age",
            "checkpoint_at",
            numeric=True,
            definition=words.AGE,
            template="replication/checkpoints/cells/age.html",
            csv=_age,
        ),
        Column(
            "behind",
            "Checkpoint lag (records)",
            "behind",
            numeric=True,
            definition=words.BEHIND,
            format=format_count,
            unknown="behind_unknown_count",
        ),
        Column(
            "recent_behind",
            "Checkpoint lag, last 6 h",
            template="replication/checkpoints/cells/recent_behind.html",
            csv=lambda _: "",
            fold=2,
        ),
        _REREAD,
        _REPEATED,
        *_LOSS,
        Column("reason", "Reason", "reason", template="replication/checkpoints/cells/reason.html"),
        Column(
            "partition_count",
            "Partitions",
            "partition_count",
            numeric=True,
            format=format_count,
            is_hidden=True,
        ),
        _SINCE,
    ),
    search=("group", "topic_names"),
    filters={
        "answer": Choice("Readiness", _STEPS, equals("readiness")),
        "reason": Choice("Reason", _REASONS, equals("reason")),
    },
    default_sort="-readiness",
)

TOPICS = Table(
    (
        _ANSWER,
        Column(
            "topic", "Topic", "topic", template="replication/checkpoints/cells/topic_answer.html"
        ),
        Column("group_count", "Groups", "group_count", numeric=True, format=format_count),
        _REREAD,
        _REPEATED,
        *_LOSS,
        _SINCE,
    ),
    search=("topic",),
    filters={"answer": Choice("Readiness", _STEPS, equals("readiness"))},
    default_sort="-readiness",
    per_page=20,
    name="topics",
)
