"""Reading a topic to its end, once: for topics that are tables, where the last record of a key counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.cluster.errors import ClusterFault, TimedOut, Unreachable
from jobs.cluster.records import ClientPartition, Consumer, Message, is_partition_eof

# The reader's queue bounds the memory, whatever the length of the topic.
_READER = {
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "queued.max.messages.kbytes": 8192,
    "fetch.wait.max.ms": 100,
}
_BATCH = 2000
_LOOK_S = 0.05
_PAUSE_S = 0.2


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
    """Reads a topic to its end, and later what was added to it, with one consumer until `close`.

    `is_complete` False: what an open transaction holds back is left for the next time. One thread at a time.
    Invariant: every record before the position was taken, once, and none behind it.
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
        self._reader: _Reader | None = None

    def close(self) -> None:
        """Let go of the consumer; `follow` makes another one."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def follow(self, take: Callable[[Message], object], forget: Callable[[], object]) -> bool:
        """Give every new record to `take`; returns False when there is no such topic. Raises `ClusterFault`.

        `forget` is called before the first record, whenever reading begins anew: the first time, when the
        topic is another one under the same name, and after a fault.
        """
        try:
            return self._follow(take, forget)
        except BaseException:
            self.close()
            raise

    def _follow(self, take: Callable[[Message], object], forget: Callable[[], object]) -> bool:
        described = _describe(self._client, self.topic)
        is_another = described is None or described.topic_id != self._topic_id
        if is_another or not self._is_whole:
            forget()
            self._read_to = {}
            self.close()
        self._is_whole = False
        if described is None:
            return False
        numbers = _numbers(described, self._only)
        starts = {number: self._read_to.get(number, 0) for number in numbers}
        ends = _ends(self._client, self.topic, starts, is_complete=self._is_complete)
        self._reader = self._reader or _Reader(self._client, self.topic)
        self._read_to |= self._reader.read(starts, ends, take)
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
    reader = _Reader(client, topic.name)
    try:
        return reader.read(starts, ends, take)
    finally:
        reader.close()


class _Reader:
    """A consumer of one topic, made when there is something to read; it fetches only while it reads."""

    def __init__(self, client: ClusterClient, topic: str) -> None:
        self._client = client
        self._topic = topic
        self._consumer: Consumer | None = None

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def read(
        self,
        starts: Mapping[int, int],
        ends: Mapping[int, int],
        take: Callable[[Message], object],
    ) -> dict[int, int]:
        """Give the records from `starts` up to `ends` to `take`; returns where the next reading begins.

        What comes behind an end while others are read is left for the next reading: a topic that is
        written without a pause has no end of its own.
        """
        left = {n: ends[n] for n, start in starts.items() if start < ends[n]}
        if left:
            self._consumer = self._consumer or self._client.consumer(_READER)
            self._consumer.assign([ClientPartition(self._topic, n, starts[n]) for n in left])
            self._read(self._consumer, dict(left), take)
            self._consumer.unassign()
        return {**starts, **left}

    def _read(
        self, consumer: Consumer, left: dict[int, int], take: Callable[[Message], object]
    ) -> None:
        """Read until nothing is `left`: the ends of the partitions that are not at theirs."""
        count, heard_at = len(left), time.monotonic()
        while left:
            for message in consumer.consume(_BATCH, timeout=_LOOK_S):
                error = message.error()
                if error is None:
                    heard_at = time.monotonic()
                elif not is_partition_eof(error):
                    if not error.retriable():
                        raise self._client.fault_of(error, f"Reading {self._topic}")
                    continue
                _step(message, left, take)
            if left and time.monotonic() - heard_at > self._client.timeout_s:
                raise self._silence(len(left), count)

    def _silence(self, left: int, count: int) -> ClusterFault:
        return self._client.fault() or TimedOut(
            f"Reading {self._topic}: {left} of {count} partitions were "
            f"not read to their end within {self._client.timeout_s:g} s. Where brokers answer, a transaction "
            "is open there: it ends by itself, or when its producer starts again.",
            cluster=self._client.connection.alias,
        )


def _step(message: Message, left: dict[int, int], take: Callable[[Message], object]) -> None:
    """Take a record that stands before its partition's end; note where the end is reached.

    An offset at the end or behind it, of a record or of an end-of-partition event, says that nothing before
    the end is still to come: the last offsets may be markers, or compacted.
    """
    partition, offset = message.partition() or 0, message.offset() or 0
    end = left.get(partition)
    if end is None:
        return
    if message.error() is None and offset < end:
        take(message)
        offset += 1
    if offset >= end:
        del left[partition]


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
        time.sleep(_PAUSE_S)
