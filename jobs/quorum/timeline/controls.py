"""What the control records of a metadata log say: voter sets, elections, kraft.version. Pure.

Source: KIP-595 (LEADER_CHANGE), KIP-853 (KRAFT_VERSION, KRAFT_VOTERS). FeatureLevelRecords of the name
kraft.version are not looked at: some versions of Kafka wrote wrong ones (KAFKA-18979).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from jobs.json_text import fault_of
from jobs.quorum.timeline.anomalies import Anomalies, change_faults, election_faults
from jobs.quorum.timeline.parts import (
    AnomalyCode,
    Election,
    EntrySource,
    KraftVersionEntry,
    VoterSetEntry,
)
from jobs.quorum.voters.voter_change import Departures
from jobs.quorum.voters.voter_sets import ReplicaKey, VoterSet
from jobs.wire.metadata.log import LogRecord

LEADER_CHANGE, UNDECODABLE = "LEADER_CHANGE", "UNDECODABLE"
KRAFT_VERSION, KRAFT_VOTERS = "KRAFT_VERSION", "KRAFT_VOTERS"


class TimelineControls:
    """Reads control records; who calls it has found that they belong where they stand."""

    def __init__(self) -> None:
        self.entries: list[VoterSetEntry] = []
        self.elections: list[Election] = []
        self.kraft_versions: list[KraftVersionEntry] = []
        self.overwritten: list[VoterSetEntry] = []
        self.anomalies = Anomalies()
        self.snapshot_end: int | None = None
        # Whether everything since the beginning is known, so that silence about kraft.version means 0.
        self.knows_beginning = False
        self.is_after_gap = False
        self._departures = Departures()
        self._static: tuple[LogRecord, VoterSet] | None = None

    @property
    def kraft_version(self) -> int | None:
        """The last kraft.version; None when no record said and the beginning is missing."""
        if self.kraft_versions:
            return self.kraft_versions[-1].kraft_version
        return 0 if self.knows_beginning else None

    def control(
        self, record: LogRecord, *, gap_ms: int | None, previous: int | None, skipped: int
    ) -> None:
        """Take a control record of the log."""
        try:
            if record.type == LEADER_CHANGE:
                self._elect(record, gap_ms, previous, skipped)
            elif record.type == KRAFT_VERSION:
                self._set_kraft_version(record)
            elif record.type == KRAFT_VOTERS:
                self._set_voters(record)
            elif record.type == UNDECODABLE:
                self._give_up(record, record.data.get("problem", "it cannot be decoded"))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self._give_up(record, error)

    def snapshot(self, records: list[LogRecord]) -> None:
        """Take the control records of a snapshot; their offset is the last one which it contains."""
        header = records[0]
        end_offset = header.offset + 1
        at_ms = header.data.get("lastContainedLogTimestamp") or None
        voters: VoterSet | None = None
        for record in records:
            try:
                if record.type == KRAFT_VERSION:
                    self._keep_kraft_version(record, end_offset - 1, at_ms)
                elif record.type == KRAFT_VOTERS:
                    voters = VoterSet.from_voters_record(record.data)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                self._give_up(record, error)
        self.knows_beginning = True
        if voters is not None:
            self._snapshot_voters(header, voters, end_offset - 1, at_ms)
        elif self.kraft_version == 0:
            self._confirm_static()
        self.is_after_gap = False
        self.snapshot_end = max(self.snapshot_end or 0, end_offset)

    def cut(self, offset: int) -> None:
        """Drop entries from an offset on; overwritten voters are kept apart."""
        self.overwritten += [entry for entry in self.entries if entry.offset >= offset]
        _drop(self.entries, lambda entry: entry.offset >= offset)
        _drop(self.elections, lambda election: election.offset >= offset)
        _drop(self.kraft_versions, lambda entry: entry.offset >= offset)

    def _give_up(self, record: LogRecord, error: Exception | str) -> None:
        """A control record that cannot be read may have changed the voters: they are unknown from here on."""
        why = error if isinstance(error, ValueError | str) else fault_of(error)
        self.anomalies.add(
            AnomalyCode.UNREADABLE_RECORD,
            record,
            f"The control record {record.type} at offset {record.offset} cannot be read: {why}",
        )
        self.is_after_gap = True

    def _set_kraft_version(self, record: LogRecord) -> None:
        before = self.kraft_version
        self._keep_kraft_version(record, record.offset, record.timestamp_ms)
        level = self.kraft_versions[-1].kraft_version
        if before is not None and level < before and not self.is_after_gap:
            self.anomalies.add(
                AnomalyCode.KRAFT_VERSION_LOWERED,
                record,
                f"kraft.version went from {before} to {level}: Kafka cannot lower it.",
                before=before,
            )

    def _keep_kraft_version(self, record: LogRecord, offset: int, at_ms: int | None) -> None:
        level = int(record.data["kRaftVersion"])
        last = self.kraft_versions[-1] if self.kraft_versions else None
        if last is None or last.kraft_version != level or last.offset < 0:
            self.kraft_versions.append(KraftVersionEntry(offset, record.epoch, at_ms, level))

    def _set_voters(self, record: LogRecord) -> None:
        voters = VoterSet.from_voters_record(record.data)
        self._static = None
        before = self._known_voters()
        change = self._departures.compare(self._last_voters(), voters, record.offset)
        faults = change_faults(before, change)
        if self.kraft_version == 0:
            faults.append(AnomalyCode.VOTERS_WITHOUT_KRAFT_VERSION)
        codes = self.anomalies.of_voters(faults, record, (before, voters, change))
        self.entries.append(
            VoterSetEntry(
                offset=record.offset,
                epoch=record.epoch,
                timestamp_ms=record.timestamp_ms,
                voters=voters,
                change=change,
                source=EntrySource.LOG,
                is_after_gap=self.is_after_gap and bool(self.entries),
                anomalies=codes,
            )
        )
        self.is_after_gap = False

    def _confirm_static(self) -> None:
        """Mark voters that an election named before kraft.version was known: a snapshot has none."""
        last = self.entries[-1] if self.entries else None
        if last is not None and last.source is EntrySource.LEADER_CHANGE and not last.is_static:
            self.entries[-1] = replace(last, is_static=True)

    def _snapshot_voters(
        self, header: LogRecord, voters: VoterSet, offset: int, at_ms: int | None
    ) -> None:
        last = self._last_voters()
        if last == voters and not self.is_after_gap:
            return
        codes: tuple[AnomalyCode, ...] = ()
        if last.voters and self._is_other(voters):
            sentence = (
                f"The snapshot up to {offset} has the voters {voters}, the log before it {last}."
            )
            codes = (self.anomalies.add(AnomalyCode.SNAPSHOT_DIFFERS, header, sentence),)
        self.entries.append(
            VoterSetEntry(
                offset=offset,
                epoch=header.epoch,
                timestamp_ms=at_ms,
                voters=voters,
                change=self._departures.compare(last, voters, offset),
                source=EntrySource.SNAPSHOT if offset >= 0 else EntrySource.BOOTSTRAP,
                is_after_gap=self.is_after_gap and bool(self.entries),
                anomalies=codes,
            )
        )

    def _is_other(self, voters: VoterSet) -> bool:
        """Whether a snapshot contradicts the log before it; of an election only the ids are known."""
        last = self.entries[-1]
        if self.is_after_gap or last.offset < 0:
            return False
        is_by_ids = last.source is EntrySource.LEADER_CHANGE
        return last.voters.ids != voters.ids if is_by_ids else last.voters != voters

    def _elect(
        self, record: LogRecord, gap_ms: int | None, previous: int | None, skipped: int
    ) -> None:
        said = record.data
        election = Election(
            offset=record.offset,
            epoch=record.epoch,
            timestamp_ms=record.timestamp_ms,
            leader_id=int(said["leaderId"]),
            voters=_keys(said["voters"]),
            granting=_keys(said.get("grantingVoters") or ()),
            gap_ms=gap_ms,
            previous_leader_id=previous,
            skipped_epochs=skipped,
        )
        ids = VoterSet.of_ids(key.id for key in election.voters)
        # Of a static quorum the elections are the only source: another answer is a change, no contradiction.
        is_told = bool(self.kraft_version)
        known = self._known_voters() if is_told else VoterSet()
        faults = election_faults(election, known)
        codes = self.anomalies.of_election(faults, record, election, known)
        self.elections.append(_with_faults(election, codes))
        differs = self._last_voters().ids != ids.ids
        if differs and (not is_told or self.is_after_gap or not self.entries):
            self._static = (record, ids)

    def _settle_static(self, *, unless_in: int | None = None) -> None:
        """Keep the ids of an election as voters, unless its own batch may still name them better."""
        if self._static is None or self._static[0].batch_offset == unless_in:
            return
        (record, voters), self._static = self._static, None
        before = self._known_voters()
        change = self._departures.compare(self._last_voters(), voters, record.offset)
        is_static = self.kraft_version == 0
        codes = self.anomalies.of_voters(
            change_faults(before, change, is_static=True), record, (before, voters, change)
        )
        self.entries.append(
            VoterSetEntry(
                offset=record.offset,
                epoch=record.epoch,
                timestamp_ms=record.timestamp_ms,
                voters=voters,
                change=change,
                source=EntrySource.LEADER_CHANGE,
                is_static=is_static,
                is_after_gap=self.is_after_gap and bool(self.entries),
                anomalies=codes,
            )
        )
        if is_static:
            self.is_after_gap = False

    def _last_voters(self) -> VoterSet:
        return self.entries[-1].voters if self.entries else VoterSet()

    def _known_voters(self) -> VoterSet:
        """Return the voters before the next record; none after a gap, and before any record of the log."""
        if self.is_after_gap or not self.entries or self.entries[-1].offset < 0:
            return VoterSet()
        return self.entries[-1].voters


def _with_faults(election: Election, codes: tuple[AnomalyCode, ...]) -> Election:
    return replace(election, anomalies=codes) if codes else election


def _keys(voters: Iterable[Mapping[str, Any]]) -> tuple[ReplicaKey, ...]:
    """Return the voters of a LEADER_CHANGE; version 0, the only one on disk so far, has no directories."""
    return tuple(ReplicaKey(int(one["voterId"]), one.get("voterDirectoryId")) for one in voters)


def _drop(parts: list[Any], is_gone: Callable[[Any], bool]) -> None:
    while parts and is_gone(parts[-1]):
        parts.pop()
