"""Offset syncs from a dump of their topic: a JSON document a line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.wire.errors import RecordFormatError
from jobs.wire.mirror_records import OffsetSync, decode_offset_sync

_Record = tuple[tuple[int, int], bytes | None, bytes | None]
COLUMNS = ("partition", "offset", "timestamp", "key_hex", "value_hex")


class BadDump(ValueError):
    """A line that is no record of a dump; the message names the line."""


@dataclass(slots=True)
class SyncDump:
    """What a dump holds: syncs by source partition in the order of the log, and what is none.

    `refused` counts records that are no offset syncs, by reason; tombstones are among them.
    """

    syncs: dict[TopicPartition, list[tuple[int, int]]] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)


def read_dump(lines: Iterable[str]) -> SyncDump:
    """Read lines of `{"partition", "offset", "timestamp", "key_hex", "value_hex"}`; null is no key or value.

    Records that are no offset syncs are counted and passed by, as compaction and foreign producers leave
    them. Raises `BadDump`.
    """
    dump = SyncDump()
    for _, key, value in sorted(_records(lines), key=lambda record: record[0]):
        try:
            _add(dump, decode_offset_sync(key, value))
        except RecordFormatError as error:
            dump.refused[error.problem] += 1
    return dump


def _records(lines: Iterable[str]) -> Iterator[_Record]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            place = (int(row["partition"]), int(row["offset"]))
            yield place, _bytes(row["key_hex"]), _bytes(row["value_hex"])
        except (ValueError, TypeError, KeyError) as error:
            raise BadDump(
                f"line {number} is no record of a dump ({type(error).__name__}: {error}); a line is a JSON "
                f"object with {', '.join(COLUMNS)}"
            ) from None


def _bytes(text: Any) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def _add(dump: SyncDump, sync: OffsetSync) -> None:
    where = TopicPartition(sync.topic, sync.partition)
    pair = (sync.upstream_offset, sync.downstream_offset)
    dump.syncs.setdefault(where, []).append(pair)
