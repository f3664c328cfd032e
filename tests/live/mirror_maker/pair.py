"""Two clusters and the MirrorMaker 2 between them."""

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.topic_reader import read_whole_topic
from jobs.lab.lab import Lab
from jobs.lab.mirror_maker import MirrorMaker
from jobs.replication.checkpoints.group_reading import read_groups
from jobs.replication.checkpoints.topic import GroupPartition, read_checkpoint_topic
from jobs.replication.findings.snapshot import GroupSnapshot
from jobs.replication.flow.spec import CopiedBy, FlowSpec, SyncsLocation
from jobs.replication.translation.translator import Translator
from jobs.wire.mirror_records import decode_offset_sync
from tests.live.mirror_maker.mirroring import Truth, end_of, places


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

        def take(message: object) -> None:
            sync = decode_offset_sync(message.key(), message.value())  # type: ignore[attr-defined]
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
