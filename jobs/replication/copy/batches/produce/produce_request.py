"""One produce request of the delivery; what is asked again because a transaction is not over yet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.batch import BatchBytes
from jobs.cluster.protocol.data.produce import ProducedPartition, produce
from jobs.cluster.protocol.transport.timing import RetryBudget

# How long the broker may wait for its replicas: longer than a broker needs to be taken out of the ISR.
PRODUCE_TIMEOUT_MS = 20_000
CONCURRENT_TRANSACTIONS_TIMEOUT_S = 10.0
_BUSY = "CONCURRENT_TRANSACTIONS"
UNANSWERED = ProducedPartition(None, None, None, None, (), None)


async def produce_until_acknowledged(
    cluster: RawCluster,
    broker: int,
    batches: Mapping[TopicPartition, BatchBytes],
    transactional_id: str | None,
    throttled: Callable[[int], None] = lambda _ms: None,
) -> AsyncIterator[dict[TopicPartition, ProducedPartition]]:
    """Yield answers as they come, each partition's once; raises `ClusterFault`.

    With transaction protocol 2, a partition refuses the first batch of a transaction while the markers of
    the one before are on their way: such a batch is sent again, the same bytes with the same sequence. Where
    that can happen, it must be the only one on its way to its partition. `throttled` is told for how many
    milliseconds the broker asks to be left alone.
    """
    tries = RetryBudget(cluster.timing, CONCURRENT_TRANSACTIONS_TIMEOUT_S)
    waiting = dict(batches)
    while waiting:
        answer = await produce(
            cluster,
            broker,
            waiting,
            transactional_id=transactional_id,
            timeout_ms=PRODUCE_TIMEOUT_MS,
        )
        throttled(answer.throttle_ms)
        found = {where: answer.partitions.get(where, UNANSWERED) for where in waiting}
        busy = {where for where, produced in found.items() if _is_busy(produced)}
        yield {where: produced for where, produced in found.items() if where not in busy}
        if busy and not await tries.pause():
            yield {where: found[where] for where in busy}
            return
        waiting = {where: waiting[where] for where in busy}


def _is_busy(produced: ProducedPartition) -> bool:
    return produced.error is not None and produced.error.error == _BUSY
