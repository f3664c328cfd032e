"""Made logs as the files of a real folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata.control_records import encode_control_record
from jobs.wire.metadata.log import LogRecord
from jobs.wire.metadata.records import encode_metadata_record
from tests.jobs.wire.metadata.snapshot_writer import segment_file_name


def write_folder(folder: Path, records: Iterable[LogRecord]) -> Path:
    """Write records as one segment of a `__cluster_metadata-0` folder, in the batches they say."""
    batches: dict[int, list[LogRecord]] = {}
    for record in records:
        batches.setdefault(record.batch_offset, []).append(record)
    log = folder / "__cluster_metadata-0"
    log.mkdir(parents=True)
    content = b"".join(_batch(batch) for batch in batches.values())
    (log / segment_file_name(min(batches))).write_bytes(content)
    return log


def _batch(records: list[LogRecord]) -> bytes:
    first = records[0]
    placed = [PlacedRecord(one.offset, one.timestamp_ms, *_key_and_value(one)) for one in records]
    return encode_batch(placed, partition_leader_epoch=first.epoch, is_control=first.is_control)


def _key_and_value(record: LogRecord) -> tuple[bytes | None, bytes]:
    if record.is_control:
        return encode_control_record(record.type, record.data)
    return None, encode_metadata_record(record.type, 0, record.data)
