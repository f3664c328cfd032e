"""The registry of analyses: a kind is one module with its `ANALYSIS`, listed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jobs.spark.analyses.analysis import Analysis
from jobs.spark.analyses.groups import rebalances
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
from jobs.spark.analyses.tracing import (
    claim_checks,
    dead_letters,
    outbox,
    redrive,
    replay_plan,
    slips,
    tiered_reach,
)

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
    rebalances.ANALYSIS,
    slips.ANALYSIS,
    outbox.ANALYSIS,
    claim_checks.ANALYSIS,
    dead_letters.ANALYSIS,
    replay_plan.ANALYSIS,
    redrive.ANALYSIS,
    tiered_reach.ANALYSIS,
)
ANALYSES: dict[str, Analysis] = {one.kind: one for one in _ALL}


class _Questions(Mapping[str, Analysis]):
    """The kinds of `ANALYSES` that only read: forms, the API and schedules start these."""

    def __getitem__(self, kind: str) -> Analysis:
        if ANALYSES[kind].is_action:
            raise KeyError(kind)
        return ANALYSES[kind]

    def __iter__(self) -> Iterator[str]:
        return (kind for kind, one in ANALYSES.items() if not one.is_action)

    def __len__(self) -> int:
        return sum(1 for _ in self)


QUESTIONS = _Questions()
