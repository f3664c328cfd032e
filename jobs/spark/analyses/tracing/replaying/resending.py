"""A part of a replay plan sent in one transaction, with its positions: runs in a task of Spark."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.cluster.records import ClientPartition, KafkaError, KafkaException, Producer, error_in
from jobs.spark.analyses.document import arrow_table
from jobs.spark.analyses.records.ranges import Span
from jobs.spark.analyses.records.reading import Clusters, Reading, SpanReader
from jobs.spark.analyses.tracing.replaying.sources import MOST_PLANNED
from jobs.tracing.replay.headers import Header, Place, replay_headers
from jobs.tracing.replay.parts import Row, left_of, positions_after
from jobs.tracing.replay.planning import Action
from jobs.wire.batches.varints import read_varint
from jobs.wire.rebatch.columns import RecordColumns

ANSWER_S = 30.0
_LARGEST_RECORD_BYTES = 1_000_000_000
# Records so near to each other are read at once.
_NEAR_OFFSETS = 1_000
_NO_RECORD = "The log has no record at its offset: it was compacted, or its transaction aborted."


class Bytes(NamedTuple):
    """Key, value and headers of a record, copied out of its chunk."""

    key: bytes | None
    value: bytes | None
    headers: list[Header]

    @property
    def size(self) -> int:
        return len(self.key or b"") + len(self.value or b"")


def send_part(
    connection: Connection, options: Mapping[str, Any], rows: Sequence[Row]
) -> dict[str, Any]:
    """Send records, and commit the positions of their dead letters in the same transaction.

    `options`: `plan_id`, `group`, `plan` (digest). What the group has committed already is left out. Returns
    `sent` (rows with `sent_bytes`), `gone` (rows with `reason`), or `fault`: code, message, alias and hint.
    """
    try:
        with ClusterClient(connection, timeout_s=ANSWER_S) as client:
            return _sent(client, options, rows)
    except ClusterFault as fault:
        return {"fault": (fault.code, fault.message, fault.cluster, fault.hint)}


def read_plan(path: str) -> list[dict[str, Any]]:
    """Return the rows of a plan; raises InvalidFields for a file that is none."""
    from jobs.spark.analyses.tracing.replay_plan import ANALYSIS

    schema = arrow_table(ANALYSIS.table("records"), []).schema
    try:
        with pq.ParquetFile(path) as file:
            if file.metadata.num_rows > MOST_PLANNED:
                raise InvalidFields({"plan": f"It has more than {MOST_PLANNED:,} rows."})
            table = file.read(schema.names).select(schema.names)
            return list(table.cast(schema).to_pylist())
    except (pa.ArrowException, OSError, KeyError) as error:
        text = f"It is no replay plan: {str(error).splitlines()[0][:200]}."
        raise InvalidFields({"plan": text}) from None


def _sent(client: ClusterClient, options: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    group, doing = options["group"], "Sending records again"
    settings = {
        "transactional.id": group,
        "transaction.timeout.ms": int(ANSWER_S * 1000),
        "message.max.bytes": _LARGEST_RECORD_BYTES,
        # A batch of several might be larger than the target allows, although no record is.
        "batch.num.messages": 1,
        "compression.type": "lz4",
        "partitioner": "murmur2_random",
    }
    producer = client.producer(settings)
    consumer = client.consumer({"group.id": group})
    is_open = False
    try:
        # This ends a transaction that another run of the plan left, and keeps that run from sending more.
        producer.init_transactions(ANSWER_S)
        places = [ClientPartition(*where) for where in positions_after(rows)]
        committed = {
            TopicPartition(one.topic, one.partition): one.offset
            for one in consumer.committed(places, ANSWER_S)
            if one.offset >= 0
        }
        left = left_of(rows, committed)
        contents, reasons = _contents(client.connection, left)
        producer.begin_transaction()
        is_open = True
        sent = _produced(client, producer, options["plan_id"], left, contents)
        positions = [
            ClientPartition(*where, offset, metadata=options["plan"])
            for where, offset in positions_after(left).items()
        ]
        if positions:
            metadata = consumer.consumer_group_metadata()
            producer.send_offsets_to_transaction(positions, metadata, ANSWER_S)
        producer.commit_transaction(ANSWER_S)
        is_open = False
    except KafkaException as error:
        raise client.fault_of(error_in(error), doing) from None
    finally:
        if is_open:
            with contextlib.suppress(KafkaException):
                producer.abort_transaction(ANSWER_S)
        consumer.close()
    gone = [row for row in left if _source(row) not in contents]
    return {
        "sent": sent,
        "gone": [{**row, "reason": reasons.get(_source(row), _NO_RECORD)} for row in gone],
    }


def _produced(
    client: ClusterClient,
    producer: Producer,
    plan_id: str,
    rows: Sequence[Row],
    contents: Mapping[Place, Bytes],
) -> list[dict[str, Any]]:
    """Send what is there and wait for it; raises the fault of the first record that was refused."""
    refused: list[tuple[Row, KafkaError]] = []
    sent = []
    for row in rows:
        content = contents.get(_source(row))
        if content is None:
            continue
        is_sent = row["action"] == Action.SEND
        headers = replay_headers(
            content.headers,
            _letter(row),
            plan_id,
            None if row["replays"] is None else row["replays"] + is_sent,
            is_failed=not is_sent or _source(row) != _letter(row),
        )
        number = row["target_partition"]
        where = {} if number is None else {"partition": number}
        try:
            producer.produce(
                row["target_topic"],
                content.value,
                content.key,
                headers=headers,  # type: ignore[arg-type]
                on_delivery=partial(_hear, refused, row),
                **where,
            )
        except KafkaException as raised:
            refused.append((row, error_in(raised)))
        sent.append({**row, "sent_bytes": content.size})
        if refused:
            break
    if not refused:
        producer.flush(ANSWER_S)
    if refused:
        row, error = refused[0]
        raise client.fault_of(error, f"Sending {_letter(row)} to {row['target_topic']}")
    return sent


def _hear(
    refused: list[tuple[Row, KafkaError]], row: Row, error: KafkaError | None, _message: object
) -> None:
    if error is not None:
        refused.append((row, error))


def _contents(
    connection: Connection, rows: Sequence[Row]
) -> tuple[dict[Place, Bytes], dict[Place, str]]:
    """Return the sources that are still there, and reasons why others are not."""
    contents: dict[Place, Bytes] = {}
    reasons: dict[Place, str] = {}
    with Clusters(Reading({"cluster": connection})) as clusters:
        for span, wanted in _spans(rows):
            reader = SpanReader(clusters, span)
            for chunk in reader:
                if chunk.records is not None:
                    for index, offset in enumerate(chunk.records.offsets.tolist()):
                        # A batch may begin before the log does.
                        is_there = offset >= span.start + reader.outcome.removed
                        if is_there and offset in wanted:
                            place = Place(span.topic, span.partition, offset)
                            contents[place] = _bytes_of(chunk.records, index)
            outcome = reader.outcome
            unreadable = next((f"Its batch {why}." for _, why in outcome.unreadable), "")
            removed = "It was removed from the log." if outcome.removed else ""
            text = outcome.fault or unreadable or removed or _NO_RECORD
            reasons |= {Place(span.topic, span.partition, offset): text for offset in wanted}
    return contents, reasons


def _spans(rows: Sequence[Row]) -> Iterator[tuple[Span, set[int]]]:
    """Yield spans that have the sources of rows, with the offsets that are wanted of each."""
    by_log: dict[tuple[str, int, str], set[int]] = defaultdict(set)
    for row in rows:
        source = _source(row)
        key = source.topic, source.partition, row["from_topic_id"] or ""
        by_log[key].add(source.offset)
    for (topic, partition, topic_id), offsets in by_log.items():
        runs: list[list[int]] = []
        for offset in sorted(offsets):
            if runs and offset - runs[-1][-1] <= _NEAR_OFFSETS:
                runs[-1].append(offset)
            else:
                runs.append([offset])
        for run in runs:
            start, end = run[0], run[-1] + 1
            yield Span("cluster", topic, partition, start, end, 0, end, topic_id), set(run)


def _letter(row: Row) -> Place:
    return Place(row["topic"], row["partition"], row["offset"])


def _source(row: Row) -> Place:
    return Place(row["from_topic"], row["from_partition"], row["from_offset"])


def _bytes_of(records: RecordColumns, index: int) -> Bytes:
    """Return a record; its headers in their order, also those of the same name."""

    def field(at: int) -> tuple[bytes | None, int]:
        size, start = read_varint(records.body, at)
        end = start + max(size, 0)
        return (None if size < 0 else bytes(records.body[start:end])), end

    at = int(records.value_at[index]) + max(int(records.value_bytes[index]), 0)
    count, at = read_varint(records.body, at)
    headers: list[Header] = []
    for _ in range(count):
        name, at = field(at)
        value, at = field(at)
        headers.append(((name or b"").decode("utf-8", "replace"), value))
    return Bytes(records.key(index), records.value(index), headers)
