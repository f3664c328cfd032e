"""A survey as a running flow makes it: asked again while a cluster is coming back."""

from jobs.cluster.client import ClusterClient
from jobs.replication.copy.contract import CopyState
from jobs.replication.flow.plan import Known
from jobs.replication.flow.preflight import Preflight, preflight_flow
from jobs.replication.flow.spec import FlowSpec
from tests.waiting import eventually

# Longer than the transaction of a frozen copier stays open: one frozen while it commits holds positions back.
SURVEYED_WITHIN_S = 100


def survey_whole(flow: FlowSpec) -> Preflight:
    """Likewise, and again while partitions wait for something: a driver adds them later, a test does not."""
    found: list[Preflight] = []

    def waiting() -> list[object]:
        found[:] = [survey(flow)]
        return [row for row in found[0].plan.refused if row.state is CopyState.RETRYING]

    eventually(lambda: waiting() == [], SURVEYED_WITHIN_S, every=0.5)
    return found[0]


def survey(flow: FlowSpec) -> Preflight:
    """Ask both clusters and make the remote topics; raises what asking again does not help against."""

    def ask() -> Preflight:
        with ClusterClient(flow.source) as source, ClusterClient(flow.target) as target:
            return preflight_flow(flow, source, target, Known())

    return eventually(ask, SURVEYED_WITHIN_S)
