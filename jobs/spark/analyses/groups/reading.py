"""One partition of `__consumer_offsets` in a task: records of groups are decoded, offset commits are not."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.limits import GROUP_ID, GROUPS, short
from jobs.patterns.matching import Matcher, glob_expression
from jobs.spark.analyses.groups.assignments import Member, member_of
from jobs.spark.analyses.groups.following import Group, Told
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import SpanReader
from jobs.spark.analyses.records.store_history import Gaps
from jobs.streams.collection.capture import rebalances_in
from jobs.wire.errors import RecordFormatError
from jobs.wire.rebatch.columns import RecordColumns
from jobs.wire.rebatch.table import Int64s
from jobs.wire.topics import group_epochs as wire

_ALWAYS = 1 << 62
_MOST_CLIENTS = 10_000
COUNTED = ("rebalances", "moves", "undecodable", "groups_left_out", "clients_left_out")


def reduce_groups(
    readers: Sequence[SpanReader], work: Work, options: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Return rows of `rebalances`, `moves`, `groups`, `members` and one of `partitions`, of what was read.

    Options: `names` and `globs` of groups (None: all), `from_ms`, `most` rebalances and moves each.
    """
    (reader,) = readers
    span, gaps = reader.span, Gaps(_ALWAYS)
    groups = _Groups(options, is_partial=span.is_cut or span.log_start > 0)
    for chunk in reader:
        records = chunk.records
        if records is None or not len(records):
            continue
        gaps.take(records.offsets, records.times, reader.left_out)
        for index in group_records(records):
            groups.take(records, int(index), is_whole=not gaps.before)
    told = [one for one in groups.rows() if one[0] is not None]
    clients = [row for _, own in told for row in own]
    clients.sort(key=lambda row: (-row["is_flapping"], -row["leaves"]))
    groups.told.counts["clients_left_out"] += len(clients[_MOST_CLIENTS:])
    row = {
        "partition": span.partition,
        "records": reader.outcome.records,
        "removed": gaps.before,
        **{name: groups.told.counts[name] for name in COUNTED},
    }
    tables = {
        "rebalances": groups.told.rebalances,
        "moves": groups.told.moves,
        "groups": [group for group, _ in told],
        "members": clients[:_MOST_CLIENTS],
        "partitions": [row],
    }
    return {name: pa.Table.from_pylist(list(rows)) for name, rows in tables.items()}


def group_records(records: RecordColumns) -> Int64s:
    """Return the indices of records whose key has a number that is read."""
    found = np.flatnonzero(records.key_bytes >= 2)  # noqa: PLR2004  the bytes of a number
    body, at = np.frombuffer(records.body, np.uint8), records.key_at[found]
    is_wanted = (body[at] == 0) & np.isin(body[at + 1], wire.NUMBERS)
    wanted: Int64s = found[is_wanted]
    return wanted


class _Groups:
    """The groups of a partition that were chosen."""

    def __init__(self, options: Mapping[str, Any], *, is_partial: bool) -> None:
        most = options["most"]
        self.told = Told(deque[Any](maxlen=most), deque[Any](maxlen=most))
        self._names = options["names"] and frozenset(options["names"])
        self._matcher = Matcher([glob_expression(one) for one in options["globs"]])
        self._from_ms, self._is_partial = options["from_ms"], is_partial
        self._groups: dict[str, Group | None] = {}

    def take(self, records: RecordColumns, index: int, *, is_whole: bool) -> None:
        """Take a record; `is_whole`: no record before it is missing."""
        try:
            key = wire.decode_group_key(records.key(index) or b"")
            group = self._group(key.group, is_new=is_whole and not self._is_partial)
            if group is not None:
                _tell(group, key, records, index)
        except RecordFormatError:
            self.told.counts["undecodable"] += 1

    def rows(self) -> list[tuple[Any, list[Any]]]:
        """Return the rows of each group and its clients."""
        chosen = [one for one in self._groups.values() if one is not None]
        for one in chosen:
            one.finish()
        return [one.rows() for one in chosen]

    def _group(self, group_id: str, *, is_new: bool) -> Group | None:
        if group_id in self._groups:
            return self._groups[group_id]
        if not self._is_chosen(group_id):
            return None
        if len(self._groups) >= GROUPS:
            self.told.counts["groups_left_out"] += 1
            return None
        name, is_partial = short(group_id, GROUP_ID), self._is_partial
        group = Group(name, self.told, self._from_ms, is_new=is_new, is_partial=is_partial)
        self._groups[group_id] = group
        return group

    def _is_chosen(self, group_id: str) -> bool:
        return self._names is None or group_id in self._names or self._matcher.matches(group_id)


def _tell(group: Group, key: wire.GroupKey, records: RecordColumns, index: int) -> None:
    value, at_ms = records.value(index), int(records.times[index])
    protocol = "streams" if key.number >= wire.STREAMS_EPOCH else "consumer"
    if key.number == wire.CLASSIC:
        if value is None:
            group.delete("classic", at_ms)
            return
        found = list(rebalances_in([(records.key(index), value)]))
        if not found:
            raise RecordFormatError("group record", "its value cannot be read")
        group.complete(found[0], at_ms)
    elif key.number in wire.EPOCHS:
        if value is None:
            group.delete(protocol, at_ms)
        else:
            group.bump(protocol, wire.decode_epoch(value), at_ms)
    elif key.number in wire.MEMBERS:
        group.member(protocol, key.member, None if value is None else _member(key, value))
    else:
        current = None if value is None else wire.decode_current(key.number, value)
        group.current(protocol, key.member, current, at_ms)


def _member(key: wire.GroupKey, value: bytes) -> Member:
    one = wire.decode_epoch_member(value)
    return member_of(key.member, one.client_id, one.instance_id, one.host)
