"""A finding about a quorum: fault or risk, evidence, remedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from jobs.severity import Severity


class QuorumCode(StrEnum):
    """What was found; the value is stable, for programs."""

    NO_MAJORITY = "no_majority"
    NO_LEADER = "no_leader"
    BARE_MAJORITY = "bare_majority"
    FEW_VOTERS = "few_voters"
    EVEN_VOTERS = "even_voters"
    VOTER_SILENT = "voter_silent"
    VOTER_LAGS = "voter_lags"
    NO_DIRECTORY_ID = "no_directory_id"
    DANGLING_CONTROLLER = "dangling_controller"
    GHOST_REGISTRATION = "ghost_registration"
    HIGH_WATERMARK_STALLED = "high_watermark_stalled"
    CHANGE_NOT_COMMITTED = "change_not_committed"
    ELECTION_STORM = "election_storm"
    EPOCH_JUMP = "epoch_jump"
    NO_ACTIVE_CONTROLLER = "no_active_controller"
    CLOCK_SKEW = "clock_skew"
    VOTER_ENDPOINT = "voter_endpoint"
    UNSAFE_CHANGE = "unsafe_change"
    LOG_BROKEN = "log_broken"
    RECORDS_MISSING = "records_missing"
    LOG_DISAGREES = "log_disagrees"
    REPLICAS_DIFFER = "replicas_differ"


@dataclass(frozen=True, slots=True)
class QuorumFinding:
    """One finding; `subject` is what it is about (a node, an epoch, an offset), empty for the whole quorum.

    `evidence` are numbers and words, their units in their names. `since_ms` is when it began by the log (ms
    since 1970, the controllers' clocks; None: the log does not say), `ended_ms` when it was over (None: it is
    not).
    """

    code: QuorumCode
    severity: Severity
    sentence: str
    todo: str
    subject: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    since_ms: int | None = None
    ended_ms: int | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same finding the next time."""
        return self.code.value, self.subject

    def to_mapping(self) -> dict[str, Any]:
        return {
            "code": self.code.value,
            "severity": self.severity.value,
            "subject": self.subject,
            "sentence": self.sentence,
            "todo": self.todo,
            "evidence": dict(self.evidence),
        }


def worst_first(findings: list[QuorumFinding]) -> list[QuorumFinding]:
    """Return findings, the worst first; equal ones keep their order."""
    ranks = {severity: rank for rank, severity in enumerate(Severity)}
    return sorted(findings, key=lambda finding: -ranks[finding.severity])
