"""The worst moment of each step of time, as counts change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter

from jobs.availability.status.tally import WHOLE, Counts, Scope, ScopeKind

# The counts of a step; the numbers of partitions and leaders are in the roll-ups.
SAMPLED = (
    "under_replicated",
    "at_min_isr",
    "under_min_isr",
    "offline",
    "rf_below_min",
    "out_of_sync",
    "unwritable",
)
Peak = tuple[int, ...]
_NOTHING: Peak = (0,) * len(SAMPLED)
_SAMPLED = attrgetter(*SAMPLED)
# Topics are too many; the history of one is in the intervals of its partitions.
_KINDS = frozenset({ScopeKind.CLUSTER, ScopeKind.BROKER, ScopeKind.RACK})


@dataclass(frozen=True, slots=True)
class Step:
    """The peaks of one scope in the step that begins at `at_s` (seconds since 1970)."""

    at_s: int
    scope: Scope
    peak: Peak


class StepPeaks:
    """Peaks by step; times never go back behind the step that is being written.

    `at_s` is the step that is being written, None before the first. `known` are the peaks that it has
    already. Steps before `oldest_s` are left out.
    """

    def __init__(
        self, step_s: int, at_s: int | None, oldest_s: int, known: Mapping[Scope, Peak]
    ) -> None:
        self.step_s = step_s
        self.at_s = at_s
        self._oldest_s = oldest_s - oldest_s % step_s
        self._peaks = dict(known)
        self._is_too_old = False

    def reach(self, at_s: float, held: Callable[[], Mapping[Scope, Counts]]) -> Iterator[Step]:
        """Yield the steps that are over at a time; `held` tells the counts that held until then."""
        place = int(at_s) - int(at_s) % self.step_s
        self._is_too_old = at_s < self._oldest_s
        if self.at_s is not None and place <= self.at_s:
            return
        counts = held()
        if self.at_s is None:
            self.skip(max(place, self._oldest_s), counts)
        elif self.at_s < self._oldest_s <= place:
            self.skip(self._oldest_s, counts)
        while self.at_s is not None and self.at_s < place:
            yield from self.current()
            self.skip(self.at_s + self.step_s, counts)

    def skip(self, at_s: int, counts: Mapping[Scope, Counts]) -> None:
        """Begin another step: it starts with what is so now."""
        self.at_s = at_s - at_s % self.step_s
        self._peaks = {}
        for scope in counts:
            self.note(scope, counts[scope])

    def note(self, scope: Scope, counts: Counts) -> None:
        """Take in the current counts of a scope."""
        if scope[0] not in _KINDS:
            return
        now = _SAMPLED(counts)
        # What was before all steps is only what they begin with.
        before = _NOTHING if self._is_too_old else self._peaks.get(scope, _NOTHING)
        self._peaks[scope] = tuple(map(max, before, now))

    def current(self) -> Iterator[Step]:
        """Yield the step that is being written: the cluster always, others where there is something."""
        if self.at_s is None or self.at_s < self._oldest_s:
            return
        for scope, peak in self._peaks.items():
            if scope == WHOLE or any(peak):
                yield Step(self.at_s, scope, peak)
