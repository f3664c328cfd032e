"""The offset syncs of a running flow in bounded memory, for its checkpoints."""

from __future__ import annotations

import numpy as np

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.translation.bounds import Why
from jobs.replication.translation.partition_syncs import DOWNSTREAM
from jobs.replication.translation.sync_history import SyncHistory
from jobs.replication.translation.translator import Translator

# Of all partitions together; a sync takes 17 bytes.
MOST_SYNCS = 2_000_000
FEWEST_PER_PARTITION = 64
_PLACES = {Why.IS_SYNC.text, Why.PERHAPS_NO_RECORD.text, Why.ONE_POSSIBILITY.text}


class BoundedTranslator(Translator):
    """Answers by the syncs of one flow, in the order of their topic, of which it keeps not all.

    At most `most` are kept, but at least `fewest` of each partition; of a stretch in which every record is as
    far from its copy as the others, the first and the last. Callers look at the ids of the remote
    topics (`drop_marked`), so a target offset that falls says less than to an archive: the same topic was cut
    there, or the same sync was written again.
    """

    def __init__(self, most: int = MOST_SYNCS, fewest: int = FEWEST_PER_PARTITION) -> None:
        super().__init__()
        self._most = most
        self._fewest = fewest
        # How many of the newest syncs came after `mark`.
        self._unmarked: dict[TopicPartition, int] = {}

    def __len__(self) -> int:
        """How many syncs are kept."""
        return sum(len(history.syncs) for history in self._histories.values())

    def clear(self) -> None:
        """Forget everything: the topic is read from its beginning again."""
        self._histories.clear()
        self._unmarked.clear()

    def add(
        self,
        where: TopicPartition,
        upstream: int,
        downstream: int,
        *,
        after_gap: bool = False,
        follows: tuple[int, int] | None = None,
    ) -> None:
        """Take the next sync of a source partition, see `Translator.add`; nothing is kept for `mm2`."""
        history = self._histories.setdefault(where, SyncHistory())
        syncs, before = history.syncs, len(history.syncs)
        if syncs.last is not None and downstream <= syncs.last.downstream:
            if _says(history, upstream, downstream):
                return
            syncs.keep(np.arange(np.searchsorted(syncs.columns()[DOWNSTREAM], downstream)))
        history.add(upstream, downstream, after_gap=after_gap, follows=follows)
        syncs.shorten()
        since = self._unmarked.get(where, 0) + len(syncs) - before
        self._unmarked[where] = max(since, 1)
        if len(syncs) > max(self._fewest, self._most // len(self._histories)):
            # Every other one of the older half goes.
            half = len(syncs) // 2
            syncs.keep(np.append(np.arange(0, half, 2), np.arange(half, len(syncs))))
            self._unmarked[where] = 0

    def mark(self, where: TopicPartition) -> None:
        """Mark the syncs of a partition that are kept now, see `drop_marked`."""
        self._unmarked[where] = 0

    def drop_marked(self, where: TopicPartition) -> None:
        """Forget the marked syncs of a partition, because its remote topic was still another one then."""
        history = self._histories.get(where)
        if history is None:
            return
        newest = min(self._unmarked.get(where, 0), len(history.syncs))
        if newest:
            history.syncs.keep(np.arange(len(history.syncs) - newest, len(history.syncs)))
        else:
            del self._histories[where], self._unmarked[where]


def _says(history: SyncHistory, upstream: int, downstream: int) -> bool:
    """Return whether a sync is kept, or its neighbours say the same."""
    found = history.certify(upstream)
    if found is None or found.reason not in _PLACES:
        return False
    differences = {one.downstream - one.upstream for one in found.evidence}
    return differences == {downstream - upstream}
