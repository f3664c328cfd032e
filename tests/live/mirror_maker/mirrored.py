"""Two clusters with a MirrorMaker 2 between them, and records that say where they stood on the source."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ClientPartition

from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.topic_reader import TopicRecord, read_whole_topic
from jobs.lab.cluster import Cluster
from jobs.lab.lab import Lab
from jobs.lab.mirror_maker import MirrorMaker
from jobs.replication.checkpoints.group_reading import read_groups
from jobs.replication.checkpoints.topic import GroupPartition, read_checkpoint_topic
from jobs.replication.findings.snapshot import GroupSnapshot
from jobs.replication.flow.spec import CopiedBy, FlowSpec, SyncsLocation
from jobs.replication.translation.translator import Translator
from jobs.wire.mirror_records import decode_offset_sync
from tests.live.records import read_all, read_to_ends
from tests.waiting import eventually

WITHIN_S = 120
AT = "at"  # the header with the record's offset on the source


def produce_identified(cluster: Cluster, topic: str, count: int, *, first: int = 0) -> int:
    """Write records that carry the offset they get, in a topic that nobody else writes; returns the end."""
    producer = _producer(cluster)
    for offset in range(first, first + count):
        producer.produce(topic, b"v", b"key-%d" % (offset % 20), 0, headers=_identity(offset))
        producer.poll(0)
    assert producer.flush(WITHIN_S) == 0
    return first + count


def produce_transactions(cluster: Cluster, topic: str, count: int, *, first: int = 0) -> int:
    """Write transactions of seven records, every third one aborted; each ends with a marker of one offset."""
    producer = _producer(cluster, **{"transactional.id": f"tx-{topic}"})
    producer.init_transactions(WITHIN_S)
    offset = first
    for number in range(count):
        producer.begin_transaction()
        for _ in range(7):
            producer.produce(topic, b"v", b"k", 0, headers=_identity(offset))
            offset += 1
        assert producer.flush(WITHIN_S) == 0
        end = producer.abort_transaction if number % 3 == 2 else producer.commit_transaction
        end(WITHIN_S)
        offset += 1
    return offset


def places(cluster: Cluster, topic: str) -> list[tuple[int, int]]:
    """Return (offset on the source, offset here) of every committed record of a one-partition topic."""
    where = TopicPartition(topic, 0)
    with ClusterClient(cluster.connection) as client:
        end = read_offset_ranges(client, [where], with_timestamps=False)[where].high_watermark or 0
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "places",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([ClientPartition(topic, 0, 0)])
    try:
        found = read_to_ends(consumer, {0: end}, WITHIN_S)
    finally:
        consumer.close()
    return [(_source_offset(message), message.offset()) for message in found]


def end_of(cluster: Cluster, topic: str) -> int:
    where = TopicPartition(topic, 0)
    with ClusterClient(cluster.connection) as client:
        found = read_offset_ranges(client, [where], with_timestamps=False)[where]
    assert found.high_watermark is not None, found.error
    return found.high_watermark


@dataclass
class Truth:
    """Where records really are: pairs of their offsets on the source and on the target."""

    end: int
    pairs: list[tuple[int, int]] = field(default_factory=list)

    def of(self, upstream: int) -> int:
        """Return the target offset of the first copied record at or after one of the source.

        Behind the last copied record it is where the next one will be.
        """
        return min((there for here, there in self.pairs if here >= upstream), default=self.end)


def syncs_of(cluster: Cluster, topic: str) -> list[tuple[int, int]]:
    """Return the offset syncs of a topic's one partition (upstream, downstream), in the order of the log."""
    syncs = []

    def take(record: TopicRecord) -> None:
        sync = decode_offset_sync(record.key, record.value)
        if sync.topic == topic:
            syncs.append((sync.upstream_offset, sync.downstream_offset))

    with ClusterClient(cluster.connection) as client:
        read_whole_topic(client, "mm2-offset-syncs.west.internal", take)
    return syncs


def wait_for_mirror(mirror: MirrorMaker, has_come: Callable[[], object]) -> None:
    """Wait for a checkpoint; MirrorMaker 2 is started again when none comes, as its operators do.

    A checkpoint task whose stores could not be read when it began, which a busy machine is enough for, says
    so to nobody and writes nothing (or nothing for groups behind the newest sync) until it is started again.
    """
    for share in (6, 6, 3, 3):
        try:
            eventually(has_come, WITHIN_S / share, every=0.5)
        except AssertionError:
            mirror.check()
            mirror.stop()
            mirror.start()
        else:
            return
    try:
        eventually(has_come, WITHIN_S / 3, every=0.5)
    except AssertionError as error:
        said = mirror.log.read_text(encoding="utf-8", errors="replace")[-8000:]
        raise AssertionError(f"{error}. MirrorMaker 2 says: {said}") from None


def _producer(cluster: Cluster, **settings: Any) -> Producer:
    return Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "enable.idempotence": True,
            "linger.ms": 5,
            **settings,
        }
    )


def _identity(offset: int) -> list[tuple[str, str | bytes | None]]:
    return [(AT, str(offset).encode())]


def _source_offset(message: Any) -> int:
    return int(dict(message.headers())[AT])


class Pair:
    """East, west, the MirrorMaker 2 between them, and what it copied."""

    def __init__(self, lab: Lab, mirror: MirrorMaker) -> None:
        self.east, self.west, self.mirror = lab.cluster("east"), lab.cluster("west"), mirror
        self.flow = FlowSpec(
            "mirrored",
            self.east.connection,
            self.west.connection,
            (r"t\..*",),
            offset_syncs=SyncsLocation.SOURCE,
            copied_by=CopiedBy.MIRROR_MAKER,
        )

    def truth(self, topic: str) -> Truth:
        remote = f"east.{topic}"
        return Truth(end_of(self.west, remote), places(self.west, remote))

    def syncs(self) -> Translator:
        """All offset syncs, as MirrorMaker 2 wrote them."""
        translator = Translator({})

        def take(record: TopicRecord) -> None:
            sync = decode_offset_sync(record.key, record.value)
            where = TopicPartition(sync.topic, sync.partition)
            translator.add(where, sync.upstream_offset, sync.downstream_offset)

        with ClusterClient(self.east.connection) as client:
            read_whole_topic(client, "mm2-offset-syncs.west.internal", take)
        return translator

    def checkpoint(self, group: str, topic: str) -> tuple[int, int] | None:
        with ClusterClient(self.west.connection) as client:
            found = read_checkpoint_topic(client, "east.checkpoints.internal")
        key = GroupPartition(group, TopicPartition(f"east.{topic}", 0))
        kept = found.checkpoints.get(key)
        return (
            (kept.checkpoint.upstream_offset, kept.checkpoint.downstream_offset) if kept else None
        )

    def group(self, group: str) -> GroupSnapshot | None:
        with (
            ClusterClient(self.east.connection) as east,
            ClusterClient(self.west.connection) as west,
        ):
            found = read_groups(east, west, self.flow, [group])
        return found[0] if found else None

    def early(self, topic: str) -> int:
        """Return an offset for which MirrorMaker 2 has just an answer.

        It depends on the machine: while ten syncs are under way others are dropped, the first ones too.
        """
        where, store = TopicPartition(topic, 0), self.syncs()
        first = (at for at in range(end_of(self.east, topic)) if store.mm2(where, at) != -1)
        return 5 + next(first)


def records_on(cluster: Cluster, topic: str) -> int:
    """How many records a topic has that a reader sees; 0 while it does not exist."""
    try:
        return len(read_all(cluster, topic))
    except (AssertionError, KeyError):
        return 0
