"""The loops over changes of partitions, compiled: brokers that moved, times in a state."""

from __future__ import annotations

from typing import Any

from jobs.quorum.log_tables.state_times import (
    _FROM,
    _IN_SYNC,
    _IS_THERE,
    _LEADER,
    _MIN_ISR,
    _PERIOD,
    _PERIODS,
    _REPLICAS,
    _SINCE,
    _TO,
    _TOPIC,
)
from jobs.wire.machine_code import compiled, inlined


@inlined
def _has(values: Any, begin: int, end: int, value: int) -> bool:
    for at in range(begin, end):  # noqa: SIM110  numba knows no `any`
        if values[at] == value:
            return True
    return False


@compiled
def find_moves(rows: Any, lists: Any, found: Any) -> int:
    """Fill rows of `found`, a broker once for each change, and return how many."""
    before_ends, before, after_ends, after, replica_ends, replicas = lists
    count = 0
    for row in rows:
        old, old_end = before_ends[row], before_ends[row + 1]
        new, new_end = after_ends[row], after_ends[row + 1]
        replica, replica_end = replica_ends[row], replica_ends[row + 1]
        for at in range(old, old_end):
            one = before[at]
            left = not _has(after, new, new_end, one) and not _has(before, old, at, one)
            if left and _has(replicas, replica, replica_end, one):
                found[count, 0], found[count, 1], found[count, 2] = row, one, 1
                count += 1
        for at in range(new, new_end):
            one = after[at]
            if not _has(before, old, old_end, one) and not _has(after, new, at, one):
                found[count, 0], found[count, 1], found[count, 2] = row, one, 0
                count += 1
    return count


@inlined
def _close(state: Any, at_ms: int, pieces: Any, own: Any, sums: Any) -> None:
    """Count a state up to a time."""
    topic = state[_TOPIC]
    for number in range(own[topic, 0], own[topic, 1]):
        piece = pieces[number]
        spent = min(at_ms, piece[_TO]) - max(state[_SINCE], piece[_FROM])
        if spent > 0:
            sum_ = sums[topic, piece[_PERIOD]]
            if piece[_PERIOD] >= state[_PERIODS]:
                sum_[0] += 1
                state[_PERIODS] = piece[_PERIOD] + 1
            sum_[1] += spent
            if state[_LEADER] < 0:
                sum_[2] += spent
            if state[_LEADER] < 0 or state[_IN_SYNC] < min(piece[_MIN_ISR], state[_REPLICAS]):
                sum_[3] += spent


@compiled
def take(changes: Any, states: Any, pieces: Any, own: Any, sums: Any) -> None:
    """Count the states that changes end, and write what they begin."""
    for number in range(len(changes)):
        change = changes[number]
        state = states[change[0]]
        at_ms = max(state[_SINCE], change[_SINCE])
        if state[_IS_THERE] and at_ms > state[_SINCE]:
            _close(state, at_ms, pieces, own, sums)
        state[_SINCE] = at_ms
        state[_IS_THERE:_PERIODS] = change[_IS_THERE:]


@compiled
def finish(to_ms: int, states: Any, pieces: Any, own: Any, sums: Any) -> None:
    """Count all states up to the end."""
    for number in range(len(states)):
        if states[number, _IS_THERE]:
            _close(states[number], to_ms, pieces, own, sums)
