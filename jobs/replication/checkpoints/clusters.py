"""Requests of the checkpoint writer to a flow's two clusters."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial

from jobs.cluster.admin import groups
from jobs.cluster.admin.groups import CommittedGroups
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import OffsetRange, TopicPartition
from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.librdkafka_errors import error_in
from jobs.cluster.records import Headers, KafkaError, KafkaException, Message, Producer
from jobs.cluster.topic_reader import TopicFollower, TopicRecord
from jobs.replication.checkpoints.group_sync import TargetGroups
from jobs.replication.checkpoints.topic import PARTITION, TOPIC_ID_HEADER, CheckpointTopic
from jobs.replication.flow.internal_topics import ensure_checkpoints_topic, syncs_place
from jobs.replication.flow.selection import should_replicate
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.translation.bounded import BoundedTranslator
from jobs.wire.errors import RecordFormatError
from jobs.wire.mirror_records import Checkpoint, decode_offset_sync, encode_checkpoint
from jobs.wire.topics.connect_records import is_json_wrapped
from jobs.wire.topics.sync_links import SyncLinks

_SHARE = "share"
_WRITER = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 5,
    "message.timeout.ms": 15_000,
}
_FLUSH_S = 20.0


class FlowClusters:
    """Both clusters of one flow, for one thread at a time; each question may raise `ClusterFault`."""

    def __init__(self, flow: FlowSpec, source: ClusterClient, target: ClusterClient) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self.groups = TargetGroups(
            partial(groups.describe_groups, target),
            partial(groups.read_committed_offsets, target),
            partial(groups.alter_group_offsets, target),
        )
        topic, is_on_source = syncs_place(flow)
        syncs_at = source if is_on_source else target
        self._syncs = FollowedSyncs(flow, syncs_at, topic) if topic else None
        self._follower: TopicFollower | None = None
        self._read = CheckpointTopic("")

    def syncs(self) -> BoundedTranslator | None:
        """Return the offset syncs as they are now; None: none are stored."""
        if self._syncs is None or not self._syncs.follow():
            return None
        return self._syncs.kept

    def checkpoints(self) -> CheckpointTopic:
        """Return the checkpoints as they are now; the topic is made when it is missing."""
        if self._follower is None:
            topic = ensure_checkpoints_topic(self._target, self._flow)
            self._follower = TopicFollower(topic, only_partition=PARTITION)
        if not self._follower.follow(self._target, self._take, self._forget):
            ensure_checkpoints_topic(self._target, self._flow)
        return self._read

    def ranges(
        self, partitions: Collection[TopicPartition], *, on_source: bool
    ) -> Mapping[TopicPartition, OffsetRange]:
        """Return the offsets of partitions of one side."""
        client = self._source if on_source else self._target
        return read_offset_ranges(client, partitions, with_timestamps=False)

    def source_groups(self, accepts: Callable[[str], bool]) -> CommittedGroups:
        """Return the committed offsets of the groups of the source that are accepted.

        Groups of coordinators that are away have an error.
        """
        listing = groups.list_groups(self._source)
        ids = [g.group_id for g in listing.groups if g.type != _SHARE and accepts(g.group_id)]
        found = groups.read_committed_or_why(self._source, ids)
        missing = {f"(groups of a coordinator, {n})": e for n, e in enumerate(listing.errors, 1)}
        return CommittedGroups(found.committed, {**found.errors, **missing})

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        """Return the ids of topics of the target; one that did not answer is absent.

        The id of a cluster that has none is "".
        """
        found = describe_topics(self._target, topics) if topics else []
        return {one.name: one.topic_id or "" for one in found if one.error is None}

    def write(
        self, checkpoints: Sequence[Checkpoint], at_ms: int, topic_ids: Mapping[str, str]
    ) -> None:
        """Write checkpoints with this timestamp and the ids of their topics.

        Raises unless the target has them all.
        """
        producer = self._target.producer(_WRITER)
        refused: list[KafkaError] = []
        for checkpoint in checkpoints:
            headers = _headers(topic_ids.get(checkpoint.topic, ""))
            self._produce(producer, checkpoint, at_ms, headers, refused)
        left = producer.flush(_FLUSH_S)
        doing = f"Writing checkpoints to {self._read.topic}"
        if refused:
            raise self._target.fault_of(refused[0], doing)
        if left:
            raise self._target.fault() or TimedOut(
                f"{doing}: {left} of {len(checkpoints)} were not acknowledged within {_FLUSH_S:g} s.",
                cluster=self._target.connection.alias,
            )

    def _produce(
        self,
        producer: Producer,
        checkpoint: Checkpoint,
        at_ms: int,
        headers: Headers,
        refused: list[KafkaError],
    ) -> None:
        def hear(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                refused.append(error)

        key, value = encode_checkpoint(checkpoint)
        give_up_at = time.monotonic() + _FLUSH_S
        while True:
            try:
                producer.produce(
                    self._read.topic,
                    value=value,
                    key=key,
                    partition=PARTITION,
                    timestamp=at_ms,
                    headers=headers,
                    on_delivery=hear,
                )
            except BufferError:
                if time.monotonic() > give_up_at:
                    raise self._full() from None
                producer.poll(0.1)
            except KafkaException as error:
                raise self._target.fault_of(error_in(error), "Writing checkpoints") from None
            else:
                return

    def _full(self) -> ClusterFault:
        return self._target.fault() or TimedOut(
            "Writing checkpoints: the target takes none.", cluster=self._target.connection.alias
        )

    def _take(self, record: TopicRecord) -> None:
        self._read.take(
            record.key, record.value, record.timestamp_ms, record.offset, record.headers
        )

    def _forget(self) -> None:
        assert self._follower is not None  # noqa: S101  it is what calls
        self._read = CheckpointTopic(self._follower.topic)


def _headers(topic_id: str) -> Headers:
    return [(TOPIC_ID_HEADER, topic_id.encode())] if topic_id else []


class FollowedSyncs:
    """Reads what is new in the topic of offset syncs; several flows from one source may share it.

    Source: OffsetSyncStore of MirrorMaker 2.
    `refused` counts records that are no offset syncs, by reason.
    """

    def __init__(self, flow: FlowSpec, client: ClusterClient, topic: str) -> None:
        self.kept = BoundedTranslator()
        self.refused: Counter[str] = Counter()
        self._client = client
        self._follower = TopicFollower(topic, only_partition=PARTITION, is_complete=False)
        self._links = SyncLinks()
        self._wants = lru_cache(maxsize=10_000)(lambda name: should_replicate(flow, name))

    def follow(self) -> bool:
        """Read to the end of what is committed; returns False when there is no such topic.

        Raises `ClusterFault`.
        """
        return self._follower.follow(self._client, self._take, self._forget)

    def _forget(self) -> None:
        self.kept.clear()
        self.refused.clear()

    def _take(self, record: TopicRecord) -> None:
        try:
            sync = decode_offset_sync(record.key, record.value)
        except RecordFormatError as error:
            is_wrapped = is_json_wrapped(record.value)
            self.refused["written through a JSON converter" if is_wrapped else error.kind] += 1
            return
        pair = (sync.upstream_offset, sync.downstream_offset)
        if min(pair) >= 0 and self._wants(sync.topic):
            where = TopicPartition(sync.topic, sync.partition)
            for one, follows in self._links.told(record.offset, where, pair, record.headers):
                self.kept.add(where, *one, follows=follows)
