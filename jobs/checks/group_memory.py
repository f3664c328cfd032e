"""What rounds remember of the groups of a cluster: samples of their lag, and when members were gone. Pure.

All moments are of a clock that counts the time of rounds, so that a clock that is set moves none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jobs.checks.groups import LEAST_COVERED_S, WINDOW_S, Sample

# So many samples cover the window of trends; those of 5,000 groups take less than 1 MB of JSON.
SAMPLE_EVERY_S, MOST_SAMPLES = 90, 11
# A group whose members are away for a shorter time only restarts.
RESTART_S, BACK_KEPT_S = 60, 86_400


class Seen(NamedTuple):
    """A group that was read: its key, members, lag, and of how many partitions the lag is known."""

    key: str
    members: int | None
    lag: int | None
    known: int


@dataclass(slots=True)
class GroupMemory:
    """The samples of each group are those of the last `times`, behind how many partitions they are of.

    A group without lag has no samples: its trend begins again. `read_ms` is of the last round for groups.
    """

    read_ms: int = 0
    times: list[int] = field(default_factory=list)
    lags: dict[str, list[int | None]] = field(default_factory=dict)
    members: set[str] = field(default_factory=set)
    gone: dict[str, int] = field(default_factory=dict)
    back: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, kept: Mapping[str, Any]) -> GroupMemory:
        """Return what `to_mapping` made."""
        return cls(**{**kept, "members": set(kept.get("members", ()))})

    def to_mapping(self) -> dict[str, Any]:
        kept = ("read_ms", "times", "lags", "gone", "back")
        return {name: getattr(self, name) for name in kept} | {"members": sorted(self.members)}

    def forget_samples(self) -> None:
        self.times, self.lags = [], {}

    @property
    def is_covered(self) -> bool:
        """Whether the samples of the cluster cover enough time to judge a trend."""
        kept = [at_s for at_s in self.times if at_s >= self.times[-1] - WINDOW_S]
        return bool(kept) and kept[-1] - kept[0] >= LEAST_COVERED_S

    def samples(self, key: str) -> list[Sample]:
        """Return the samples of a group, oldest first."""
        lags = self.lags.get(key, [])[1:]
        times = self.times[len(self.times) - len(lags) :]
        return [Sample(at, lag) for at, lag in zip(times, lags, strict=True) if lag is not None]

    def add(
        self, clock_s: float, read_ms: int, groups: Iterable[Seen], unread: Collection[str]
    ) -> None:
        """Take what a round for groups read, once; groups that are neither read nor `unread` are removed."""
        if read_ms == self.read_ms:
            return
        self.read_ms, now_s = read_ms, int(clock_s)
        seen = {one.key: one for one in groups}
        for one in seen.values():
            self._add_members(one, now_s)
        self.gone = {k: at for k, at in self.gone.items() if k in seen or k in unread}
        self.back = {k: at for k, at in self.back.items() if now_s - at < BACK_KEPT_S and k in seen}
        self.members &= seen.keys() | set(unread)
        if self.times and now_s - self.times[-1] < SAMPLE_EVERY_S:
            return
        self.times = [*self.times, now_s][-MOST_SAMPLES:]
        kept = {k: [*self.lags[k], None] for k in unread if k in self.lags}
        for key, one in seen.items():
            if one.lag:
                before = self.lags.get(key, [])
                kept[key] = [*(before if before[:1] == [one.known] else [one.known]), one.lag]
        most = len(self.times)
        self.lags = {k: [lags[0], *lags[1:][-most:]] for k, lags in kept.items()}

    def _add_members(self, one: Seen, now_s: int) -> None:
        if one.members:
            self.members.add(one.key)
            if now_s - self.gone.pop(one.key, now_s) >= RESTART_S:
                self.back[one.key] = now_s
        elif one.members == 0 and one.key in self.members:
            self.members.discard(one.key)
            self.gone[one.key] = now_s
