"""What a voter timeline is made of. Offsets order everything; times are other machines' clocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from jobs.quorum.voters.voter_change import VoterChange
from jobs.quorum.voters.voter_sets import ReplicaKey, VoterNode, VoterSet


class AnomalyCode(StrEnum):
    """What is not as Kafka writes it, or what cannot be known; the value is stable, for programs."""

    # Two majorities need not meet. Kafka 4 takes such a record (disaster recovery), and so does crosslog.
    NON_OVERLAPPING_CHANGE = "non_overlapping_change"
    SEVERAL_CHANGES = "several_changes"
    VOTERS_WITHOUT_KRAFT_VERSION = "voters_without_kraft_version"
    KRAFT_VERSION_LOWERED = "kraft_version_lowered"
    EPOCH_JUMP = "epoch_jump"
    EPOCH_WITHOUT_LEADER_CHANGE = "epoch_without_leader_change"
    LEADER_CHANGE_OUT_OF_PLACE = "leader_change_out_of_place"
    LEADER_NOT_VOTER = "leader_not_voter"
    MINORITY_ELECTION = "minority_election"
    VOTERS_DIFFER = "voters_differ"
    SNAPSHOT_DIFFERS = "snapshot_differs"
    CLOCK_BACKWARDS = "clock_backwards"
    WRONG_ORDER = "wrong_order"
    TAIL_OVERWRITTEN = "tail_overwritten"
    UNKNOWN_RANGE = "unknown_range"
    DAMAGED = "damaged"
    UNFINISHED_TAIL = "unfinished_tail"
    UNREADABLE_RECORD = "unreadable_record"


# Clocks that are kept by NTP differ by milliseconds.
SKEW_MS = 1_000
# What can happen in a healthy cluster: worth knowing, no fault of the log.
HARMLESS = frozenset(
    {AnomalyCode.TAIL_OVERWRITTEN, AnomalyCode.EPOCH_JUMP, AnomalyCode.UNFINISHED_TAIL}
)


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One thing about the log that a person should know; `offset` None: not known where."""

    code: AnomalyCode
    offset: int | None
    epoch: int | None
    timestamp_ms: int | None
    sentence: str
    evidence: dict[str, Any] = field(default_factory=dict)

    @property
    def is_finding(self) -> bool:
        """Whether a person should look at it; a failed election or clocks a little apart are daily life."""
        if self.code is AnomalyCode.CLOCK_BACKWARDS:
            return int(self.evidence.get("back_ms", 0)) >= SKEW_MS
        return self.code not in HARMLESS

    def to_mapping(self) -> dict[str, Any]:
        return {
            "code": self.code.value,
            "offset": self.offset,
            "epoch": self.epoch,
            "timestampMs": self.timestamp_ms,
            "sentence": self.sentence,
            "evidence": self.evidence,
        }


class EntrySource(StrEnum):
    """Where a voter set is known from."""

    LOG = "log"
    SNAPSHOT = "snapshot"
    # `0-0.checkpoint`: what the node was formatted with. The first leader writes it to the log again.
    BOOTSTRAP = "bootstrap"
    # Ids in the record of an election: all there is of a static quorum.
    LEADER_CHANGE = "leader_change"


@dataclass(frozen=True, slots=True)
class VoterSetEntry:
    """The voters from an offset on.

    `offset` is that of the record; of a snapshot the last one which it contains: the change was there or
    before. `timestamp_ms` is the clock of the controller that wrote it; of a snapshot the time of the last
    record in it. `is_committed` None: no high watermark is known. `is_static`: kraft.version is 0, the voters
    stand in configuration files, and only their ids are known. `is_after_gap`: between this set and the one
    before records are missing, so there may have been others; `change` compares the two all the same.
    """

    offset: int
    epoch: int
    timestamp_ms: int | None
    voters: VoterSet
    change: VoterChange
    source: EntrySource
    is_committed: bool | None = None
    is_static: bool = False
    is_after_gap: bool = False
    anomalies: tuple[AnomalyCode, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        return {
            "offset": self.offset,
            "epoch": self.epoch,
            "timestampMs": self.timestamp_ms,
            "voters": [voter_mapping(voter) for voter in self.voters],
            "change": self.change.to_mapping(),
            "source": self.source.value,
            "committed": self.is_committed,
            "static": self.is_static,
            "afterGap": self.is_after_gap,
            "anomalies": [code.value for code in self.anomalies],
        }


@dataclass(frozen=True, slots=True)
class Election:
    """A leader election: the LEADER_CHANGE record at `offset`.

    `gap_ms` is the time since the record before it (None: there is none before): no record was written for
    that long, so there was no active controller for about that long; two clocks are compared, so it may be
    negative. `skipped_epochs` are elections without a winner. `granting` is empty when the record does not
    say.
    """

    offset: int
    epoch: int
    timestamp_ms: int
    leader_id: int
    voters: tuple[ReplicaKey, ...]
    granting: tuple[ReplicaKey, ...]
    gap_ms: int | None
    previous_leader_id: int | None
    skipped_epochs: int = 0
    anomalies: tuple[AnomalyCode, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        return {
            "offset": self.offset,
            "epoch": self.epoch,
            "timestampMs": self.timestamp_ms,
            "leaderId": self.leader_id,
            "voters": [key.id for key in self.voters],
            "granting": [key.id for key in self.granting],
            "gapMs": self.gap_ms,
            "previousLeaderId": self.previous_leader_id,
            "skippedEpochs": self.skipped_epochs,
            "anomalies": [code.value for code in self.anomalies],
        }


@dataclass(frozen=True, slots=True)
class ControllerGap:
    """No record for much longer than the controller's NoOp records are apart: no controller was active.

    Between the record at `from_offset` and the next one, which is at `to_offset`. `is_election`: another
    leader wrote the next one; otherwise the same leader paused (or its clock jumped).
    """

    from_offset: int
    to_offset: int
    from_ms: int
    to_ms: int
    is_election: bool

    @property
    def gap_ms(self) -> int:
        """How long it was."""
        return self.to_ms - self.from_ms

    def to_mapping(self) -> dict[str, Any]:
        return {
            "fromOffset": self.from_offset,
            "toOffset": self.to_offset,
            "fromMs": self.from_ms,
            "toMs": self.to_ms,
            "gapMs": self.gap_ms,
            "election": self.is_election,
        }


@dataclass(frozen=True, slots=True)
class EpochSpan:
    """The records of one leader: first and last offset and time. `leader_id` None: no record says who."""

    epoch: int
    leader_id: int | None
    first_offset: int
    last_offset: int
    first_ms: int
    last_ms: int

    def to_mapping(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "leaderId": self.leader_id,
            "firstOffset": self.first_offset,
            "lastOffset": self.last_offset,
            "firstMs": self.first_ms,
            "lastMs": self.last_ms,
        }


@dataclass(frozen=True, slots=True)
class KraftVersionEntry:
    """The value of kraft.version from an offset on, by its control record."""

    offset: int
    epoch: int
    timestamp_ms: int | None
    kraft_version: int

    def to_mapping(self) -> dict[str, Any]:
        return {
            "offset": self.offset,
            "epoch": self.epoch,
            "timestampMs": self.timestamp_ms,
            "kraftVersion": self.kraft_version,
        }


def voter_mapping(voter: VoterNode) -> dict[str, Any]:
    """Return a voter as JSON values."""
    return {
        "id": voter.id,
        "directoryId": voter.directory_id,
        "endpoints": [endpoint._asdict() for endpoint in voter.endpoints],
        "minKraftVersion": voter.min_kraft_version,
        "maxKraftVersion": voter.max_kraft_version,
    }
