"""Which replicas a reassignment adds and removes: told of metadata that was read at another moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.clusters.collection.door import ClusterDoor
from console.clusters.models import Partition
from jobs.availability.status.severity import Moves
from jobs.cluster.admin.reassignments import Reassignment
from jobs.cluster.descriptions import PartitionDescription, TopicDescription, TopicPartition
from jobs.cluster.errors import ClusterFault

Listed = Mapping[TopicPartition, Reassignment]


class Reassigned:
    """What ListPartitionReassignments said before and, where that was needed, after the topics were read.

    `fault` is why it was refused. `stored` are the partitions of the round before.
    """

    def __init__(self, door: ClusterDoor, stored: Mapping[TopicPartition, Partition]) -> None:
        self._door, self._stored = door, stored
        self._answers: list[Listed] = []
        self.fault: ClusterFault | None = None
        self._ask()

    def look_again(self, described: Sequence[TopicDescription]) -> None:
        """Ask once more where replicas are out of the ISR and the first answer does not say why."""
        places = ((TopicPartition(t.name, p.partition), p) for t in described for p in t.partitions)
        if self.fault is None and any(_is_short(p) and not self._listed(w, p) for w, p in places):
            self._ask()

    def of(self, where: TopicPartition, partition: PartitionDescription) -> Moves:
        """Return what is known of a partition.

        An answer counts only with the same replicas as the metadata has. Nothing is being added where all
        replicas are in the ISR, nor where the replicas are still those of a moment at which nothing was. A
        partition that has just changed and is in no answer is not judged: both are not of one moment.
        """
        found = self._listed(where, partition)
        if found is not None:
            return Moves(found.adding, found.removing)
        known = self._stored.get(where)
        if not _is_short(partition) or (known is None and self.fault is None):
            return Moves()
        is_same = known is not None and {*known.replicas} == {*partition.replicas}
        was_none = known is not None and (
            known.adding == [] or (known.adding is None and self.fault is None)
        )
        return Moves() if is_same and was_none else Moves(None)

    def _listed(
        self, where: TopicPartition, partition: PartitionDescription
    ) -> Reassignment | None:
        for answer in reversed(self._answers):
            found = answer.get(where)
            if found is not None and {*found.replicas} == {*partition.replicas}:
                return found
        return None

    def _ask(self) -> None:
        try:
            self._answers.append(self._door.list_reassignments())
        except ClusterFault as fault:
            self.fault = fault


def _is_short(partition: PartitionDescription) -> bool:
    return not {*partition.replicas} <= {*partition.isr}
