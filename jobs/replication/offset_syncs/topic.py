"""A topic of offset syncs, followed while a flow runs. Source: OffsetSyncStore of MirrorMaker 2."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.topic_reader import TopicFollower, TopicRecord
from jobs.replication.flow.selection import should_replicate
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.translation.bounded import BoundedTranslator
from jobs.wire.errors import RecordFormatError
from jobs.wire.mirror_records import decode_offset_sync
from jobs.wire.topics.connect_json import is_json_wrapped
from jobs.wire.topics.sync_links import SyncLinks

PARTITION = 0


class FollowedSyncs:
    """Reads what is new in the topic of offset syncs; several flows from one source may share it.

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
