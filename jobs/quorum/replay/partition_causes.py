"""Causes of partition changes, compiled; the rules are those of `partition_causes` and `broker_causes`.

`before` and `after` are addresses of states, `row` that of a row of history (see `table`).
"""

from __future__ import annotations

from jobs.quorum.history.changes import Cause, Election
from jobs.quorum.replay import table as r
from jobs.quorum.replay.lists import contains, list_at, list_count
from jobs.quorum.replay.table import CAUSES, ELECTIONS
from jobs.wire.machine_code import compiled, get_32, get_64, inlined, put_64
from jobs.wire.metadata import table as t

_ISR, _REPLICAS, _REMOVING, _ADDING, _ELR, _LAST_KNOWN = (
    r.LISTS + which for which in (t.ISR, t.REPLICAS, t.REMOVING, t.ADDING, t.ELR, t.LAST_KNOWN_ELR)
)
_NO_LEADER = -1
_RECOVERED, _RECOVERING = 0, 1
# An answer of `_reassignment`: nothing happened to one.
_NONE = -1

_NOTHING = CAUSES[Cause.NOTHING]
_SHRINK, _EXPAND = CAUSES[Cause.ISR_SHRINK], CAUSES[Cause.ISR_EXPAND]
_ISR_CHANGED = CAUSES[Cause.ISR_CHANGED]
_LEADER_RECOVERED = CAUSES[Cause.LEADER_RECOVERED]
_ELR_CHANGED = CAUSES[Cause.ELR_CHANGED]
_ASSIGNED = CAUSES[Cause.DIRECTORIES_ASSIGNED]
_BUMPED = CAUSES[Cause.LEADER_EPOCH_BUMPED]
_STARTED, _CHANGED = CAUSES[Cause.REASSIGNMENT_STARTED], CAUSES[Cause.REASSIGNMENT_CHANGED]
_COMPLETED = CAUSES[Cause.REASSIGNMENT_COMPLETED]
_CANCELLED = CAUSES[Cause.REASSIGNMENT_CANCELLED]
_UNFENCED, _SHUTDOWN = CAUSES[Cause.BROKER_UNFENCED], CAUSES[Cause.CONTROLLED_SHUTDOWN]

_STAYED = ELECTIONS[None]
_PREFERRED, _IN_SYNC = ELECTIONS[Election.PREFERRED], ELECTIONS[Election.IN_SYNC]
_ELIGIBLE = ELECTIONS[Election.ELIGIBLE_LEADER_REPLICA]
_UNCLEAN, _LOST = ELECTIONS[Election.UNCLEAN], ELECTIONS[Election.NO_LEADER]
_BY_ELECTION = tuple(
    CAUSES[cause]
    for cause in (
        Cause.NOTHING,
        Cause.PREFERRED_ELECTION,
        Cause.LEADER_ELECTION,
        Cause.ELR_ELECTION,
        Cause.UNCLEAN_ELECTION,
        Cause.LEADER_LOST,
    )
)


@inlined
def _of(state: int, field: int) -> int:
    found: int = get_64(state + 8 * field)
    return found


@compiled
def write_cause(before: int, after: int, row: int, context: int) -> None:
    """Write what a change record says of its cause by itself into its row."""
    leader, old = _of(after, r.LEADER), _of(before, r.LEADER)
    outside = (
        leader not in (old, _NO_LEADER)
        and not contains(_of(before, _ISR), leader, context)
        and not contains(_of(before, _ELR), leader, context)
    )
    recovering = _of(after, r.RECOVERY) == _RECOVERING != _of(before, r.RECOVERY)
    election = _UNCLEAN if outside or recovering else _STAYED
    if election == _STAYED and leader != old:
        election = _election(before, after, context)
    put_64(row + 8 * r.WAS_OUTSIDE, 1 if outside else 0)
    put_64(row + 8 * r.BEGAN_RECOVERING, 1 if recovering else 0)
    put_64(row + 8 * r.ELECTION, election)
    put_64(row + 8 * r.CAUSE_BROKER, r.NO_BROKER)
    cause = _reassignment(before, after, context)
    if cause == _NONE:
        cause = _BY_ELECTION[election]
    if cause == _NOTHING:
        cause = _asked_by_leader(before, after, row, context)
    put_64(row + 8 * r.CAUSE, cause)


@compiled
def _election(before: int, after: int, context: int) -> int:
    leader, old = _of(after, r.LEADER), _of(before, r.LEADER)
    if leader == _NO_LEADER:
        return _LOST
    if not contains(_of(before, _ISR), leader, context):
        return _ELIGIBLE
    replicas = _of(after, _REPLICAS)
    preferred = get_32(list_at(replicas, context)) if list_count(replicas, context) else _NO_LEADER
    had_choice = old != _NO_LEADER and contains(_of(after, _ISR), old, context)
    return _PREFERRED if leader == preferred and had_choice else _IN_SYNC


@inlined
def _is_reassigning(state: int) -> bool:
    # The empty list has the number 0.
    return (_of(state, _ADDING) | _of(state, _REMOVING)) != 0


@compiled
def _reassignment(before: int, after: int, context: int) -> int:
    same_replicas = _of(before, _REPLICAS) == _of(after, _REPLICAS)
    if _is_reassigning(after):
        if not _is_reassigning(before):
            return _STARTED
        same = _of(before, _ADDING) == _of(after, _ADDING)
        same = same and _of(before, _REMOVING) == _of(after, _REMOVING)
        return _NONE if same and same_replicas else _CHANGED
    if not _is_reassigning(before):
        return _NONE if same_replicas else _COMPLETED
    return _CANCELLED if _is_back(before, after, context) else _COMPLETED


@compiled
def _is_back(before: int, after: int, context: int) -> bool:
    """Whether the replicas are again those from before the reassignment, and not those that it wanted."""
    replicas, adding, removing = (
        _of(before, _REPLICAS),
        _of(before, _ADDING),
        _of(before, _REMOVING),
    )
    now = _of(after, _REPLICAS)
    is_wanted = True
    for index in range(list_count(replicas, context)):
        one = get_32(list_at(replicas, context) + 4 * index)
        is_original = not contains(adding, one, context)
        if is_original != contains(now, one, context):
            return False
        if is_original != (not contains(removing, one, context)):
            is_wanted = False
    for index in range(list_count(now, context)):
        if not contains(replicas, get_32(list_at(now, context) + 4 * index), context):
            return False
    return not is_wanted


@compiled
def _asked_by_leader(before: int, after: int, row: int, context: int) -> int:
    isr, old = _of(after, _ISR), _of(before, _ISR)
    if isr != old:
        left, who_left = _missing(old, isr, context)
        joined, who_joined = _missing(isr, old, context)
        if left and joined:
            return _ISR_CHANGED
        if left + joined == 1:
            put_64(row + 8 * r.CAUSE_BROKER, who_left if left else who_joined)
        if left + joined:
            return _SHRINK if left else _EXPAND
    if _of(before, r.RECOVERY) != _of(after, r.RECOVERY) == _RECOVERED:
        put_64(row + 8 * r.CAUSE_BROKER, _of(after, r.LEADER))
        return _LEADER_RECOVERED
    return _lesser(before, after)


@inlined
def _lesser(before: int, after: int) -> int:
    if _of(before, _ELR) != _of(after, _ELR) or _of(before, _LAST_KNOWN) != _of(after, _LAST_KNOWN):
        return _ELR_CHANGED
    if _of(before, r.DIRECTORIES) != _of(after, r.DIRECTORIES):
        return _ASSIGNED
    return _NOTHING if _of(before, r.LEADER_EPOCH) == _of(after, r.LEADER_EPOCH) else _BUMPED


@compiled
def _missing(one: int, other: int, context: int) -> tuple[int, int]:
    """Return how many of a list are not in the other, and the first of them."""
    count, first = 0, 0
    at = list_at(one, context)
    for index in range(list_count(one, context)):
        value = get_32(at + 4 * index)
        if not contains(other, value, context):
            if count == 0:
                first = value
            count += 1
    return count, first
