"""The offset syncs of a flow straight from their topic: for a shell, and where there is no archive."""

from __future__ import annotations

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import Refused
from jobs.cluster.reading import read_whole_topic
from jobs.cluster.records import Message
from jobs.replication.flow import FlowSpec
from jobs.replication.internal_topics import syncs_place
from jobs.replication.sync_topic import PARTITION
from jobs.replication.translator import Translator
from jobs.wire.errors import RecordFormatError
from jobs.wire.mirror_records import decode_offset_sync
from jobs.wire.sync_links import SyncLinks


class SyncsOfTopic:
    """Takes the records of a topic of offset syncs in their order, and notices where some are missing.

    A sync of crosslog names the one that it follows. Of others it is only seen that offsets of the topic are
    missing, because compaction took records (or a transaction ended there): then nothing is concluded from
    syncs on both sides of that place. Records that are no offset syncs are passed by.
    """

    def __init__(self) -> None:
        self.translator = Translator()
        self._links = SyncLinks()
        self._holes = 0
        self._seen_holes: dict[TopicPartition, int] = {}
        self._next: int | None = 0

    def take(self, message: Message) -> None:
        """Take the next record."""
        offset = message.offset() or 0
        self._holes += offset != self._next
        self._next = offset + 1
        try:
            sync = decode_offset_sync(message.key(), message.value())
        except RecordFormatError:
            return
        where = TopicPartition(sync.topic, sync.partition)
        pair = (sync.upstream_offset, sync.downstream_offset)
        if min(pair) >= 0:
            seen, self._seen_holes[where] = self._seen_holes.get(where, 0), self._holes
            follows = self._links.follows(offset, where, pair, message.headers())
            is_after_gap = seen != self._holes
            self.translator.add(where, *pair, after_gap=is_after_gap, follows=follows)


def read_translator(flow: FlowSpec, *, timeout_s: float = 10.0) -> Translator:
    """Read every offset sync that is still on the topic; what compaction removed makes bounds wider.

    Raises `ClusterFault`, also for a flow that keeps no offset syncs.
    """
    topic, on_source = syncs_place(flow)
    if topic is None:
        raise Refused(
            f"The flow {flow.name} keeps no offset syncs, so nothing can be translated.",
            cluster=flow.target.alias,
            hint="Set offset_syncs of the flow to target or source.",
        )
    found = SyncsOfTopic()
    with ClusterClient(flow.source if on_source else flow.target, timeout_s=timeout_s) as client:
        read_whole_topic(client, topic, found.take, only_partition=PARTITION)
    return found.translator
