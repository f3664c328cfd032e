"""A batch on its way to the target, and the memory of the answer that it came in."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MIB = 1024 * 1024
# What all copiers of a process may hold, what one may, and what each may always hold.
BUDGET_BYTES, MOST_BYTES, LEAST_BYTES = 96 * MIB, 48 * MIB, 2 * MIB

_holding: set[Memory] = set()


def in_flight() -> dict[str, int]:
    """Return how many bytes each flow's copiers in this process hold; those that hold nothing are absent."""
    held: dict[str, int] = defaultdict(int)
    for memory in tuple(_holding):
        held[memory.flow] += memory.used_bytes
    return dict(held)


@dataclass(slots=True, eq=False)
class Memory:
    """The bytes of everything that was fetched and is not acknowledged yet, counted as they are held.

    One copier's share of what all copiers of the process may hold; `flow` is the name of its flow.
    """

    flow: str = ""
    used_bytes: int = 0

    @property
    def room_bytes(self) -> int:
        """How much this copier may hold now: the more copiers hold much, the less."""
        large = sum(one.used_bytes > LEAST_BYTES for one in tuple(_holding) if one is not self)
        return min(MOST_BYTES, max(BUDGET_BYTES // (large + 1), LEAST_BYTES))

    def change(self, by_bytes: int) -> None:
        """Count more or fewer bytes."""
        self.used_bytes += by_bytes
        (_holding.add if self.used_bytes else _holding.discard)(self)

    def close(self) -> None:
        """Hold nothing any more, whatever was on its way."""
        _holding.discard(self)

    def hold(self, size_bytes: int) -> Held:
        """Return a piece of memory that is not read yet, so it does not count yet."""
        return Held(self, size_bytes)


@dataclass(slots=True)
class Held:
    """One piece of memory: it counts whole from its first user to its last."""

    memory: Memory
    size_bytes: int
    users: int = 0

    def use(self) -> None:
        """Count one more user."""
        if not self.users:
            self.memory.change(self.size_bytes)
        self.users += 1

    def release(self) -> None:
        """Count one user less."""
        self.users -= 1
        if not self.users:
            self.memory.change(-self.size_bytes)


@dataclass(slots=True)
class OutgoingBatch:
    """One batch on its way to the target.

    It covers the upstream offsets from `from_offset` (where the one before it ended) up to
    `next_offset`; `offsets` are those of its records, None when they are dense from `first_offset`.
    `is_packed`: crosslog made this batch, it is not the source's own. `held` is the memory it looks into.
    """

    batch: memoryview
    from_offset: int
    first_offset: int
    next_offset: int
    record_count: int
    max_timestamp_ms: int
    leader_epoch: int
    offsets: npt.NDArray[np.int64] | None = None
    is_packed: bool = False
    held: Held | None = None

    @property
    def last_offset(self) -> int:
        """Upstream offset of the newest record."""
        return self.offset_of(self.record_count - 1)

    def offset_of(self, index: int) -> int:
        """Return the upstream offset of a record, counted from 0."""
        return self.first_offset + index if self.offsets is None else int(self.offsets[index])

    def hold(self, held: Held) -> None:
        """Look into other memory than before."""
        held.use()
        self.release()
        self.held = held

    def release(self) -> None:
        """Look into no memory any more."""
        if self.held is not None:
            self.held.release()
            self.held = None
