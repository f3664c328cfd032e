"""Writes the tables of a metadata log: a share of its partitions by compiled loops, all else in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.cluster.network_addresses import host_text
from jobs.quorum.history.changes import (
    Anomaly,
    AnomalyKind,
    AnyChange,
    BrokerChange,
    Change,
    ConfigChange,
    FeatureChange,
    TopicChange,
)
from jobs.quorum.history.histories import LogItem, read_changes
from jobs.quorum.log.folder import LogFolder
from jobs.quorum.log_tables.schemas import SCHEMAS
from jobs.quorum.replay.arrow import write_history
from jobs.quorum.replay.folder import FolderReplay
from jobs.quorum.replay.framing import FramedColumns
from jobs.quorum.replay.sparse import RunsOf, sparse_items
from jobs.quorum.timeline.anomalies import UNFINISHED
from jobs.quorum.timeline.parts import ControllerGap, Election, VoterSetEntry
from jobs.quorum.timeline.reader import SNAPSHOT_FOOTER, SNAPSHOT_HEADER, TimelineReader
from jobs.quorum.voters.control_scan import ControlItem, items_before
from jobs.quorum.voters.voter_sets import ReplicaKey, VoterNode
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.log import LogRecord, PassedBatch

PARTITION_CHANGES = "partition_changes"
_AT_ONCE = 20_000
_MOST_DAMAGE = 100
# Gaps and damage are written separately.
_TOLD_OTHERWISE = {AnomalyKind.GAP, AnomalyKind.DAMAGE}


def write_partitions(
    folder: LogFolder,
    output: Path,
    shard: int,
    shards: int,
    pieces: Iterable[FramedColumns] | None = None,
) -> dict[str, Any]:
    """Write the changes of a share of the partitions, each whole and in the order of offsets.

    `pieces` are what the share needs of the log, without them it is read from the folder. Returns JSON
    values: `rows`, and `anomalies` by kind.
    """
    replay = FolderReplay(folder, shard, shards, pieces)
    target = output / PARTITION_CHANGES
    target.mkdir(parents=True, exist_ok=True)
    rows = write_history(target / f"part-{shard}.parquet", replay.histories())
    # Records that a snapshot has already are not gone back to: of others, the other pass tells.
    counted = {kind for kind in replay.replay.anomalies if kind != AnomalyKind.OFFSET_WENT_BACK}
    return {"rows": rows, "anomalies": {str(one): replay.replay.anomalies[one] for one in counted}}


def write_beside_partitions(
    folder: LogFolder, output: Path, runs_of: RunsOf | None = None
) -> dict[str, Any]:
    """Write all other tables in one pass; `runs_of`: see `sparse_items`.

    Returns JSON values: `rows` by table, `first_offset` and `end_offset`, `first_ms` and `last_ms` (of
    records in segments; null: there are none), `records` in them, `gaps` as [from, to), `damage` in
    sentences, `tail` (a sentence about an unfinished end; empty: there is none), `anomalies` by kind,
    `begins_with_snapshot`, `is_cut_short`.
    """
    pass_ = _Pass(output)
    pass_.begin(items_before(folder))
    for change in read_changes(pass_.seen(sparse_items(folder, runs_of))):
        told = change_row(change)
        if told is not None:
            pass_.add(*told)
        elif isinstance(change, Anomaly) and change.anomaly not in _TOLD_OTHERWISE:
            pass_.anomalies[change.anomaly.value] += 1
    return pass_.finish()


class _Pass:
    """One reading of a log: rows on their way to files, and what is known of it as a whole."""

    def __init__(self, output: Path) -> None:
        self.anomalies: Counter[str] = Counter()
        self._timeline = TimelineReader()
        self._rows: dict[str, list[Row]] = {}
        self._counts = dict.fromkeys((one for one in SCHEMAS if one != PARTITION_CHANGES), 0)
        self._writers: dict[str, pq.ParquetWriter] = {}
        for name in self._counts:
            (output / name).mkdir(parents=True, exist_ok=True)
            path = output / name / "part-0.parquet"
            self._writers[name] = pq.ParquetWriter(path, SCHEMAS[name], compression="zstd")
        self._first_ms: int | None = None
        self._last_ms: int | None = None
        self._damage: list[str] = []
        self._damage_count = 0
        self._tail = ""
        self._records = 0
        self._is_in_snapshot = self._begins_with_snapshot = False

    def begin(self, items: Iterator[ControlItem]) -> None:
        """Let the timeline know who was elected before the snapshot at which the reading begins."""
        for item in items:
            self._timeline.take(item)
        # The tables begin with the snapshot all the same.
        self._timeline.first_offset = None

    def seen(self, items: Iterator[LogItem]) -> Iterator[LogItem]:
        """Pass items on, after they were taken note of."""
        for item in items:
            self._timeline.take(item)
            self._note(item)
            yield item

    def add(self, name: str, row: Row) -> None:
        rows = self._rows.setdefault(name, [])
        rows.append(row)
        if len(rows) >= _AT_ONCE:
            self._flush(name)

    def finish(self) -> dict[str, Any]:
        """Write what is left, and return what is known of the log."""
        self._timeline.finish()
        ended = {span.epoch: span.last_ms for span in self._timeline.epochs}
        for entry in self._timeline.entries:
            self.add("voter_sets", voter_set_row(entry))
        for one in self._timeline.elections:
            self.add("elections", election_row(one, ended.get(one.epoch)))
        for gap in self._timeline.silences:
            self.add("silences", silence_row(gap))
        for name, writer in self._writers.items():
            self._flush(name)
            writer.close()
        return {
            "rows": self._counts,
            "first_offset": self._timeline.first_offset or 0,
            "end_offset": self._timeline.next_offset or 0,
            "first_ms": self._first_ms,
            "last_ms": self._last_ms,
            "records": self._records,
            "gaps": [list(gap) for gap in self._timeline.unknown],
            "begins_with_snapshot": self._begins_with_snapshot,
            "damage": [*self._damage, *self._more_damage()],
            "tail": self._tail,
            "is_cut_short": self._timeline.is_cut_short,
            "anomalies": dict(self.anomalies),
        }

    def _note(self, item: LogItem) -> None:
        if isinstance(item, PassedBatch):
            self._count(item.end_offset - item.offset, item.timestamp_ms)
            self._count(0, item.timestamp_ms if item.end_ms is None else item.end_ms)
        elif isinstance(item, LogRecord):
            if item.is_control and item.type == SNAPSHOT_HEADER:
                self._is_in_snapshot = True
                self._begins_with_snapshot = self._begins_with_snapshot or not self._records
            if not self._is_in_snapshot:
                self._count(1, item.timestamp_ms)
            elif item.is_control and item.type == SNAPSHOT_FOOTER:
                self._is_in_snapshot = False
        elif isinstance(item, LogDamage):
            self._note_damage(item)

    def _note_damage(self, item: LogDamage) -> None:
        if item.is_tail:
            self._tail = f"{UNFINISHED} before offset {item.expected}: {item.sentence}."
            return
        self._damage_count += 1
        if self._damage_count <= _MOST_DAMAGE:
            self._damage.append(item.sentence)

    def _more_damage(self) -> list[str]:
        more = self._damage_count - len(self._damage)
        return [f"{more:,} more places"] if more else []

    def _count(self, records: int, at_ms: int) -> None:
        self._records += records
        self._first_ms = at_ms if self._first_ms is None else min(self._first_ms, at_ms)
        self._last_ms = at_ms if self._last_ms is None else max(self._last_ms, at_ms)

    def _flush(self, name: str) -> None:
        rows = self._rows.pop(name, [])
        if rows:
            self._counts[name] += len(rows)
            self._writers[name].write_table(pa.Table.from_pylist(rows, schema=SCHEMAS[name]))


# From a change, a voter set or an election to its row in a table.

Row = dict[str, Any]


def change_row(change: AnyChange) -> tuple[str, Row] | None:
    """Return the table of a change and its row; None for one that has no table."""
    told = _TABLES.get(type(change))
    if told is None:
        return None
    name, own = told
    return name, {**_place(change), **own(change)}


def voter_set_row(entry: VoterSetEntry) -> Row:
    voters = sorted(entry.voters, key=lambda voter: voter.id)
    return {
        "offset": entry.offset,
        "epoch": entry.epoch,
        "timestamp_ms": entry.timestamp_ms,
        "voter_ids": [voter.id for voter in voters],
        "voters": _named(voters),
        "added": _named(entry.change.added),
        "removed": _named(entry.change.removed),
        "source": entry.source.value,
        "is_static": entry.is_static,
        "is_after_gap": entry.is_after_gap,
    }


def election_row(election: Election, ended_ms: int | None) -> Row:
    """Return the row of an election; `ended_ms` is the time of the leader's last record."""
    return {
        "offset": election.offset,
        "epoch": election.epoch,
        "timestamp_ms": election.timestamp_ms,
        "leader_id": election.leader_id,
        "previous_leader_id": election.previous_leader_id,
        "voter_ids": [key.id for key in election.voters],
        "granting_ids": [key.id for key in election.granting],
        "gap_ms": election.gap_ms,
        "skipped_epochs": election.skipped_epochs,
        "ended_ms": ended_ms,
    }


def silence_row(gap: ControllerGap) -> Row:
    """Return the row of a time in which no controller wrote."""
    return {
        "from_offset": gap.from_offset,
        "to_offset": gap.to_offset,
        "from_ms": gap.from_ms,
        "to_ms": gap.to_ms,
        "is_election": gap.is_election,
    }


def _place(change: Change) -> Row:
    return {
        "offset": change.offset,
        "effective_offset": change.effective_offset,
        "epoch": change.epoch,
        "timestamp_ms": change.timestamp_ms,
        "not_after_ms": change.not_after_ms,
        "cause": change.cause.value,
    }


def _broker(change: BrokerChange) -> Row:
    same = (
        "broker_id",
        "rack",
        "incarnation_id",
        "broker_epoch",
        "is_fenced",
        "in_controlled_shutdown",
        "is_removed",
        "previous_is_fenced",
        "previous_rack",
    )
    endpoints = [f"{one.name}://{host_text(one.host)}:{one.port}" for one in change.endpoints]
    return {**{name: getattr(change, name) for name in same}, "endpoints": endpoints}


def _config(change: ConfigChange) -> Row:
    same = ("resource_type", "resource_name", "name", "value", "previous_value")
    return {name: getattr(change, name) for name in same}


def _feature(change: FeatureChange) -> Row:
    return {name: getattr(change, name) for name in ("name", "level", "previous_level")}


def _topic(change: TopicChange) -> Row:
    return {name: getattr(change, name) for name in ("topic_id", "topic", "is_removed")}


def _named(voters: Iterable[VoterNode | ReplicaKey]) -> list[str]:
    return [f"{one.id}@{one.directory_id}" if one.directory_id else str(one.id) for one in voters]


_TABLES: dict[type[Any], tuple[str, Callable[[Any], Row]]] = {
    BrokerChange: ("broker_changes", _broker),
    ConfigChange: ("config_changes", _config),
    FeatureChange: ("features", _feature),
    TopicChange: ("topic_changes", _topic),
}
