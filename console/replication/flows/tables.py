"""The tables of the replication room: which columns, how they sort, what they mean."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from django.utils import timezone

from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from console.replication.control.control import control_of
from console.replication.flows.models import (
    STATE_CHOICES,
    FlowPartition,
    FlowTopic,
    ReplicationFlow,
)
from console.replication.flows.queries import LAG, LAG_MS, RATE
from console.replication.flows.status import judge_flow
from jobs.cluster.descriptions import TopicPartition
from jobs.numbers import (
    format_bytes,
    format_bytes_rate,
    format_count,
    format_rate,
    format_span_ms,
)
from jobs.spark.control import Control, is_named

POSITION = "The next source offset to replicate. The target has acknowledged all records below it."


def _word_of(flow: ReplicationFlow) -> str:
    return str(judge_flow(flow, timezone.now()).state)


_NUMBERS = (
    Column("lag", "Lag (records)", "lag", numeric=True, definition=LAG, format=format_count),
    Column(
        "lag_ms", "Lag (time)", "lag_ms", numeric=True, definition=LAG_MS, format=format_span_ms
    ),
    Column(
        "rate_per_s",
        "Throughput (records/s)",
        "rate_per_s",
        numeric=True,
        definition=RATE,
        format=format_rate,
    ),
)
_TOTALS = (
    replace(_NUMBERS[0], unknown="unknown_count"),
    replace(_NUMBERS[1], unknown="unknown_ms_count"),
    _NUMBERS[2],
    Column(
        "unknown_count",
        "Lag unknown",
        "unknown_count",
        numeric=True,
        definition="Partitions without a known lag: the totals are lower bounds.",
        format=format_count,
        is_hidden=True,
    ),
)

_SEEN = "replication/cells/seen.html"
FLOWS = Table(
    (
        Column("state", "State", template="replication/flows/cells/flow_state.html", csv=_word_of),
        Column("name", "Flow", "name", template="replication/flows/cells/flow_name.html"),
        Column("source.alias", "Source", "source__alias", is_hidden=True),
        Column("target.alias", "Target", "target__alias", is_hidden=True),
        *_TOTALS,
        Column(
            "recent_lag",
            "Lag, last hour",
            template="replication/flows/cells/recent.html",
            csv=lambda _: "",
        ),
        Column(
            "partition_count",
            "Partitions",
            "partition_count",
            numeric=True,
            template="replication/flows/cells/flow_partitions.html",
        ),
        Column("measured", "Measured", "measured_at", template=_SEEN, csv="measured_at"),
    ),
    search=("name", "source__alias", "target__alias"),
    default_sort="name",
)

TOPICS = Table(
    (
        Column("state", "State", "state", template="replication/flows/cells/state.html"),
        Column("topic", "Topic", "topic", template="replication/flows/cells/topic.html"),
        Column("remote_topic", "Remote topic", "remote_topic"),
        Column(
            "partition_count", "Partitions", "partition_count", numeric=True, format=format_count
        ),
        Column("failed_count", "Failed", "failed_count", numeric=True, format=format_count),
        *_TOTALS,
        Column("topic_id", "Topic ID", is_hidden=True),
    ),
    search=("topic", "remote_topic", "reason"),
    filters={"state": Choice("State", STATE_CHOICES, equals("state"))},
    default_sort="-lag",
    name="topics",
)


def _name_of(partition: FlowPartition) -> str:
    return str(partition)


PARTITIONS = Table(
    (
        Column("state", "State", "state", template="replication/flows/cells/state.html"),
        Column(
            "topic",
            "Partition",
            "topic",
            template="replication/flows/cells/partition.html",
            csv=_name_of,
        ),
        Column(
            "log_start_offset",
            "Log start offset",
            numeric=True,
            format=format_count,
            is_hidden=True,
        ),
        Column(
            "position",
            "Position",
            "position",
            numeric=True,
            definition=POSITION,
            format=format_count,
        ),
        Column("end_offset", "Log end offset", "end_offset", numeric=True, format=format_count),
        *_NUMBERS,
        Column(
            "duplicates",
            "Possible duplicates",
            "duplicates",
            numeric=True,
            definition="Records that may be written twice because a run was killed between writing them "
            "and committing its "
            "position.",
            format=format_count,
        ),
        Column(
            "path",
            "Copy mode",
            "path",
            template="replication/flows/cells/path.html",
            definition="batch: record batches pass through unchanged. record: per record, slower and at "
            "least once; "
            "the reason is below the mode.",
        ),
        Column(
            "bytes_per_s",
            "Throughput (bytes/s)",
            "bytes_per_s",
            numeric=True,
            definition="Mean of the last 10 s: compressed batches; per record, keys and values.",
            format=format_bytes_rate,
            is_hidden=True,
        ),
        Column(
            "batch_bytes",
            "Mean batch size",
            "batch_bytes",
            numeric=True,
            definition="Of the batches that were written since the run started.",
            format=format_bytes,
            is_hidden=True,
        ),
        Column(
            "packed",
            "Rebuilt batches",
            "packed",
            numeric=True,
            definition="Batches that could not pass through unchanged: too small, too large, with gaps, "
            "or starting "
            "before the position.",
            format=format_count,
            is_hidden=True,
        ),
        Column(
            "commit_ms",
            "Commit duration",
            "commit_ms",
            numeric=True,
            definition="Of the last commit of the partition's task.",
            format=format_span_ms,
            is_hidden=True,
        ),
        Column(
            "throttled_ms",
            "Throttled",
            "throttled_ms",
            numeric=True,
            definition="Time that the flow's limit delayed the partition's task since the run started.",
            format=format_span_ms,
            is_hidden=True,
        ),
        Column(
            "quota_ms",
            "Quota delay",
            "quota_ms",
            numeric=True,
            definition="Time that fetch and produce quotas delayed the partition's task since the run "
            "started, summed over "
            "brokers.",
            format=format_span_ms,
            is_hidden=True,
        ),
        Column(
            "retries",
            "Retries",
            "retries",
            numeric=True,
            definition="Number of retries since the run started.",
            format=format_count,
            is_hidden=True,
        ),
        Column("remote_topic", "Remote topic", "remote_topic", is_hidden=True),
        Column("reason", "Reason", is_hidden=True),
        Column("since", "Since", "since", template="replication/cells/ago.html", is_hidden=True),
        Column(
            "updated_at",
            "Changed",
            "updated_at",
            template="replication/cells/ago.html",
            is_hidden=True,
        ),
    ),
    search=("topic", "reason"),
    filters={"state": Choice("State", STATE_CHOICES, equals("state")), "topic": equals("topic")},
    default_sort="topic",
)


@dataclass(frozen=True, slots=True)
class Part:
    """A topic (`orders`) or a partition (`orders:3`) of a flow, for the buttons of its row.

    `has_paused`: a user paused it or one of its partitions.
    """

    flow_id: int
    name: str
    is_paused: bool
    has_paused: bool


def part_of(row: FlowTopic | FlowPartition, control: Control) -> Part:
    """Return the topic or partition of a row, for its buttons."""
    if isinstance(row, FlowPartition):
        name = f"{row.topic}:{row.partition}"
        is_paused = is_named(TopicPartition(row.topic, row.partition), control.paused)
        return Part(row.flow_id, name, is_paused, is_paused)
    is_paused = row.topic in control.paused
    has_paused = is_paused or any(name.startswith(f"{row.topic}:") for name in control.paused)
    return Part(row.flow_id, row.topic, is_paused, has_paused)


@dataclass(frozen=True, slots=True)
class PartColumn(Column):
    """The column of the pause and resume buttons; its value is the `Part` of the row."""

    control: Control = field(default_factory=Control)

    def value(self, row: Any) -> Part:
        """Return what the buttons are about."""
        return part_of(row, self.control)

    def csv_value(self, row: Any) -> str:
        """Return a word instead of buttons."""
        return "paused" if self.value(row).is_paused else ""


def steered(table: Table, flow: ReplicationFlow) -> Table:
    """Return a table of topics or partitions with buttons that pause and resume."""
    template = "replication/control/cells/steer.html"
    buttons = PartColumn("steer", "Pause", template=template, control=control_of(flow))
    return replace(table, columns=(*table.columns, buttons))
