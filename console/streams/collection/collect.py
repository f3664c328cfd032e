"""Collect applications in rounds: a failed round keeps old values, a bad application stops no other."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from console.clusters.models import Cluster
from console.clusters.queries import enabled_clusters
from console.frame.rounds import Clock, Outcome, Rounds, sentence_about
from console.streams.collection.rows import (
    GONE,
    added_partitions,
    forget_longest_gone,
    save_application,
    save_gone,
    save_problem,
    size_of,
)
from console.streams.models import StreamsApplication, StreamsRound
from jobs import limits
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.limits import GROUP_ID, is_group_id
from jobs.logs import own_fault
from jobs.streams.collection.applications import find_applications, observe_all
from jobs.streams.observation import Observation

FIND_BUDGET_S, OBSERVE_BUDGET_S = 12.0, 30.0


@dataclass(frozen=True, slots=True)
class SeenApplications:
    """What one cluster answered.

    `group_ids` are all groups of the cluster. `faults` are those of groups that could not be described,
    `cluster_faults` those of brokers that did not list their groups.
    """

    observations: Mapping[str, Observation]
    group_ids: frozenset[str]
    faults: Mapping[str, ClusterFault] = field(default_factory=dict)
    cluster_faults: tuple[ClusterFault, ...] = ()


# Returns the applications of a cluster; the names are group ids that were applications before. Raises
# `ClusterFault`.
ReadApplications = Callable[[Connection, Collection[str], int], SeenApplications]


def read_applications(
    connection: Connection, known: Collection[str], now_ms: int
) -> SeenApplications:
    """Query one cluster for all of its applications."""

    async def ask(cluster: RawCluster) -> SeenApplications:
        found = await find_applications(cluster, known=known, budget_s=FIND_BUDGET_S)
        kept, faults = first_applications(found.groups, known, cluster.alias)
        seen = await observe_all(cluster, found, kept, now_ms=now_ms, budget_s=OBSERVE_BUDGET_S)
        return SeenApplications(
            seen, found.group_ids, {**found.faults, **faults}, found.cluster_faults
        )

    budget_s = FIND_BUDGET_S + OBSERVE_BUDGET_S
    client = ClusterClient(connection, timeout_s=budget_s, client_id="crosslog-streams")
    return client.ask("Reading Kafka Streams applications", ask)


def first_applications(
    ids: Collection[str], known: Collection[str], alias: str
) -> tuple[list[str], dict[str, ClusterFault]]:
    """Return the applications that are kept, those that are known first, and why not the others."""
    ordered = sorted(ids, key=lambda one: (one not in known, one))
    text = f"The cluster has more than {limits.APPLICATIONS:,} applications, and others are kept."
    left_out = ordered[limits.APPLICATIONS :]
    return ordered[: limits.APPLICATIONS], dict.fromkeys(
        left_out, ClusterFault(text, cluster=alias)
    )


logger = logging.getLogger(__name__)

# With the requests before, less than the time limit of a task.
SAVE_BUDGET_S = 35.0
_NO_TIME = "No time was left to read what its members wrote: those of smaller ones were read first."
_NO_ROW = (
    f"The application id has NUL, or is longer than {GROUP_ID:,} characters or what an index takes."
)


APPLICATIONS: Rounds[Cluster, StreamsRound] = Rounds(
    name="applications",
    rows=StreamsRound,
    of="cluster",
    subjects=enabled_clusters,
    every_s=lambda: settings.STREAMS_INTERVAL_S,
    activity="collecting",
)


def collect_applications(
    cluster_id: int,
    clock: Clock = timezone.now,
    read: ReadApplications = read_applications,
    save_budget_s: float = SAVE_BUDGET_S,
) -> bool:
    """Collect the applications of one cluster when it is due; return whether it was. Never raises a fault."""

    def collect(cluster: Cluster, _: StreamsRound) -> Outcome:
        known = StreamsApplication.objects.filter(cluster=cluster).defer("facts")
        stored = {one.application_id: one for one in known}
        now = clock()
        seen = read(cluster.connection(), tuple(stored), int(now.timestamp() * 1000))
        missing = _save(cluster, stored, seen, now, save_budget_s)
        return Outcome({"row_count": len(seen.observations)}, missing)

    return APPLICATIONS.run(cluster_id, collect, clock)


def _save(
    cluster: Cluster,
    stored: dict[str, StreamsApplication],
    seen: SeenApplications,
    now: datetime,
    budget_s: float,
) -> str:
    """Write what was seen, small applications first; return a sentence about what is missing, or nothing.

    To read what members wrote takes time by its size: what is left when the budget ends waits.
    """
    until = time.monotonic() + budget_s
    added = added_partitions(cluster, now)
    problems = {
        name: f"{fault.message} {fault.hint}".strip() for name, fault in seen.faults.items()
    }
    for name, observation in sorted(seen.observations.items(), key=lambda one: size_of(one[1])):
        if not is_group_id(name):
            problems[name] = _NO_ROW
            continue
        if time.monotonic() >= until:
            problems[name] = _NO_TIME
            continue
        try:
            save_application(cluster, stored.get(name), observation, now, added=added)
        except Exception:
            # One application that cannot be read must not cost the others their round.
            logger.exception("application not saved cluster=%s application=%s", cluster, name)
            problems[name] = own_fault("reading it")
    for name, row in stored.items():
        if name in problems:
            save_problem(row, problems[name])
        elif name not in seen.group_ids and not seen.cluster_faults and row.state != GONE:
            save_gone(row)
    forget_longest_gone(cluster)
    total = len(seen.observations.keys() | problems.keys())
    parts = [fault.message for fault in dict.fromkeys(seen.cluster_faults)]
    parts.append(sentence_about("groups could not be read", problems, total))
    parts.append(sentence_about("applications are beyond the limits", _left_out(cluster), total))
    return " ".join(part for part in parts if part)


def _left_out(cluster: Cluster) -> dict[str, str]:
    rows = StreamsApplication.objects.filter(cluster=cluster).exclude(state=GONE)
    rows = rows.exclude(left_out="")
    return dict.fromkeys(
        rows.values_list("application_id", flat=True), "their counts are at least what is shown"
    )
