"""Parts of a replay plan, each sent in one transaction with its positions."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields
from jobs.cluster.records import (
    ClientPartition,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    error_in,
)
from jobs.spark.analyses.document import arrow_table
from jobs.spark.analyses.records.ranges import Span
from jobs.spark.analyses.records.reading import Clusters, Reading, SpanReader
from jobs.spark.analyses.tracing.replay_plan import ANALYSIS, MOST_PLANNED
from jobs.spark.analyses.tracing.texts import works_near
from jobs.tracing.extractors.plain import PlainRecord
from jobs.tracing.replay.headers import Header, Place, replay_headers
from jobs.tracing.replay.parts import Row, left_of, positions_after
from jobs.tracing.replay.planning import Action
from jobs.wire.batches.varints import read_varint
from jobs.wire.rebatch.columns import RecordColumns

ANSWER_S = 30.0
_PAUSE_S = 0.2
_LARGEST_RECORD_BYTES = 1_000_000_000
_NO_RECORD = "The log has no record at its offset: it was compacted, or its transaction aborted."


def read_plan(path: str) -> list[dict[str, Any]]:
    """Return the rows of a plan; raises InvalidFields for a file that is none."""
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


@contextlib.contextmanager
def resending(client: ClusterClient, plan_id: str, digest: str) -> Iterator[Sender]:
    """Yield the sender of a plan; `digest` is of what the plan does.

    A transaction that another run of the plan left is ended, and that run can send no more.
    """
    group = f"crosslog-redrive-{plan_id}"
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
    try:
        producer.init_transactions(ANSWER_S)
        yield Sender(client, producer, consumer, plan_id, digest)
    except KafkaException as error:
        raise client.fault_of(error_in(error), "Sending records again") from None
    finally:
        # Without an open transaction this is refused.
        with contextlib.suppress(KafkaException):
            producer.abort_transaction(ANSWER_S)
        consumer.close()


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends parts of a plan, each in a transaction with the positions of its dead letters."""

    client: ClusterClient
    producer: Producer
    consumer: Consumer
    plan_id: str
    digest: str

    def left_of(self, rows: Sequence[Row]) -> list[Row]:
        """Return what earlier runs left; raises InvalidFields where another plan has the same ID."""
        places = [ClientPartition(*where) for where in positions_after(rows)]
        done = [one for one in self._committed(places) if one.offset >= 0] if places else []
        if any(one.metadata != self.digest for one in done):
            raise InvalidFields({"plan_id": "Another plan was applied with this ID."})
        return left_of(rows, {TopicPartition(o.topic, o.partition): o.offset for o in done})

    def _committed(self, places: list[ClientPartition]) -> list[ClientPartition]:
        """Return stable offsets: what is in doubt would be sent again."""
        due = time.monotonic() + ANSWER_S
        while True:
            try:
                found = self.consumer.committed(places, ANSWER_S)
                error = next((one.error for one in found if one.error), None)
            except KafkaException as raised:
                error = error_in(raised)
            if error is None:
                return found
            fault = self.client.fault_of(error, "Reading the positions of earlier runs")
            if not fault.retriable or time.monotonic() > due:
                raise fault
            time.sleep(_PAUSE_S)

    def send(self, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
        """Send rows: those sent, with `sent_bytes`, and those whose record is gone, with `reason`.

        Raises `ClusterFault` and KafkaException; nothing is sent then, unless the commit was not answered.
        """
        contents, reasons = _contents(self.client.connection, rows)
        self.producer.begin_transaction()
        refused: list[tuple[Row, KafkaError]] = []
        sent, gone = list[Row](), list[Row]()
        for row in rows:
            content = contents.get(_source(row))
            if content is None:
                gone.append({**row, "reason": reasons.get(_source(row), _NO_RECORD)})
            elif not refused:
                self._produce(row, content, refused)
                sent.append(
                    {**row, "sent_bytes": len(content.key or b"") + len(content.value or b"")}
                )
        if not refused:
            self.producer.flush(ANSWER_S)
        if refused:
            row, error = refused[0]
            doing = f"Sending {_letter(row)} to {row['target_topic']}"
            raise self.client.fault_of(error, doing)
        positions = [
            ClientPartition(*where, offset, metadata=self.digest)
            for where, offset in positions_after(rows).items()
        ]
        group = self.consumer.consumer_group_metadata()
        self.producer.send_offsets_to_transaction(positions, group, ANSWER_S)
        self.producer.commit_transaction(ANSWER_S)
        return sent, gone

    def _produce(
        self, row: Row, content: PlainRecord, refused: list[tuple[Row, KafkaError]]
    ) -> None:
        is_sent, count, number = (
            row["action"] == Action.SEND,
            row["replays"],
            row["target_partition"],
        )
        headers = replay_headers(
            content.headers,
            _letter(row),
            self.plan_id,
            None if count is None else count + is_sent,
            is_failed=not is_sent or _source(row) != _letter(row),
        )
        try:
            self.producer.produce(
                row["target_topic"],
                content.value,
                content.key,
                headers=headers,  # type: ignore[arg-type]
                on_delivery=partial(_hear, refused, row),
                **({} if number is None else {"partition": number}),
            )
        except KafkaException as raised:
            refused.append((row, error_in(raised)))


def _hear(
    refused: list[tuple[Row, KafkaError]], row: Row, error: KafkaError | None, _message: object
) -> None:
    if error is not None:
        refused.append((row, error))


def _contents(
    connection: Connection, rows: Sequence[Row]
) -> tuple[dict[Place, PlainRecord], dict[Place, str]]:
    """Return the sources that are still there, and reasons why others are not."""
    contents: dict[Place, PlainRecord] = {}
    reasons: dict[Place, str] = {}
    spans = {}
    for row in rows:
        where = TopicPartition(row["from_topic"], row["from_partition"])
        spans[where] = Span("cluster", *where, 0, 0, 0, 0, row["from_topic_id"] or "")
    with Clusters(Reading({"cluster": connection})) as clusters:
        for work in works_near(spans, map(_source, rows)):
            (span,), wanted = work.spans, set(work.extra["offsets"])
            reader = SpanReader(clusters, span)
            for chunk in reader:
                if chunk.records is not None:
                    for index, offset in enumerate(chunk.records.offsets.tolist()):
                        # A batch may begin before the log does.
                        is_there = offset >= span.start + reader.outcome.removed
                        if is_there and offset in wanted:
                            place = Place(span.topic, span.partition, offset)
                            contents[place] = _record_of(place, chunk.records, index)
            outcome = reader.outcome
            unreadable = next((f"Its batch {why}." for _, why in outcome.unreadable), "")
            removed = "It was removed from the log." if outcome.removed else ""
            text = outcome.fault or unreadable or removed or _NO_RECORD
            reasons |= {Place(span.topic, span.partition, offset): text for offset in wanted}
    return contents, reasons


def _letter(row: Row) -> Place:
    return Place(row["topic"], row["partition"], row["offset"])


def _source(row: Row) -> Place:
    return Place(row["from_topic"], row["from_partition"], row["from_offset"])


def _record_of(place: Place, records: RecordColumns, index: int) -> PlainRecord:
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
    return PlainRecord(*place, None, records.key(index), records.value(index), headers)
