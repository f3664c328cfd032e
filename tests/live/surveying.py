"""A survey as a running flow makes it: asked again while a cluster is coming back."""

import time

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.contract import CopyState
from jobs.replication.flow.plan import Known
from jobs.replication.flow.preflight import Preflight, preflight_flow
from jobs.replication.flow.spec import FlowSpec
from tests.waiting import PATIENCE

# Longer than the transaction of a frozen copier stays open: one frozen while it commits holds positions back.
WITHIN_S = 100 * PATIENCE
LOOK_S = 0.5


def survey_whole(flow: FlowSpec) -> Preflight:
    """Likewise, and again while partitions wait for something: a driver adds them later, a test does not."""
    give_up_at = time.monotonic() + WITHIN_S
    while True:
        found = survey(flow)
        waiting = [row for row in found.plan.refused if row.state is CopyState.RETRYING]
        if not waiting or time.monotonic() > give_up_at:
            return found
        time.sleep(LOOK_S)


def survey(flow: FlowSpec) -> Preflight:
    """Ask both clusters and make the remote topics; raises what asking again does not help against."""
    give_up_at = time.monotonic() + WITHIN_S
    while True:
        try:
            with ClusterClient(flow.source) as source, ClusterClient(flow.target) as target:
                return preflight_flow(flow, source, target, Known())
        except ClusterFault as fault:
            if not fault.retriable or time.monotonic() > give_up_at:
                raise
