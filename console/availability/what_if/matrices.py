"""Every single failure of a cluster at once: what each would do, for all topics, and which is the worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.availability.placements.placements import PlacementRules
from console.availability.promotion.acted_topics import ActedTopics
from console.availability.what_if.cluster_snapshots import ClusterSnapshot
from console.availability.what_if.partition_classes import NOBODY_ACTS, whole_model
from console.availability.what_if.steps_text import write_step
from jobs.availability.what_if.matrix.matrix import (
    MatrixColumn,
    matrix,
    single_failures,
    worst_single_failure,
)
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.outcome import Counts, QuorumOutcome
from jobs.availability.what_if.steps import Loss

# More sites than this no page has room for; the table of failures has all.
MOST_SITES = 12
# Clusters with more nodes than this are asked about sites only.
MOST_FAILURES = 200


def make_matrix(
    snapshot: ClusterSnapshot, rules: PlacementRules, acted: ActedTopics = NOBODY_ACTS
) -> dict[str, Any]:
    """Return the document of the matrix: failures with their numbers, the worst of them, topics by site."""
    model = whole_model(snapshot, rules, acted)
    losses = _losses(model)
    columns = matrix(model, losses).columns
    sites = [column for column in columns if column.loss.racks][:MOST_SITES]
    worst = max(columns, key=lambda column: column.harm, default=None)
    return {
        "failures": [failure_json(column) for column in columns],
        "worst": _worst(model, worst),
        "sites": [target_of(column.loss) for column in sites],
        "topics": _topics(snapshot, sites),
        "partition_count": snapshot.partition_count,
        "left_out": len(single_failures(model)) - len(losses),
    }


def failure_json(column: MatrixColumn) -> dict[str, Any]:
    """Return what one loss does."""
    loss = column.loss
    kind = "site" if loss.racks else "broker" if loss.brokers else "controller"
    return {
        "kind": kind,
        "target": target_of(loss),
        "name": f"{kind} {target_of(loss)}",
        "step": write_step(loss),
        "counts": counts_json(column.cluster),
        "quorum": quorum_json(column.quorum),
        "does_harm": column.does_harm,
    }


def target_of(loss: Loss) -> str:
    """Return what is lost, without its kind."""
    return ", ".join(map(str, [*sorted(loss.racks), *sorted(loss.brokers or loss.controllers)]))


def counts_json(counts: Counts) -> dict[str, Any]:
    """Return numbers over partitions as JSON has them."""
    names = (
        "partitions", "offline", "unwritable", "became_unwritable", "needs_unclean", "lost",
        "at_risk", "exposed", "leader_changes", "observers_in_isr",
    )  # fmt: skip
    return {
        **{name: getattr(counts, name) for name in names},
        "writable_unknown": counts.unknown,
        "severities": {word.word: count for word, count in counts.severities.items()},
        "worst": counts.worst.word,
    }


def quorum_json(quorum: QuorumOutcome) -> dict[str, Any]:
    return {
        "voters": quorum.voters,
        "majority": quorum.majority,
        "alive_ids": list(quorum.alive_ids),
        "missing_ids": list(quorum.missing_ids),
        "unsure_ids": list(quorum.unsure_ids),
        "has_majority": quorum.has_majority if quorum.is_known else None,
        "failures_tolerated": quorum.failures_tolerated if quorum.is_known else None,
        "deadly_racks": list(quorum.deadly_racks),
        "deadly_nodes": list(quorum.deadly_nodes),
        "sentence": quorum.sentence,
    }


def _losses(model: ClusterModel) -> list[Loss]:
    """Return single failures, sites first; of very large clusters only the sites."""
    found = sorted(single_failures(model), key=lambda loss: not loss.racks)
    return found if len(found) <= MOST_FAILURES else [one for one in found if one.racks]


def _worst(model: ClusterModel, column: MatrixColumn | None) -> dict[str, Any] | None:
    """Return the failure that does most harm with its sentence; None when none does any."""
    if column is None or not any(column.harm):
        return None
    found = worst_single_failure(model, [column.loss])
    return {**failure_json(column), "sentence": found.sentence if found else ""}


def _topics(snapshot: ClusterSnapshot, sites: Sequence[MatrixColumn]) -> list[list[Any]]:
    """Return a row per topic: name, partitions, per site [worst, unwritable, offline, at risk, unknown]."""
    hit = [column.topics for column in sites]
    return [
        [topic.name, len(topic.classes), [_cell(one[topic.name]) for one in hit]]
        for topic in snapshot.topics
    ]


def _cell(counts: Counts) -> list[Any]:
    return [counts.worst.word, counts.unwritable, counts.offline, counts.at_risk, counts.unknown]
