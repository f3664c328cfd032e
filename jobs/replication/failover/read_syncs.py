"""The offset syncs of a flow straight from their topic: for a shell, and where there is no archive."""

from __future__ import annotations

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import Refused
from jobs.cluster.reading import read_whole_topic
from jobs.cluster.records import Message
from jobs.replication.flow import CopiedBy, FlowSpec
from jobs.replication.internal_topics import syncs_place
from jobs.replication.sync_history import Facts
from jobs.replication.sync_links import SyncLinks
from jobs.replication.sync_topic import PARTITION
from jobs.replication.sync_tracker import Pair
from jobs.replication.translator import Translator
from jobs.wire.errors import RecordFormatError
from jobs.wire.mirror_records import decode_offset_sync


class SyncsOfTopic:
    """Takes the records of a topic of offset syncs in their order, and notices where some are missing.

    A sync of crosslog names the one that it follows. Of others it is only seen that offsets of the topic are
    missing, because compaction took records (or a transaction ended there): then nothing is concluded from
    syncs on both sides of that place. Records that are no offset syncs are passed by.
    """

    def __init__(self) -> None:
        self._rows: dict[TopicPartition, list[tuple[Pair, bool]]] = {}
        self._links = SyncLinks()
        self._holes = 0
        self._seen_holes: dict[TopicPartition, int] = {}
        self._next: int | None = 0
        self._all_linked = True

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
            rows = self._rows.setdefault(where, [])
            follows = self._links.follows(offset, where, pair, message.headers())
            rows.append((pair, self._is_after_gap(where, rows, follows)))

    def translator(self, flow: FlowSpec) -> Translator:
        """Return what can be said by these syncs."""
        is_ours = flow.copied_by is CopiedBy.CROSSLOG and self._all_linked
        found = Translator(facts=Facts(all_changes_told=is_ours))
        for where, rows in self._rows.items():
            for pair, after_gap in rows:
                found.add(where, *pair, after_gap=after_gap)
        return found

    def _is_after_gap(
        self, where: TopicPartition, rows: list[tuple[Pair, bool]], follows: Pair | None
    ) -> bool:
        seen, self._seen_holes[where] = self._seen_holes.get(where, 0), self._holes
        last = rows[-1][0] if rows else None
        if follows is not None:
            return follows != last
        self._all_linked = self._all_linked and last is None
        return seen != self._holes


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
    return found.translator(flow)
