"""Offset syncs from a dump of their topic: a JSON document a line."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TextIO

import numpy as np

from jobs.cluster.descriptions import TopicPartition
from jobs.json_text import fault_of, parse_json
from jobs.replication.offset_syncs.archive import translator_of
from jobs.replication.offset_syncs.sync_rows import SyncRows, sync_table
from jobs.replication.translation.bounds import NOTHING_KNOWN, Facts
from jobs.replication.translation.translator import Translator
from jobs.wire.mirror_records import OffsetSync
from jobs.wire.topics.offset_syncs import refusal

COLUMNS = ("partition", "offset", "timestamp", "key_hex", "value_hex")
# A sync of the longest topic has 2 x (2 + 249 + 4 + 16) digits; records of somebody else may be longer.
LONGEST_LINE = 1 << 20
# Ten million syncs take half a gigabyte; more of them belong into an archive.
MOST_SYNCS = 10_000_000


class BadDump(ValueError):
    """A line that is no record of a dump; the message names the line."""


@dataclass(slots=True)
class SyncDump:
    """What a dump holds: the partitions it tells of, and what is no offset sync.

    `refused` counts records that are no offset syncs, by reason; tombstones are among them.
    """

    numbers: dict[TopicPartition, int] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    # Place in the log (partition, offset), number of the source partition, both offsets.
    _columns: tuple[array[int], ...] = field(
        default_factory=lambda: tuple(array("q") for _ in range(5))
    )

    def add(self, place: tuple[int, int], sync: OffsetSync) -> None:
        """Take an offset sync at (partition, offset) of the topic."""
        where = TopicPartition(sync.topic, sync.partition)
        number = self.numbers.setdefault(where, len(self.numbers))
        values = (*place, number, sync.upstream_offset, sync.downstream_offset)
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)

    def __len__(self) -> int:
        return len(self._columns[0])

    def translator(self, *, facts: Facts = NOTHING_KNOWN) -> Translator:
        """Return what the dump has to say; its syncs count in the order of the log."""
        columns = [np.array(column, np.int64) for column in self._columns]
        order = np.lexsort((columns[1], columns[0]))
        partition, upstream, downstream = (column[order] for column in columns[2:])
        rows = SyncRows.without_links(
            partition, upstream, downstream, np.zeros(len(order), np.int64)
        )
        return translator_of(sync_table(tuple(self.numbers), rows), facts=facts)


def read_dump(lines: Iterable[str]) -> SyncDump:
    """Read lines of `{"partition", "offset", "timestamp", "key_hex", "value_hex"}`; null is no key or value.

    Records that are no offset syncs are counted and passed by, as compaction and foreign producers leave
    them. Raises `BadDump`, also for more than `MOST_SYNCS`.
    """
    dump = SyncDump()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place, key, value = _record(number, line)
        sync = refusal(key, value)
        if isinstance(sync, str):
            dump.refused[sync] += 1
        elif len(dump) >= MOST_SYNCS:
            raise BadDump(
                f"line {number}: more than {MOST_SYNCS:,} offset syncs; follow the topic into an archive, "
                "and ask that with --archive"
            )
        else:
            dump.add(place, sync)
    return dump


def bounded_lines(file: TextIO) -> Iterator[str]:
    """Yield the lines of a file of any size, of which none may be very long; raises `BadDump`."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise BadDump(
                f"line {number} is longer than {LONGEST_LINE:,} characters: it is no dump"
            )
        yield line


def _record(number: int, line: str) -> tuple[tuple[int, int], bytes | None, bytes | None]:
    try:
        row = parse_json(line)
        place = (_offset(row["partition"]), _offset(row["offset"]))
        return place, _bytes(row["key_hex"]), _bytes(row["value_hex"])
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise BadDump(
            f"line {number} is no record of a dump: {fault_of(error)}; a line is a JSON object with "
            f"{', '.join(COLUMNS)}"
        ) from None


def _offset(value: Any) -> int:
    found = int(value)
    if not 0 <= found < 1 << 63:
        raise ValueError(f"{found} is no offset")
    return found


def _bytes(text: Any) -> bytes | None:
    return None if text is None else bytes.fromhex(text)
