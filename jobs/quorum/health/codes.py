"""The codes of findings about a quorum."""

from __future__ import annotations

from enum import StrEnum

from jobs.findings import Life

LIFE = Life("quorum")
# Codes of the console: a node with another disk, texts of changes that were cut.
OTHER_DIRECTORY, TEXTS_CUT = "other_directory", "texts_cut"


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
