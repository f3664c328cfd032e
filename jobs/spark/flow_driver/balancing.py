"""Which task copies which partition: pure rules over observed bytes per second.

Partitions are dealt largest first to the task that has least to do, and stay where they are unless
that is clearly worse. A running flow is changed only when some task has had far more to do than the
others for a while, and then seldom: every move interrupts two tasks for a moment.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from jobs.cluster.descriptions import TopicPartition

# What a partition weighs beside its bytes: idle ones are to be spread too.
IDLE_BYTES_PER_S = 1024.0
# A task may have this much more than its fair share before a partition does not stay with it.
STICKINESS = 0.25
MOST_MOVES = 8
# So many partitions are compared per second at most: many of them not each second.
COMPARED_PER_S = 1000

Owners = Mapping[TopicPartition, int]
Rates = Mapping[TopicPartition, float]


def weights(partitions: Iterable[TopicPartition], rates: Rates) -> dict[TopicPartition, float]:
    """Return what each partition weighs in bytes per second; an unknown rate counts as the average."""
    average = sum(rates.values()) / len(rates) if rates else 0.0
    return {where: rates.get(where, average) + IDLE_BYTES_PER_S for where in partitions}


def assign(
    free: Collection[TopicPartition],
    owners: Owners,
    rates: Rates,
    tasks: Collection[int],
    before: Owners | None = None,
) -> dict[TopicPartition, int]:
    """Return a task for every free partition; those that have an owner stay.

    `before` is which task had a partition last: it gets it again unless it has more than its fair
    share already.
    """
    if not tasks:
        return {}
    weight = weights([*free, *owners], rates)
    loads = _loads(owners, weight, tasks)
    fair = sum(weight.values()) / len(tasks)
    dealt: dict[TopicPartition, int] = {}
    for where in sorted(free, key=lambda w: (-weight[w], w)):
        home = (before or {}).get(where)
        if home not in loads or loads[home] + weight[where] > fair * (1 + STICKINESS):
            home = min(loads, key=lambda task: (loads[task], task))
        dealt[where] = home
        loads[home] += weight[where]
    return dealt


def moves(owners: Owners, rates: Rates, tasks: Collection[int]) -> dict[TopicPartition, int]:
    """Return which partitions to move where so that the busiest task has less to do; few of them."""
    weight = weights(owners, rates)
    placed = dict(owners)
    found: dict[TopicPartition, int] = {}
    while len(found) < MOST_MOVES:
        move = _best_move(placed, weight, tasks)
        if move is None:
            break
        where, task = move
        placed[where] = found[where] = task
    return found


def imbalance(owners: Owners, rates: Rates, tasks: Collection[int]) -> tuple[float, float]:
    """Return the busiest task's load as a multiple of the average, and how many bytes/s it is above it."""
    if not tasks:
        return 1.0, 0.0
    loads = _loads(owners, weights(owners, rates), tasks)
    average = sum(loads.values()) / len(loads)
    busiest = max(loads.values())
    return (busiest / average if average else 1.0), busiest - average


@dataclass(slots=True)
class Balance:
    """Says when to move partitions; keeps nothing but since when it is needed.

    Times are seconds, `now_s` is a monotonic clock. Imbalance begins where the busiest task has `begins_at`
    times the average and `least_bytes_per_s` more than it; it is over below `ends_at`. Only what lasts
    `lasting_s` is acted on, and not more often than `every_s`.
    """

    begins_at: float = 1.5
    ends_at: float = 1.2
    least_bytes_per_s: float = 256 * 1024.0
    lasting_s: float = 20.0
    every_s: float = 60.0
    _compare_at_s: float = -math.inf
    _since_s: float | None = None
    _moved_s: float | None = None

    def due(
        self, owners: Owners, rates: Rates, tasks: Collection[int], now_s: float
    ) -> dict[TopicPartition, int]:
        """Return the moves that are due now: partition to task; empty nearly always."""
        if now_s < self._compare_at_s:
            return {}
        self._compare_at_s = now_s + len(owners) / COMPARED_PER_S
        if len(tasks) <= 1:
            self._since_s = None
            return {}
        ratio, above = imbalance(owners, rates, tasks)
        if ratio < self.ends_at:
            self._since_s = None
        elif self._since_s is None and ratio >= self.begins_at and above >= self.least_bytes_per_s:
            self._since_s = now_s
        if self._since_s is None or now_s - self._since_s < self.lasting_s:
            return {}
        if self._moved_s is not None and now_s - self._moved_s < self.every_s:
            return {}
        found = moves(owners, rates, tasks)
        if found:
            self._since_s, self._moved_s = None, now_s
        return found


def _loads(
    owners: Owners, weight: Mapping[TopicPartition, float], tasks: Collection[int]
) -> dict[int, float]:
    loads = dict.fromkeys(sorted(tasks), 0.0)
    for where, task in owners.items():
        if task in loads:
            loads[task] += weight[where]
    return loads


def _best_move(
    owners: Owners, weight: Mapping[TopicPartition, float], tasks: Collection[int]
) -> tuple[TopicPartition, int] | None:
    """Return the move from the busiest task to the idlest that leaves the smaller of both maxima.

    None when the busiest would not have clearly less to do: a single heavy partition stays.
    """
    loads = _loads(owners, weight, tasks)
    busiest = max(loads, key=lambda task: (loads[task], -task))
    idlest = min(loads, key=lambda task: (loads[task], task))
    candidates = sorted(where for where, task in owners.items() if task == busiest)
    after = {
        where: max(loads[busiest] - weight[where], loads[idlest] + weight[where])
        for where in candidates
    }
    best = min(after, key=lambda where: after[where], default=None)
    if best is None or after[best] > loads[busiest] * 0.95 - IDLE_BYTES_PER_S:
        return None
    return best, idlest
