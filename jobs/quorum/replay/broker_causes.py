"""Causes that a broker's event in the same batch tells, compiled; the rules are those of `broker_causes`."""

from __future__ import annotations

from collections.abc import Iterable

from jobs.quorum.history.broker_causes import _ANSWERED, _BEHIND, _EVENTS, _OF_ITSELF
from jobs.quorum.history.changes import Cause, Election
from jobs.quorum.replay import table as r
from jobs.quorum.replay.lists import contains, list_at, list_count, row_at
from jobs.quorum.replay.table import CAUSES, ELECTIONS, D, Int64s
from jobs.wire.machine_code import compiled, get_32, get_64, inlined, put_64
from jobs.wire.metadata import table as t


def _bits(causes: Iterable[Cause]) -> int:
    return sum(1 << CAUSES[cause] for cause in causes)


_OF_ITSELF_BITS, _ANSWERED_BITS = _bits(_OF_ITSELF), _bits(_ANSWERED)
_EVENT_BITS, _BEHIND_BITS = _bits(_EVENTS), _bits(_BEHIND)
_UNFENCED, _SHUTDOWN = CAUSES[Cause.BROKER_UNFENCED], CAUSES[Cause.CONTROLLED_SHUTDOWN]
_PREFERRED, _IN_SYNC = ELECTIONS[Election.PREFERRED], ELECTIONS[Election.IN_SYNC]
_NO_LEADER = -1
_ISR_AT, _ELR_AT = (8 * (r.STATE + r.LISTS + which) for which in (t.ISR, t.ELR))
_LEADER_AT = 8 * (r.STATE + r.LEADER)
_NONE = r.NO_BROKER
_HISTORY = D.history_table


@compiled
def attribute(context: int, first: int, last: int, events: Int64s, leaving: Int64s) -> None:
    """Give rows of history from `first` to `last` (exclusive) the cause that events beside them tell.

    `events` are those of the batch in their order (`table.EVENT_AT` ...); `leaving` are the brokers
    whose controlled shutdown an earlier batch began.
    """
    for index in range(first, last):
        row = row_at(context, _HISTORY, index, r.HISTORY_FIELDS)
        if not get_64(row + 8 * r.HAD_BEFORE):
            continue
        _by_earlier(row, index, events, context)
        _by_later(row, index, events, context)
        _still_leaving(row, leaving, context)


@inlined
def _is_in(row: int, bits: int) -> bool:
    found: int = bits >> get_64(row + 8 * r.CAUSE) & 1
    return found != 0


@compiled
def _candidates(row: int, context: int) -> int:
    isr, elr = get_64(row + 8 * r.PREVIOUS_ISR), get_64(row + 8 * r.PREVIOUS_ELR)
    return list_count(isr, context) + list_count(elr, context) + 1


@compiled
def _lost(row: int, index: int, context: int) -> int:
    """Return the broker of a candidate's place that is no longer leader, in sync or eligible, else none."""
    isr, elr = get_64(row + 8 * r.PREVIOUS_ISR), get_64(row + 8 * r.PREVIOUS_ELR)
    in_isr, leader = list_count(isr, context), get_64(row + _LEADER_AT)
    if index == in_isr + list_count(elr, context):
        return get_64(row + 8 * r.PREVIOUS_LEADER) if leader == _NO_LEADER else _NONE
    if index < in_isr:
        one = get_32(list_at(isr, context) + 4 * index)
    else:
        one = get_32(list_at(elr, context) + 4 * (index - in_isr))
        if contains(get_64(row + _ELR_AT), one, context):
            return _NONE
    gone = one != leader and not contains(get_64(row + _ISR_AT), one, context)
    return one if gone else _NONE


@compiled
def _because_of(row: int, cause: int, broker: int) -> None:
    put_64(row + 8 * r.CAUSE, cause)
    put_64(row + 8 * r.CAUSE_BROKER, broker)
    if get_64(row + 8 * r.ELECTION) == _PREFERRED:
        put_64(row + 8 * r.ELECTION, _IN_SYNC)


@inlined
def _happened(events: Int64s, index: int, broker: int, cause: int) -> bool:
    """Whether such an event of a broker precedes a row."""
    for number in range(len(events)):
        if events[number, r.EVENT_AT] > index:
            break
        if events[number, r.EVENT_BROKER] == broker and events[number, r.EVENT_CAUSE] == cause:
            return True
    return False


@inlined
def _end_of(events: Int64s, index: int, broker: int) -> int:
    """Return the cause that the next event of a broker behind a row tells, 0 for one that tells none."""
    for number in range(len(events)):
        if events[number, r.EVENT_AT] > index and events[number, r.EVENT_BROKER] == broker:
            cause = int(events[number, r.EVENT_CAUSE])
            return cause if _BEHIND_BITS >> cause & 1 else 0
    return 0


@inlined
def _by_earlier(row: int, index: int, events: Int64s, context: int) -> None:
    if _is_in(row, _OF_ITSELF_BITS):
        return
    least = _NONE
    for place in range(_candidates(row, context)):
        one = _lost(row, place, context)
        if (
            one != _NONE
            and (least == _NONE or one < least)
            and _happened(events, index, one, _SHUTDOWN)
        ):
            least = one
    leader = get_64(row + _LEADER_AT)
    if least != _NONE:
        _because_of(row, _SHUTDOWN, least)
    elif get_64(row + 8 * r.PREVIOUS_LEADER) == _NO_LEADER and _happened(
        events, index, leader, _UNFENCED
    ):
        _because_of(row, _UNFENCED, leader)


@inlined
def _by_later(row: int, index: int, events: Int64s, context: int) -> None:
    if _is_in(row, _ANSWERED_BITS):
        return
    leader = get_64(row + 8 * r.PREVIOUS_LEADER)
    broker, why = _NONE, 0
    for place in range(_candidates(row, context)):
        one = _lost(row, place, context)
        # Of several, the leader that went is the one that people ask for; else the least.
        is_better = broker == _NONE or one == leader or (broker != leader and one < broker)
        if one != _NONE and is_better:
            cause = _end_of(events, index, one)
            if cause:
                broker, why = one, cause
    if broker != _NONE:
        _because_of(row, why, broker)


@inlined
def _still_leaving(row: int, leaving: Int64s, context: int) -> None:
    if len(leaving) == 0 or _is_in(row, _EVENT_BITS):
        return
    least = _NONE
    for place in range(_candidates(row, context)):
        one = _lost(row, place, context)
        if one != _NONE and (least == _NONE or one < least) and _has(leaving, one):
            least = one
    if least != _NONE:
        _because_of(row, _SHUTDOWN, least)


@inlined
def _has(brokers: Int64s, broker: int) -> bool:
    for index in range(len(brokers)):  # noqa: SIM110 - compiled
        if brokers[index] == broker:
            return True
    return False
