"""Voter sets, leaders and anomalies over time, from the records of a metadata log. Pure.

A voter set holds from the offset of its record on, committed or not (KIP-853). Before kraft.version 1 the
voters are in configuration files, and the log knows their ids only, from LEADER_CHANGE. What is missing
between records is an unknown range, never filled in. A tail that a later epoch overwrote is cut
off, and the voters it had set are kept apart in `overwritten`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from jobs.quorum.timeline.parts import (
    Anomaly,
    ControllerGap,
    Election,
    EpochSpan,
    KraftVersionEntry,
    VoterSetEntry,
)
from jobs.quorum.timeline.reader import TimelineReader
from jobs.quorum.voters.control_scan import ControlItem
from jobs.quorum.voters.voter_sets import VoterSet


@dataclass(frozen=True, slots=True)
class VoterTimeline:
    """The history of a quorum, each part in the order of offsets.

    `entries` are voter sets with what changed, `overwritten` those that were never committed because a
    later epoch cut them off. `unknown` are ranges [from, to) of offsets whose records are missing.
    `high_watermark` is the one that was given; `snapshot_end` the first offset behind the last snapshot:
    snapshots hold committed records only. Both None when not known. `kraft_version` is the last one by its
    control records; None when the beginning is missing and none says. `anomalies_left_out` counts, by code,
    those beyond the first thousand. `first_offset` and `end_offset` frame what was read of the log; None
    when there was no record. `is_cut_short`: what is behind `end_offset` is damaged.
    """

    entries: tuple[VoterSetEntry, ...]
    elections: tuple[Election, ...]
    epochs: tuple[EpochSpan, ...]
    silences: tuple[ControllerGap, ...]
    kraft_versions: tuple[KraftVersionEntry, ...]
    unknown: tuple[tuple[int, int], ...]
    overwritten: tuple[VoterSetEntry, ...]
    anomalies: tuple[Anomaly, ...]
    anomalies_left_out: dict[str, int]
    first_offset: int | None
    end_offset: int | None
    high_watermark: int | None
    snapshot_end: int | None
    kraft_version: int | None
    is_cut_short: bool = False

    @property
    def current(self) -> VoterSetEntry | None:
        """The last voter set, committed or not: the one that elects and commits."""
        return self.entries[-1] if self.entries else None

    @property
    def committed(self) -> VoterSetEntry | None:
        """The last voter set known to be committed."""
        return next((entry for entry in reversed(self.entries) if entry.is_committed), None)

    @property
    def controller_gaps(self) -> tuple[ControllerGap, ...]:
        """The times without an active controller: silences, and shorter gaps before elections."""
        silent = {one.to_offset for one in self.silences}
        short = (
            ControllerGap(
                one.offset - 1,
                one.offset,
                one.timestamp_ms - one.gap_ms,
                one.timestamp_ms,
                is_election=True,
            )
            for one in self.elections
            if one.gap_ms is not None and one.gap_ms > 0 and one.offset not in silent
        )
        return tuple(sorted((*self.silences, *short), key=lambda one: one.to_offset))

    @property
    def is_current_known(self) -> bool:
        """Whether `current` still holds at the end: no record behind it is missing or damaged."""
        if self.current is None or self.is_cut_short:
            return False
        return not self._is_unsure(self.current.offset, None)

    def voters_at(self, offset: int) -> VoterSet | None:
        """Return the voters when the record at an offset was written; None when unknown.

        Unknown: a missing range, and what follows until a record or a snapshot has the voters again.
        """
        found = [entry for entry in self.entries if entry.offset <= offset]
        if not found or self._is_unsure(found[-1].offset, offset):
            return None
        return found[-1].voters

    def _is_unsure(self, since: int, until: int | None) -> bool:
        return any(start > since and (until is None or start <= until) for start, _ in self.unknown)


def read_voter_timeline(
    records: Iterable[ControlItem],
    *,
    high_watermark: int | None = None,
    snapshot_end: int | None = None,
) -> VoterTimeline:
    """Return the timeline of a log, whose records come in its order, snapshots where they belong.

    `LogFolder.records` and, much quicker, `control_scan.control_items` yield them.
    `high_watermark` is that of DescribeQuorum or of a fetch: what lies at it or behind it is not committed
    yet. Files of a log do not say it, but their snapshots hold committed records only: `snapshot_end` is the
    offset of the latest one, also when it is not among the records. Bad records never raise: they are
    anomalies.
    """
    reader = TimelineReader()
    for record in records:
        reader.take(record)
    reader.finish()
    return timeline_of(reader, high_watermark, snapshot_end)


def timeline_of(
    reader: TimelineReader, high_watermark: int | None, snapshot_end: int | None = None
) -> VoterTimeline:
    """Return the timeline of what a reader has taken so far, for a log that is still growing."""
    ends = (snapshot_end, reader.snapshot_end)
    snapshot_end = max((end for end in ends if end is not None), default=None)
    return VoterTimeline(
        entries=tuple(_judged(entry, high_watermark, snapshot_end) for entry in reader.entries),
        elections=tuple(reader.elections),
        epochs=tuple(reader.epochs),
        silences=tuple(reader.silences),
        kraft_versions=tuple(reader.kraft_versions),
        unknown=tuple(reader.unknown),
        overwritten=tuple(replace(entry, is_committed=False) for entry in reader.overwritten),
        anomalies=tuple(reader.anomalies.kept),
        anomalies_left_out=dict(reader.anomalies.left_out),
        first_offset=reader.first_offset,
        end_offset=reader.next_offset,
        high_watermark=high_watermark,
        snapshot_end=snapshot_end,
        kraft_version=reader.kraft_version,
        is_cut_short=reader.is_cut_short,
    )


def _judged(
    entry: VoterSetEntry, high_watermark: int | None, snapshot_end: int | None
) -> VoterSetEntry:
    """Say whether a set is committed: below a snapshot's end it is, behind it only a high watermark tells."""
    known = max((one for one in (high_watermark, snapshot_end) if one is not None), default=None)
    is_committed: bool | None = known is not None and entry.offset < known
    return replace(entry, is_committed=is_committed or (None if high_watermark is None else False))
