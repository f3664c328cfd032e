"""One path of a share of a flow, in a thread of its own, begun when it gets its first partitions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from jobs.replication.copy.assignment import AssignmentChanges
from jobs.replication.copy.contract import PartitionStart

Work = Callable[[Sequence[PartitionStart], AssignmentChanges | None], None]


class CopyThread:
    """Copies partitions by one engine; `work` is its `copy`, called in a thread.

    With `changes` one call takes everything that comes later too; without, every addition is a call of
    its own, which returns when it has nothing left to do.
    """

    def __init__(self, name: str, work: Work, changes: AssignmentChanges | None) -> None:
        self.changes = changes
        self._name = name
        self._work = work
        self._threads: list[threading.Thread] = []

    @property
    def is_begun(self) -> bool:
        """Whether this path has, or had, something to do."""
        return bool(self._threads)

    def add(self, starts: Sequence[PartitionStart]) -> None:
        """Take partitions on; asked by one thread at a time."""
        if not starts:
            return
        if self._threads and self.changes is not None:
            self.changes.add(starts)
            return
        thread = threading.Thread(
            target=self._work, args=(starts, self.changes), name=self._name, daemon=True
        )
        self._threads.append(thread)
        thread.start()

    def join(self) -> None:
        """Wait until everything is over, also what is added meanwhile."""
        for thread in self._threads:
            thread.join()
