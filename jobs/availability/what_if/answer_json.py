"""Answers of what-if as JSON values, for `crosslog what-if --json` (docs/formats.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.availability.what_if.matrix import Matrix, MatrixColumn
from jobs.availability.what_if.outcome import (
    Counts,
    IsrState,
    PartitionOutcome,
    QuorumOutcome,
    StepOutcome,
    count_outcomes,
    count_topics,
)
from jobs.availability.what_if.simulation import WhatIf


def what_if_document(answer: WhatIf) -> dict[str, Any]:
    """Return the whole answer: every partition from before to after, and what each step changed."""
    overall = answer.overall
    return {
        "harm": answer.does_harm,
        "quorum": {
            "before": quorum_mapping(answer.quorum_before),
            "after": quorum_mapping(answer.quorum),
        },
        "cluster": counts_mapping(count_outcomes(overall)),
        "topics": _topics(count_topics(overall)),
        "partitions": [outcome_mapping(one) for one in overall],
        "steps": [step_mapping(one) for one in answer.steps],
    }


def step_mapping(step: StepOutcome) -> dict[str, Any]:
    """Return one step with the partitions that it changed."""
    return {
        "name": step.name,
        "quorum": quorum_mapping(step.quorum),
        "cluster": counts_mapping(step.cluster),
        "topics": _topics(step.topics),
        "partitions": [outcome_mapping(one) for one in step.partitions if one.is_changed],
    }


def outcome_mapping(outcome: PartitionOutcome) -> dict[str, Any]:
    """Return a partition before and after; `severity` is that after."""
    risk = outcome.data_at_risk
    return {
        "topic": outcome.topic,
        "partition": outcome.partition,
        "before": state_mapping(outcome.before),
        "after": state_mapping(outcome.after),
        "changed": outcome.is_changed,
        "severity": outcome.after.severity.word,
        "data_at_risk": risk.code.value,
        "data_at_risk_reason": risk.sentence,
        "records_at_risk": risk.records,
        "needs_unclean": outcome.needs_unclean,
        "promoter": outcome.promoter.value,
        "promoted": list(outcome.promoted),
        "demoted": list(outcome.demoted),
        "min_insync_replicas": outcome.min_insync_replicas,
        "condition": outcome.condition,
    }


def state_mapping(state: IsrState) -> dict[str, Any]:
    """Return a partition at one moment; `observers_in_isr` is their number."""
    return {
        "leader": state.leader,
        "isr": list(state.isr),
        "elr": list(state.elr),
        "last_known_elr": list(state.last_known_elr),
        "observers_in_isr": len(state.observers_in_isr),
        "observer_ids_in_isr": list(state.observers_in_isr),
        "writable": state.is_writable,
        "severity": state.severity.word,
    }


def counts_mapping(counts: Counts) -> dict[str, Any]:
    """Return sums."""
    return {
        "partitions": counts.partitions,
        "offline": counts.offline,
        "unwritable": counts.unwritable,
        "became_unwritable": counts.became_unwritable,
        "writable_unknown": counts.unknown,
        "needs_unclean": counts.needs_unclean,
        "lost": counts.lost,
        "at_risk": counts.at_risk,
        "exposed": counts.exposed,
        "leader_changes": counts.leader_changes,
        "observers_in_isr": counts.observers_in_isr,
        "severities": {one.word: count for one, count in counts.severities.items()},
        "worst": counts.worst.word,
    }


def quorum_mapping(quorum: QuorumOutcome) -> dict[str, Any]:
    """Return the quorum; `known` false where there is no verdict, as too little is known of the voters."""
    is_known = quorum.is_known
    return {
        "known": is_known,
        "voters": quorum.voters,
        "majority": quorum.majority,
        "alive": list(quorum.alive_ids),
        "missing": list(quorum.missing_ids),
        "not_known": list(quorum.unsure_ids),
        "has_majority": quorum.has_majority if is_known else None,
        "failures_tolerated": quorum.failures_tolerated if is_known else None,
        "deadly_racks": list(quorum.deadly_racks),
        "deadly_nodes": list(quorum.deadly_nodes),
        "sentence": quorum.sentence,
    }


def matrix_document(answer: Matrix) -> dict[str, Any]:
    """Return each loss with its sums."""
    return {
        "quorum": quorum_mapping(answer.quorum_before),
        "losses": [column_mapping(one) for one in answer.columns],
    }


def column_mapping(column: MatrixColumn) -> dict[str, Any]:
    """Return one loss with its sums, over all and by topic."""
    loss = column.loss
    return {
        "name": column.name,
        "brokers": sorted(loss.brokers),
        "racks": sorted(loss.racks),
        "controllers": sorted(loss.controllers),
        "quorum": quorum_mapping(column.quorum),
        "cluster": counts_mapping(column.cluster),
        "topics": _topics(column.topics),
    }


def _topics(topics: Mapping[str, Counts]) -> dict[str, Any]:
    return {name: counts_mapping(one) for name, one in topics.items()}
