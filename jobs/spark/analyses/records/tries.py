"""How long a task asks again, and what a topic that no broker knows is."""

from __future__ import annotations

from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import TopicIdUnknown, TopicUnknown
from jobs.cluster.protocol.transport.timing import RetryBudget

_BUDGET_S = 30.0
# A topic that no broker knows for so long was deleted.
_GONE_S = 5.0


class Tries:
    """Tries of a question, begun again after a wait: a quota or the pace is no time without an answer."""

    def __init__(self, cluster: RawCluster) -> None:
        self._cluster = cluster
        self._all = RetryBudget(cluster.timing, _BUDGET_S)
        self._gone = RetryBudget(cluster.timing, _GONE_S)

    async def after(self, fault: ClusterFault) -> None:
        """Pause before the next try; raises the fault when there is none."""
        is_gone = isinstance(fault, TopicUnknown | TopicIdUnknown)
        if fault.retriable and await (self._gone if is_gone else self._all).pause():
            return
        if is_gone:
            raise ClusterFault("The topic was deleted.", cluster=self._cluster.alias) from fault
        raise fault
