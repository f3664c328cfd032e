"""What checkpoints ought to say, taken from the records themselves: pure, fed by `demo_hours`."""

from array import array
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Where(NamedTuple):
    """A partition of the source."""

    topic: str
    partition: int


class Written(NamedTuple):
    """A checkpoint as it was read: group, source partition, both offsets, its record's timestamp."""

    group: str
    where: Where
    upstream: int
    downstream: int
    at_ms: int


class Waiting:
    """Records of one side that have no partner yet, in order; the two readers need not be equally fast."""

    def __init__(self) -> None:
        self._records: deque[tuple[int, int]] = deque()
        self._contents: Counter[int] = Counter()

    def __contains__(self, content: int) -> bool:
        return content in self._contents

    def add(self, offset: int, content: int) -> None:
        self._records.append((offset, content))
        self._contents[content] += 1

    def take(self, content: int) -> tuple[int, int]:
        """Remove a record and all before it; returns its offset and how many were before it."""
        before = 0
        while True:
            offset, one = self._records.popleft()
            self._contents[one] -= 1
            if not self._contents[one]:
                del self._contents[one]
            if one == content:
                return offset, before
            before += 1


@dataclass
class Pairs:
    """Which source record is which target record, of one partition, by content and order.

    `missing` counts source records that the target passed over (compacted before they were copied, or lost),
    `unexpected` target records without a source record (compacted before it was read here, or duplicates).
    """

    upstream: array = field(default_factory=lambda: array("q"))
    downstream: array = field(default_factory=lambda: array("q"))
    missing: int = 0
    unexpected: int = 0
    _of_source: Waiting = field(default_factory=Waiting)
    _of_target: Waiting = field(default_factory=Waiting)

    def source(self, offset: int, content: int) -> None:
        self._of_source.add(offset, content)
        self._pair(content)

    def target(self, offset: int, content: int) -> None:
        self._of_target.add(offset, content)
        self._pair(content)

    def _pair(self, content: int) -> None:
        """Pair the newest record if the other side has it; all that waits before it has no partner."""
        if content not in self._of_source or content not in self._of_target:
            return
        upstream, missing = self._of_source.take(content)
        downstream, unexpected = self._of_target.take(content)
        self.upstream.append(upstream)
        self.downstream.append(downstream)
        self.missing += missing
        self.unexpected += unexpected

    def judge(self, upstream: int, downstream: int) -> tuple[int, int]:
        """Return how many records a reader that resumes there skips, and how many it reads again."""
        right = bisect_left(self.upstream, upstream)
        resumes = bisect_left(self.downstream, downstream)
        return max(0, resumes - right), max(0, right - resumes)


def judge(written: Iterable[Written], pairs: Mapping[Where, Pairs]) -> dict[str, object]:
    """Judge every checkpoint: outside the truth, zero, falling while the group did not go back."""
    count = zero = skipping = falling = 0
    reread: Counter[int] = Counter()
    examples: list[dict[str, object]] = []
    last: dict[tuple[str, Where], Written] = {}
    for one in written:
        count += 1
        before = last.get((one.group, one.where))
        last[one.group, one.where] = one
        skipped, again = pairs[one.where].judge(one.upstream, one.downstream)
        reread[again] += 1
        is_zero = one.downstream == 0 and again > 0
        is_skipping = skipped > 0
        is_falling = (
            before is not None
            and one.downstream < before.downstream
            and one.upstream >= before.upstream
        )
        zero, skipping, falling = zero + is_zero, skipping + is_skipping, falling + is_falling
        if (is_zero or is_skipping or is_falling) and len(examples) < 20:
            examples.append({**one._asdict(), "skips": skipped, "reads_again": again})
    return {
        "checkpoints": count,
        "target_offset_zero": zero,
        "would_skip_records": skipping,
        "falling": falling,
        "reads_nothing_again": reread[0],
        "most_records_read_again": max(reread, default=0),
        "examples": examples,
    }
