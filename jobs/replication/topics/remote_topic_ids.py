"""The ids of remote topics, round by round: what was told of a deleted topic counts no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.door import CheckpointDoor
from jobs.replication.checkpoints.topic import KeptCheckpoint
from jobs.replication.translation.bounded import BoundedTranslator


class RemoteTopicIds:
    """Remembers the ids of one driver's rounds; `ids` are those of the last look, by remote topic."""

    def __init__(self, door: CheckpointDoor) -> None:
        self.ids: Mapping[str, str] = {}
        self._door = door
        self._known: dict[str, str] = {}
        self._read_to = 0
        self._deleted_before: dict[str, int] = {}

    def look(
        self, syncs: BoundedTranslator, remote: Callable[[TopicPartition], TopicPartition]
    ) -> None:
        """Ask for the ids of the remote topics of all syncs; raises `ClusterFault`.

        Where an id is another one than at the last look, the syncs that were kept at that look are about
        a deleted topic, and are forgotten. The answer holds for syncs that are read after it.
        """
        self.ids = self._door.topic_ids({remote(where).topic for where in syncs.partitions})
        others = {
            topic for topic, now in self.ids.items() if self._known.setdefault(topic, now) != now
        }
        for where in [where for where in syncs.partitions if remote(where).topic in self.ids]:
            if remote(where).topic in others:
                syncs.drop_marked(where)
            syncs.mark(where)
        self._known |= self.ids
        self._deleted_before |= dict.fromkeys(others, self._read_to)

    def note_read(self, read_to: int) -> None:
        """Note up to where the topic of checkpoints is read."""
        self._read_to = read_to

    def of_now(self, kept: KeptCheckpoint | None) -> KeptCheckpoint | None:
        """Return a checkpoint if it is about the topic that has its name now.

        Without an id it is, unless it was there when the id changed.
        """
        if kept is None:
            return None
        topic = kept.checkpoint.topic
        if kept.topic_id:
            return kept if kept.topic_id == self.ids.get(topic) else None
        return kept if kept.offset >= self._deleted_before.get(topic, 0) else None
