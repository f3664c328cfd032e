"""What the last round of a flow found of each group, and from what: who is the same is not judged again.

It is kept in the worker's process and only ever saves work: a round of another worker, or after a restart,
finds none and judges everybody.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import datetime

from console.replication.checkpoints.rounds.answers import GroupAnswer
from jobs.replication.checkpoints.follow import CheckpointsRead

# Some kilobytes a group: enough for the flows of one installation, and a bound all the same.
MOST_FLOWS = 50
# Only with so few pairs of group and partition is everything about each kept; see `checkpoints.series`.
MOST_PARTS = 2000

Key = tuple[int, int]


@dataclass(slots=True)
class Memory:
    """A round: `written_at` and `mark` say of which rows and settings, `groups` are answers by group."""

    written_at: datetime
    mark: str
    checkpoints: CheckpointsRead
    groups: dict[str, tuple[Key, GroupAnswer]] = field(default_factory=dict)

    def same(self, group: str, key: Key) -> GroupAnswer | None:
        """Return the answer that was given to these inputs; None when they are others."""
        known = self.groups.get(group)
        return known[1] if known is not None and known[0] == key else None


class Memories:
    """The newest round of each flow; rounds of one flow never run at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Memory] = OrderedDict()

    def of(self, flow_id: int, written_at: datetime | None, mark: str) -> Memory | None:
        """Return what is remembered, if it belongs to the rows as they were last written."""
        with self._lock:
            found = self._kept.get(flow_id)
        if found is None or (found.written_at, found.mark) != (written_at, mark):
            return None
        return found

    def keep(
        self,
        flow_id: int,
        memory: Memory,
        answers: list[GroupAnswer],
    ) -> None:
        """Remember a round whose answers are written; partitions only of small flows."""
        is_small = sum(len(one.parts) for one in answers) <= MOST_PARTS
        for one in answers:
            slim = replace(one, is_same=True, parts=one.parts if is_small else ())
            memory.groups[one.group] = (one.key, slim)
        with self._lock:
            self._kept[flow_id] = memory
            self._kept.move_to_end(flow_id)
            while len(self._kept) > MOST_FLOWS:
                self._kept.popitem(last=False)

    def forget(self) -> None:
        """Remember nothing any more."""
        with self._lock:
            self._kept.clear()


MEMORIES = Memories()
