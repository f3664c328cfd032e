"""The single-failure matrix of a cluster: the effect of each loss on all topics, and the worst case.

It is made after a round that changed something, and read by pages.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from console.availability.placements.models import WhatIfPicture
from console.availability.placements.placements import PlacementRules, list_placements, rules_of
from console.availability.promotion.acted_topics import ActedTopics, acted_topics_of
from console.availability.status.models import AvailabilityRound
from console.availability.what_if.cluster_models import NO_AUTOMATION, classes_of, snapshot_of
from console.availability.what_if.cluster_snapshots import ClusterSnapshot, pack, unpack
from console.availability.what_if.query import write_step
from console.availability.what_if.snapshot_reader import read_now
from console.clusters.models import Cluster, Noun
from console.clusters.queries import enabled_clusters
from console.frame.rounds import Clock, Outcome, Rounds
from jobs.availability.what_if.answer_json import counts_mapping
from jobs.availability.what_if.matrix import MatrixColumn, matrix, single_failures
from jobs.availability.what_if.outcome import Counts, QuorumOutcome
from jobs.availability.what_if.steps import Loss

# A cluster is due when it was collected; one whose snapshot cannot be made is tried again after this.
PICTURE_EVERY_S = 5
# More sites than this no page has room for; the table of failures has all.
MOST_SITES = 12
# Of clusters with more nodes than this only sites are simulated.
MOST_FAILURES = 200


@dataclass(frozen=True, slots=True)
class KeptMatrix:
    """The matrix with its age: made at `made_at` in `took_ms`, of what was collected at `seen_at`.

    `is_current`: nothing changed since it was made: the cluster, placements, for what crosslog promotes.
    """

    document: Mapping[str, Any]
    made_at: datetime | None
    took_ms: int | None
    seen_at: datetime | None
    gaps: tuple[str, ...]
    is_current: bool = True


def keep_picture(cluster: Cluster, now: datetime) -> WhatIfPicture:
    """Read a cluster and keep its snapshot and matrix; the matrix is made only when something changed."""
    snapshot = read_now(cluster)
    packed, digest = pack(snapshot)
    row = WhatIfPicture.objects.filter(cluster=cluster).first() or WhatIfPicture(cluster=cluster)
    if row.digest != digest:
        row.digest, row.packed, row.changed_at = digest, packed, now
    row.made_at, row.seen_at = now, snapshot.seen_at
    row.gaps = list(snapshot.gaps)
    row.partition_count = snapshot.partition_count
    row.topic_count = len(snapshot.topics)
    wanted = matrix_digest(cluster, digest)
    if row.matrix_digest != wanted:
        _make(cluster, snapshot, row, wanted, now)
    row.save()
    return row


def _collected_since() -> QuerySet[Cluster]:
    """Return enabled clusters that were collected since their snapshot was made."""
    never = Q(what_if_picture=None, rounds__succeeded_at__isnull=False)
    late = Q(what_if_picture__made_at__lt=F("rounds__succeeded_at"))
    return enabled_clusters().filter(never | late, rounds__noun=Noun.TOPICS)


SNAPSHOTS: Rounds[Cluster, AvailabilityRound] = Rounds(
    name="what_if",
    rows=AvailabilityRound,
    of="cluster",
    subjects=_collected_since,
    every_s=lambda: PICTURE_EVERY_S,
    activity="keeping what what-if starts from",
    part={"noun": AvailabilityRound.Noun.WHAT_IF},
)


def keep_due_picture(cluster_id: int, clock: Clock = timezone.now) -> bool:
    """Keep the snapshot of one cluster when it is due; return whether it was. Never raises."""

    def collect(cluster: Cluster, _: AvailabilityRound) -> Outcome:
        keep_picture(cluster, clock())
        return Outcome()

    return SNAPSHOTS.run(cluster_id, collect, clock)


def matrix_of(cluster: Cluster, *, is_made: bool = True) -> KeptMatrix | Any:
    """Return the matrix that is kept; where none is, it is made now, or None without `is_made`."""
    row = WhatIfPicture.objects.filter(cluster=cluster).first()
    if row is not None and row.matrix is not None:
        is_current = row.matrix_digest == matrix_digest(cluster, row.digest)
        if is_current or not is_made:
            kept = (row.matrix_at, row.matrix_ms, row.seen_at, tuple(row.gaps), is_current)
            return KeptMatrix(row.matrix, *kept)
    if not is_made:
        return None
    snapshot = _kept(row) or snapshot_of(cluster)
    began = time.perf_counter()
    document = make_matrix(snapshot, rules_of(cluster), acted_topics_of(cluster))
    took_ms = int((time.perf_counter() - began) * 1000)
    return KeptMatrix(document, None, took_ms, snapshot.seen_at, tuple(snapshot.gaps))


def matrix_digest(cluster: Cluster, snapshot: str) -> str:
    """Return what names the snapshot together with the placements and promotions that count for it."""
    placed = list_placements(cluster).order_by("pk").values_list("pk", "changed_at")
    parts = [*placed, (0, None), *acted_topics_of(cluster).key]
    text = "".join(f"{pk}:{at.isoformat() if at else ''};" for pk, at in parts)
    return sha256(f"{snapshot};{text}".encode()).hexdigest()


def _make(
    cluster: Cluster, snapshot: ClusterSnapshot, row: WhatIfPicture, wanted: str, now: datetime
) -> None:
    began = time.perf_counter()
    row.matrix = make_matrix(snapshot, rules_of(cluster), acted_topics_of(cluster))
    row.matrix_ms = int((time.perf_counter() - began) * 1000)
    row.matrix_digest, row.matrix_at = wanted, now


def _kept(row: WhatIfPicture | None) -> ClusterSnapshot | None:
    return None if row is None else unpack(bytes(row.packed), tuple(row.gaps), row.seen_at)


def make_matrix(
    snapshot: ClusterSnapshot, rules: PlacementRules, acted: ActedTopics = NO_AUTOMATION
) -> dict[str, Any]:
    """Return the document of the matrix: failures with their numbers, the worst of them, topics by site."""
    classes = classes_of(snapshot, rules, acted=acted)
    failures = single_failures(classes.model)
    losses = _losses(failures)
    found = matrix(classes, losses)
    sites = [column for column in found.columns if column.loss.racks][:MOST_SITES]
    worst = found.worst
    return {
        "failures": [failure_json(column) for column in found.columns],
        "worst": {**failure_json(worst), "sentence": worst.sentence} if worst else None,
        "sites": [target_of(column.loss) for column in sites],
        "topics": _topics(snapshot, sites),
        "partition_count": snapshot.partition_count,
        "left_out": len(failures) - len(losses),
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
        "counts": counts_mapping(column.cluster),
        "quorum": quorum_json(column.quorum),
        "does_harm": column.does_harm,
    }


def target_of(loss: Loss) -> str:
    """Return what is lost, without its kind."""
    return ", ".join(map(str, [*sorted(loss.racks), *sorted(loss.brokers or loss.controllers)]))


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


def _losses(failures: Sequence[Loss]) -> list[Loss]:
    """Return single failures, sites first; of very large clusters only the sites."""
    found = sorted(failures, key=lambda loss: not loss.racks)
    return found if len(found) <= MOST_FAILURES else [one for one in found if one.racks]


def _topics(snapshot: ClusterSnapshot, sites: Sequence[MatrixColumn]) -> list[list[Any]]:
    """Return a row per topic: name, partitions, per site [worst, unwritable, offline, at risk, unknown]."""
    hit = [column.topics for column in sites]
    return [
        [topic.name, len(topic.classes), [_cell(one[topic.name]) for one in hit]]
        for topic in snapshot.topics
    ]


def _cell(counts: Counts) -> list[Any]:
    return [counts.worst.word, counts.unwritable, counts.offline, counts.at_risk, counts.unknown]
