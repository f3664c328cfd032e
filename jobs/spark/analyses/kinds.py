"""The registry of analyses: a kind is one module with its `ANALYSIS`, listed here."""

from __future__ import annotations

from jobs.spark.analyses.analysis import Analysis
from jobs.spark.analyses.metadata import (
    before_a_moment,
    config_changes,
    isr_churn,
    metadata_history,
    partition_availability,
    quorum_history,
    record_types,
    slowest_shrinks,
    time_without_controller,
    unclean_elections,
)
from jobs.spark.analyses.offsets import backfill, backtest, refine, translate
from jobs.spark.analyses.records import copy_audit, key_skew, store_at, topic_profile
from jobs.spark.analyses.tracing import claim_checks, outbox, slips, tiered_reach

_ALL: tuple[Analysis, ...] = (
    before_a_moment.ANALYSIS,
    quorum_history.ANALYSIS,
    time_without_controller.ANALYSIS,
    partition_availability.ANALYSIS,
    isr_churn.ANALYSIS,
    slowest_shrinks.ANALYSIS,
    unclean_elections.ANALYSIS,
    config_changes.ANALYSIS,
    metadata_history.ANALYSIS,
    record_types.ANALYSIS,
    translate.ANALYSIS,
    refine.ANALYSIS,
    backtest.ANALYSIS,
    backfill.ANALYSIS,
    topic_profile.ANALYSIS,
    key_skew.ANALYSIS,
    copy_audit.ANALYSIS,
    store_at.ANALYSIS,
    slips.ANALYSIS,
    outbox.ANALYSIS,
    claim_checks.ANALYSIS,
    tiered_reach.ANALYSIS,
)
ANALYSES: dict[str, Analysis] = {one.kind: one for one in _ALL}
