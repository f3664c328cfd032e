"""Generated histories: a source partition, its copy, and the offset syncs that somebody managed to write."""

from dataclasses import dataclass, field

from hypothesis import strategies as st


@dataclass
class World:
    """A source partition, its copy, and the syncs that somebody managed to write about it."""

    copies: list[tuple[int, int]] = field(default_factory=list)
    syncs: list[tuple[int, int]] = field(default_factory=list)
    upstream: int = 0
    downstream: int = 0
    # Everything that is on the target, in its order; from `of_now` on it comes from the source topic of now.
    log: list[tuple[int, int]] = field(default_factory=list)
    records: set[int] = field(default_factory=set)
    was_remade: bool = False
    of_now: int = 0
    since_upheaval: int = 0

    def copy(self, source_gap: int, target_gap: int, is_told: bool) -> None:
        self.upstream = self.record_from(self.upstream + source_gap)
        self.downstream += target_gap
        self.copies.append((self.upstream, self.downstream))
        self.log.append(self.copies[-1])
        self.since_upheaval += 1
        if is_told:
            self.syncs.append(self.copies[-1])
        self.upstream += 1
        self.downstream += 1

    def record_from(self, upstream: int) -> int:
        """Return the first record from an offset on; what is passed by is compacted away, none is new."""
        known = [offset for offset in self.records if offset >= upstream]
        found = min(known) if known else upstream
        self.records -= set(range(self.upstream, found))
        self.records.add(found)
        return found

    def go_back(self, by: int) -> None:
        """A restart below what was copied: these records are copied again, now or later."""
        self.since_upheaval = 0
        self.upstream = max(0, self.upstream - by)
        self.copies = [copy for copy in self.copies if copy[0] < self.upstream]

    def remake_source(self) -> None:
        """Another topic of the same name: nothing of the old one is queried any more."""
        self.since_upheaval = 0
        self.copies, self.records = [], set()
        self.upstream = 0
        self.was_remade = True
        self.of_now = len(self.log)

    def remake_target(self) -> None:
        self.since_upheaval = 0
        self.copies, self.log = [], []
        self.downstream = 0
        self.of_now = 0

    def first_at_or_after(self, upstream: int) -> int | None:
        """Return where the newest copy of the first copied record from an offset on is."""
        newest = dict(self.copies)
        following = [offset for offset in newest if offset >= upstream]
        return newest[min(following)] if following else None

    def lowest_from(self, downstream: int) -> int | None:
        """Return the lowest source offset of all that is at an offset of the target or behind it."""
        return min((upstream for upstream, place in self.log if place >= downstream), default=None)

    def unseen_from(self, downstream: int) -> set[int]:
        """Return the source's records that a reader of the target up to an offset has not seen."""
        now = self.log[self.of_now :]
        seen = {upstream for upstream, offset in now if offset < downstream}
        return {upstream for upstream, _ in now} - seen

    def all_from(self, upstream: int) -> list[int]:
        newest = dict(self.copies)
        return [downstream for offset, downstream in newest.items() if offset >= upstream]


GAPS = st.sampled_from([0, 0, 0, 0, 1, 3])


UPHEAVALS = ("", "back", "source", "target")


@st.composite
def worlds(draw, *, source_gaps=GAPS, target_gaps=GAPS, upheavals=UPHEAVALS):
    """Copies with gaps, of which a third is written; after an upheaval the first one always."""
    world = World()
    told = st.sampled_from([True, False, False])
    upheaval = ""
    for _ in range(draw(st.integers(1, 4))):
        for number in range(draw(st.integers(1, 15))):
            is_first = number == 0 and bool(upheaval)
            # A re-created topic whose first offset is beyond all old ones looks like the old one.
            gap = 0 if is_first else draw(source_gaps)
            # A re-created topic begins at offset 0.
            behind = 0 if is_first and upheaval == "target" else draw(target_gaps)
            world.copy(gap, behind, is_first or draw(told))
        upheaval = draw(st.sampled_from(upheavals))
        match upheaval:
            case "back":
                world.go_back(draw(st.integers(1, 20)))
            case "source":
                world.remake_source()
            case "target":
                world.remake_target()
    return world


def crosslog_tells(world: World) -> list[tuple[int, int]]:
    """Return the first record of every stretch of one difference, and the last record."""
    told, last = [], None
    for upstream, downstream in world.copies:
        if last is None or downstream - upstream != last[1] - last[0]:
            told.append((upstream, downstream))
        last = (upstream, downstream)
    if last is not None and told[-1] != last:
        told.append(last)
    return told
