"""Checks of clusters: whether they answer, and whether all of them is collected. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from jobs.checks.check import Area, Check, check
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_moment
from jobs.severity import Severity


class Trouble(StrEnum):
    """What is wrong with the collection of a cluster; the values are the codes of its findings."""

    UNREACHABLE = "cluster_unreachable"
    OTHER_CLUSTER = "cluster_id_mismatch"
    FAILING = "collection_failing"
    STALE = "cluster_stale"


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A cluster as its last rounds recorded it.

    `trouble` is the worst of its collection (None: all is collected in time), `fault` says why, `hint` what
    to do, `since` since when. `nouns` are the data that are not collected.
    """

    pk: int
    alias: str
    trouble: Trouble | None = None
    fault: str = ""
    hint: str = ""
    since: datetime | None = None
    nouns: tuple[str, ...] = ()


_TWO_COLLECTIONS_S, _LATE_S = 15, 30
UNREACHABLE = Check(
    id=Trouble.UNREACHABLE.value,
    title="Cluster unreachable",
    question="Does the cluster answer crosslog?",
    rule="Every collection of the cluster fails.",
    severity=Severity.CRITICAL,
    area=Area.CLUSTER,
    runbook=(
        "Check that the brokers run, then the network, the listeners and the credentials from the host of "
        "crosslog."
    ),
    effect="cluster unreachable",
    open_after_s=_TWO_COLLECTIONS_S,
)
OTHER_CLUSTER = Check(
    id=Trouble.OTHER_CLUSTER.value,
    title="Cluster ID mismatch",
    question="Does the registered cluster answer at its address?",
    rule="The bootstrap servers answer with another cluster ID, with several, or with a registered one.",
    severity=Severity.CRITICAL,
    area=Area.CLUSTER,
    runbook=(
        "Compare the cluster ID with cluster.id in meta.properties of a broker. Correct the bootstrap "
        "servers, or confirm the new cluster ID in the settings of the cluster."
    ),
    effect="cluster ID mismatch",
    open_after_s=_TWO_COLLECTIONS_S,
)
FAILING = Check(
    id=Trouble.FAILING.value,
    title="Collection failing",
    question="Is everything of the cluster collected?",
    rule="The last collection of brokers, topics, offsets or groups failed while another one succeeded.",
    severity=Severity.CRITICAL,
    area=Area.CLUSTER,
    runbook="Read the error on the page of the cluster. Most often an ACL is missing, or a broker is down.",
    effect="collection failing",
    open_after_s=_TWO_COLLECTIONS_S,
)
STALE = Check(
    id=Trouble.STALE.value,
    title="Collection late",
    question="Is the data of the cluster recent?",
    rule="Nothing fails, but the last collection is older than three intervals, and than 30 s.",
    severity=Severity.WARNING,
    area=Area.CLUSTER,
    runbook="Check the log of the worker of the queue collect and the load of the machine; add a worker.",
    effect="collection late",
    # A clock that was set makes everything late until the next collection.
    open_after_s=_LATE_S,
)
_SENTENCES = {
    UNREACHABLE: "Cluster {alias} is unreachable: {fault}",
    OTHER_CLUSTER: "Another cluster answers at the address of {alias}: {fault}",
    FAILING: "Collecting {nouns} of {alias} fails: {fault}",
    STALE: "Collecting {nouns} of {alias} is late: the last success was at {since}.",
}


@check(*_SENTENCES)
def collection(state: ClusterState, settings: Settings, now: datetime) -> Iterator[Finding]:
    """Find why a cluster is not collected, or not in time."""
    for one, sentence in _SENTENCES.items():
        if state.trouble == one.id and settings.values(one, cluster=state.pk) is not None:
            nouns = ", ".join(state.nouns) or "data"
            since = format_moment(state.since, now) if state.since else "a time not known"
            said = sentence.format(alias=state.alias, fault=state.fault, nouns=nouns, since=since)
            yield one.finding(said, state.hint, evidence={"nouns": nouns}, since=state.since)
