"""A copy engine on paper: what it wrote where, with everything that makes the truth hard to see."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from jobs.spark.analyses.offsets.backtesting.truth import Side

FOREIGN = 1_000_000


@dataclass
class Story:
    """Source records (offset, content), where each was copied to, and where the engine resumes.

    `dropped` are ranks that it never copies. That it goes back shows with the next record that it copies.
    """

    source: list[tuple[int, int]]
    source_end: int
    target: list[tuple[int, int]] = field(default_factory=list)
    target_end: int = 0
    copies: dict[int, list[int]] = field(default_factory=dict)
    position: int = 0
    dropped: frozenset[int] = frozenset()
    shown: int = 0

    def write(self, content: int, rank: int | None = None) -> int:
        """Append a record to the target; returns its offset."""
        at = self.target_end
        self.target.append((at, content))
        self.target_end += 1
        if rank is not None:
            self.copies.setdefault(rank, []).append(at)
        return at

    def copy(self, count: int) -> None:
        """Copy the next records."""
        for rank in range(self.position, min(self.position + count, len(self.source))):
            if rank not in self.dropped:
                self.write(self.source[rank][1], rank)
                self.shown = rank + 1
        self.position = min(self.position + count, len(self.source))

    def place(self, upstream: int) -> int:
        """Return the last offset where resuming skips nothing from a source offset on."""
        lasts = [self.target_end]
        for rank, (offset, _) in enumerate(self.source):
            if offset >= upstream and rank < self.shown and rank in self.copies:
                lasts.append(self.copies[rank][-1])
        return min(lasts)

    def first_place(self, upstream: int) -> int:
        """Return where the first of them was copied first."""
        firsts = [
            self.copies[rank][0]
            for rank, (offset, _) in enumerate(self.source)
            if offset >= upstream and rank in self.copies
        ]
        return min([self.target_end, *firsts])

    def sides(self, source_from: int = 0, target_from: int = 0) -> tuple[Side, Side]:
        """Return what a reader sees when everything before some offsets was deleted."""
        return (
            side(self.source, source_from, self.source_end),
            side(self.target, target_from, self.target_end),
        )


def side(records: list[tuple[int, int]], start: int, end: int) -> Side:
    left = [one for one in records if one[0] >= start]
    offsets, contents = (np.array([one[n] for one in left], np.int64) for n in (0, 1))
    return Side(offsets, contents * 2654435761, start, end)


@st.composite
def stories(draw, *, equal=True, dropping=True):
    """Any life of a partition: gaps, equal records, foreign ones, restarts before the last position."""
    contents = st.one_of(st.none(), st.integers(1, 3)) if equal else st.none()
    source, offset = [], 0
    for rank in range(draw(st.integers(0, 20))):
        offset += draw(st.sampled_from([0, 0, 0, 1, 5]))
        content = draw(contents)
        source.append((offset, 100 + rank if content is None else content))
        offset += 1
    story = Story(source, offset + draw(st.sampled_from([0, 0, 2])))
    if dropping:
        alone = [rank for rank, one in enumerate(source) if one[1] >= 100]
        story.dropped = frozenset(
            draw(st.sets(st.sampled_from(alone), max_size=3)) if alone else ()
        )
    for number in range(draw(st.integers(0, 6))):
        story.copy(draw(st.integers(1, 12)))
        match draw(st.sampled_from(["marker", "foreign", "back", "nothing"])):
            case "marker":
                story.target_end += draw(st.integers(1, 3))
            case "foreign":
                story.write(FOREIGN + number)
            case "back":
                story.position = draw(st.integers(0, story.position))
    return story
