"""Checks of clusters and brokers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from jobs.checks.check import Area, Check, check
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.severity import Severity


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A broker as it was last recorded; `is_there` None: not known. `since` is the start of that."""

    id: int
    rack: str
    is_there: bool | None
    since: datetime | None
    replica_count: int


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A cluster as its last rounds recorded it; `fault` is why no round succeeds, `since` since when."""

    pk: int
    alias: str
    fault: str = ""
    hint: str = ""
    since: datetime | None = None
    brokers: Sequence[BrokerState] = ()


UNREACHABLE = Check(
    id="cluster_unreachable",
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
)
BROKER_DOWN = Check(
    id="broker_down",
    title="Broker down",
    question="Is every broker alive?",
    rule="A broker is fenced, or missing in the metadata although it has replicas.",
    severity=Severity.CRITICAL,
    area=Area.BROKER,
    runbook="Start the broker. Its log has the reason of the shutdown.",
    effect="broker {broker} down",
)


@check(UNREACHABLE)
def unreachable(state: ClusterState, settings: Settings) -> Iterator[Finding]:
    """Find a cluster that no collection reaches."""
    if state.fault and settings.values(UNREACHABLE, cluster=state.pk) is not None:
        yield Finding(
            UNREACHABLE.id,
            UNREACHABLE.severity,
            f"Cluster {state.alias} is unreachable: {state.fault}",
            state.hint or UNREACHABLE.runbook,
            since=state.since,
        )


@check(BROKER_DOWN)
def brokers_down(state: ClusterState, settings: Settings) -> Iterator[Finding]:
    """Find brokers that are down."""
    if settings.values(BROKER_DOWN, cluster=state.pk) is None:
        return
    for one in state.brokers:
        if one.is_there is False:
            rack = f" ({one.rack})" if one.rack else ""
            yield Finding(
                BROKER_DOWN.id,
                BROKER_DOWN.severity,
                f"Broker {one.id}{rack} of {state.alias} is down.",
                BROKER_DOWN.runbook,
                subject=f"broker {one.id}",
                evidence={"broker": one.id, "rack": one.rack, "replicas": one.replica_count},
                since=one.since,
                brokers=(one.id,),
            )
