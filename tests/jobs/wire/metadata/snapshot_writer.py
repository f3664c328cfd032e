"""Metadata snapshots as a controller writes them, and the names of files in the log's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata.control_records import encode_control_record


def snapshot_file_name(offset: int, epoch: int) -> str:
    """Return the name of a finished snapshot."""
    return f"{offset:020d}-{epoch:010d}.checkpoint"


def segment_file_name(base_offset: int) -> str:
    """Return the name of the segment that begins at an offset."""
    return f"{base_offset:020d}.log"


class SnapshotWriter:
    """Writes a snapshot as a controller does: a header batch, batches of records, a footer batch.

    `voters` are those of a KRAFT_VOTERS record's data; with `kraft_version` 0 there are none, and giving some
    raises ValueError. An append after `freeze` raises RuntimeError.
    """

    def __init__(
        self,
        *,
        epoch: int,
        last_contained_log_timestamp_ms: int,
        written_at_ms: int | None = None,
        kraft_version: int = 0,
        voters: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        if voters is not None and kraft_version == 0:
            raise ValueError("with kraft.version 0 a snapshot has no voters")
        self._epoch = epoch
        self._time = written_at_ms or last_contained_log_timestamp_ms
        self._parts: list[bytes] = []
        self._next_offset = 0
        self._is_frozen = False
        header = {"lastContainedLogTimestamp": last_contained_log_timestamp_ms}
        control: list[tuple[str, Mapping[str, Any]]] = [("SNAPSHOT_HEADER", header)]
        if kraft_version:
            control.append(("KRAFT_VERSION", {"kRaftVersion": kraft_version}))
        if voters is not None:
            control.append(("KRAFT_VOTERS", {"voters": voters}))
        self._add([encode_control_record(*one) for one in control], is_control=True)

    def append(self, values: Sequence[bytes]) -> None:
        """Append record values, with their frame, as one batch."""
        self._add([(None, value) for value in values], is_control=False)

    def freeze(self) -> bytes:
        """Append the footer and return the whole file."""
        self._add([encode_control_record("SNAPSHOT_FOOTER", {})], is_control=True)
        self._is_frozen = True
        return b"".join(self._parts)

    def _add(self, records: Sequence[tuple[bytes | None, bytes]], *, is_control: bool) -> None:
        if self._is_frozen:
            raise RuntimeError("the snapshot is finished: nothing can be appended")
        placed = [
            PlacedRecord(self._next_offset + index, self._time, key, value)
            for index, (key, value) in enumerate(records)
        ]
        self._next_offset += len(placed)
        self._parts.append(
            encode_batch(placed, partition_leader_epoch=self._epoch, is_control=is_control)
        )
