"""Reading a topic to its end, once: for topics that are tables, where the last record of a key counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.cluster.errors import ClusterFault, TimedOut, Unreachable
from jobs.cluster.offsets import read_offset_ranges
from jobs.cluster.records import ClientPartition, Consumer, Message, is_partition_eof
from jobs.cluster.topics import describe_topics, is_missing

# The reader's queue bounds the memory, whatever the length of the topic.
_READER = {
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "queued.max.messages.kbytes": 8192,
    "fetch.wait.max.ms": 100,
}
_BATCH = 2000
_LOOK_S = 0.2


def read_whole_topic(
    client: ClusterClient,
    topic: str,
    take: Callable[[Message], object],
    *,
    only_partition: int | None = None,
) -> dict[int, int] | None:
    """Give every committed record of a topic to `take`; returns where reading ended, by partition.

    None: the topic does not exist. Raises `ClusterFault`, also when an end was not reached while no record
    came for the client's timeout: there are no half answers. While any transaction is open, also another
    program's, a reader sees nothing behind its first record; stopping there would be stopping too early.
    """
    described = _describe(client, topic)
    if described is None:
        return None
    return _read(client, described, dict.fromkeys(_numbers(described, only_partition), 0), take)


def read_topic_from(
    client: ClusterClient,
    topic: str,
    starts: Mapping[int, int],
    take: Callable[[Message], object],
) -> dict[int, int] | None:
    """Give the records of some partitions from an offset of each to `take`; returns where reading ended.

    None: the topic does not exist. What an open transaction holds back is left for the next time. Raises
    `ClusterFault`.
    """
    described = _describe(client, topic)
    if described is None:
        return None
    there = {number: starts[number] for number in _numbers(described, None) if number in starts}
    return _read(client, described, there, take, is_complete=False)


class TopicFollower:
    """Reads a topic to its end, and later what was added to it.

    `is_complete` False: what an open transaction holds back is left for the next time.
    """

    def __init__(
        self,
        client: ClusterClient,
        topic: str,
        *,
        only_partition: int | None = None,
        is_complete: bool = True,
    ) -> None:
        self.topic = topic
        self._client = client
        self._only = only_partition
        self._is_complete = is_complete
        self._topic_id: str | None = None
        self._is_whole = False
        self._read_to: dict[int, int] = {}

    def follow(self, take: Callable[[Message], object], forget: Callable[[], object]) -> bool:
        """Give every new record to `take`; returns False when there is no such topic. Raises `ClusterFault`.

        `forget` is called before the first record, whenever reading begins anew: the first time, when the
        topic is another one under the same name, and after a fault.
        """
        described = _describe(self._client, self.topic)
        is_another = described is None or described.topic_id != self._topic_id
        if is_another or not self._is_whole:
            forget()
            self._read_to = {}
        self._is_whole = False
        if described is None:
            return False
        numbers = _numbers(described, self._only)
        starts = {number: self._read_to.get(number, 0) for number in numbers}
        self._read_to |= _read(self._client, described, starts, take, is_complete=self._is_complete)
        self._topic_id, self._is_whole = described.topic_id, True
        return True


def _describe(client: ClusterClient, topic: str) -> TopicDescription | None:
    described = describe_topics(client, [topic])[0]
    if described.error is None:
        return described
    if is_missing(described):
        return None
    raise ClusterFault(described.error, cluster=client.connection.alias)


def _numbers(topic: TopicDescription, only: int | None) -> list[int]:
    return [p.partition for p in topic.partitions if only in (None, p.partition)]


def _read(
    client: ClusterClient,
    topic: TopicDescription,
    starts: Mapping[int, int],
    take: Callable[[Message], object],
    *,
    is_complete: bool = True,
) -> dict[int, int]:
    ends = _ends(client, topic.name, starts, is_complete=is_complete)
    behind = [number for number, start in starts.items() if start < ends[number]]
    if not behind:
        return dict(starts)
    consumer = client.consumer(_READER)
    try:
        consumer.assign([ClientPartition(topic.name, n, starts[n]) for n in behind])
        ended = _read_to_end(client, consumer, topic.name, {n: ends[n] for n in behind}, take)
        return {**starts, **ended}
    finally:
        consumer.close()


def _read_to_end(
    client: ClusterClient,
    consumer: Consumer,
    topic: str,
    wanted: Mapping[int, int],
    take: Callable[[Message], object],
) -> dict[int, int]:
    """Read from the partitions until each has reached its end; returns where each one got to."""
    ends, reached_ends = dict(wanted), {}
    heard_at = time.monotonic()
    while ends:
        for message in consumer.consume(_BATCH, timeout=_LOOK_S):
            error = message.error()
            if error is None:
                heard_at = time.monotonic()
                take(message)
            elif is_partition_eof(error):
                partition, reached = message.partition() or 0, message.offset() or 0
                reached_ends[partition] = reached
                if reached >= ends.get(partition, 0):
                    ends.pop(partition, None)
            elif not error.retriable():
                raise client.fault_of(error, f"Reading {topic}")
        if ends and time.monotonic() - heard_at > client.timeout_s:
            raise client.fault() or TimedOut(
                f"Reading {topic}: {len(ends)} of {len(wanted)} partitions were "
                f"not read to their end within {client.timeout_s:g} s. Where brokers answer, a transaction "
                "is open there: it ends by itself, or when its producer starts again.",
                cluster=client.connection.alias,
            )
    return reached_ends


def _ends(
    client: ClusterClient, topic: str, partitions: Collection[int], *, is_complete: bool
) -> dict[int, int]:
    """Return the high watermark of every partition, or its last stable offset; raises `ClusterFault`.

    A topic that was just made, or a leader that moves, is waited for.
    """
    wanted = {TopicPartition(topic, number) for number in partitions}
    ends: dict[int, int] = {}
    give_up_at = time.monotonic() + client.timeout_s
    while True:
        found = read_offset_ranges(client, wanted, with_timestamps=False)
        known = {w: r.high_watermark if is_complete else r.end_offset for w, r in found.items()}
        ends |= {where.partition: end for where, end in known.items() if end is not None}
        wanted = {where for where in wanted if where.partition not in ends}
        if not wanted:
            return ends
        if time.monotonic() >= give_up_at:
            where = min(wanted)
            why = found[where].error or "its end is not known"
            raise Unreachable(f"Reading {where}: {why}.", cluster=client.connection.alias)
        time.sleep(_LOOK_S)
