"""The rules of `election`, for all partitions at once. A property test holds the two together. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jobs.availability.what_if.matrix.tables import Flags, Numbers, States, Tables

_LAST = 1 << 20


@dataclass(frozen=True, slots=True)
class ElectionContext:
    """`acceptable`: by broker number, who lives and is not fenced; `told`: last known leaders."""

    acceptable: Flags
    told: Numbers
    has_elr: bool


def settle_all(tables: Tables, now: States, context: ElectionContext) -> States:
    """Return every partition when everything that follows by itself has happened."""
    ready = context.acceptable[tables.replicas]
    was = now
    now = _shrink(tables, now, ready, context)
    now = _elect(tables, now, ready, context)
    led: Flags = now.leader >= 0
    isr = now.isr | (ready & ~now.lagging & ~tables.held_back & ~tables.added)
    isr = _with_observers(tables, now, isr, ready)
    isr = np.where(led[:, None], isr, now.isr)
    if not context.has_elr:
        is_written = (now.leader != was.leader) | (isr != was.isr).any(axis=1)
        return replace(now, isr=isr, elr=now.elr & ~is_written[:, None])
    is_short = isr.sum(axis=1) < tables.least
    elr = (now.elr | now.isr) & ~isr & is_short[:, None]
    return replace(now, isr=isr, elr=np.where(led[:, None], elr, now.elr))


def _shrink(tables: Tables, now: States, ready: Flags, context: ElectionContext) -> States:
    """Take fenced brokers out in the order of the replicas; without ELR the last member stays."""
    gone = now.isr & ~ready
    isr = now.isr & ready
    is_emptied = gone.any(axis=1) & ~isr.any(axis=1)
    last = now.isr.shape[1] - 1 - np.argmax(now.isr[:, ::-1], axis=1)
    if not context.has_elr:
        isr[is_emptied, last[is_emptied]] = True
        return replace(now, isr=isr)
    size = now.isr.sum(axis=1)
    left = size[:, None] - np.cumsum(gone, axis=1)
    is_cleared: Flags = gone.any(axis=1) & (size - 1 >= tables.least)
    elr = now.elr & ~is_cleared[:, None] | gone & (left < tables.least[:, None])
    is_first = (now.leader >= 0) & (_last_known(now, context) == -1)
    last_known = np.where(is_emptied & is_first, last, now.last_known).astype(np.int32)
    return replace(now, isr=isr, elr=elr, last_known=last_known)


def _elect(tables: Tables, now: States, ready: Flags, context: ElectionContext) -> States:
    has_isr: Flags = np.any(now.isr, axis=1)
    valid = np.where(has_isr[:, None], now.isr, now.elr) & ready
    is_kept = _is_in(now.leader, valid)
    is_elected = valid.any(axis=1) & ~is_kept
    leader = np.where(is_kept, now.leader, np.where(is_elected, np.argmax(valid, axis=1), -1))
    alone = _only(leader, valid.shape[1]) & (is_elected & ~has_isr)[:, None]
    is_anew = is_elected & (now.leader < 0)
    now = replace(
        now,
        leader=leader.astype(np.int32),
        isr=now.isr | alone,
        elr=now.elr & ~alone,
        lagging=now.lagging & ~is_anew[:, None],
        last_known=np.where(is_elected & context.has_elr, -1, now.last_known),
    )
    return _elect_uncleanly(tables, now, ready, context)


def _elect_uncleanly(tables: Tables, now: States, ready: Flags, context: ElectionContext) -> States:
    is_open = now.leader < 0
    last = _last_known(now, context)
    is_empty = ~(now.isr | now.elr).any(axis=1)
    is_last_known = is_open & is_empty & _is_in(last, ready) & context.has_elr
    is_first = is_open & ~is_last_known & tables.is_unclean_allowed & ready.any(axis=1)
    is_unclean = is_last_known | is_first
    chosen = np.where(is_last_known, last, np.argmax(ready, axis=1)).astype(np.int32)
    alone = _only(chosen, ready.shape[1])
    return replace(
        now,
        leader=np.where(is_unclean, chosen, now.leader),
        isr=np.where(is_unclean[:, None], alone, now.isr),
        elr=now.elr & ~is_unclean[:, None],
        last_known=np.where(is_unclean & context.has_elr, -1, now.last_known),
        lagging=now.lagging & ~is_unclean[:, None],
        lost_by=np.where(is_unclean, chosen, now.lost_by),
        is_last_known=is_last_known,
    )


def _last_known(now: States, context: ElectionContext) -> Numbers:
    """Return the place of the last known leader; -1: there is none, -3: more than one."""
    found: Numbers = np.where(now.last_known == -2, context.told, now.last_known)  # noqa: PLR2004  the model's own
    return found


def _with_observers(tables: Tables, now: States, isr: Flags, ready: Flags) -> Flags:
    """Promote and demote where brokers do it by themselves."""
    rows = np.flatnonzero(tables.held_back.any(axis=1) & (tables.policy > 0) & (now.leader >= 0))
    if not rows.size:
        return isr
    some = tables.of(rows)
    kept = wanted_observers(some, now.of(rows), isr[rows], some.held_back, ready[rows])
    isr = isr.copy()
    isr[rows] = isr[rows] & ~some.held_back | kept
    return isr


def wanted_observers(
    tables: Tables, now: States, isr: Flags, observers: Flags, able: Flags
) -> Flags:
    """Return the observers that belong into the ISR by the policies; all partitions must have leaders."""
    places = np.arange(isr.shape[1])
    leads = _only(now.leader, isr.shape[1]) & observers
    is_led_by_observer: Flags = np.any(leads, axis=1)
    inside = observers & isr & ~leads
    outside = observers & able & ~isr & ~now.lagging
    missing = _target(tables, is_led_by_observer) - (isr & ~observers).sum(axis=1)
    count = np.maximum(missing, is_led_by_observer)
    key = np.full(isr.shape, _LAST)
    key = np.where(outside, tables.order, key)
    key = np.where(inside, places + 1, key)
    key = np.where(leads, 0, key)
    rank = np.argsort(np.argsort(key, axis=1, kind="stable"), axis=1, kind="stable")
    kept: Flags = (rank < count[:, None]) & (key < _LAST)
    return kept


def _target(tables: Tables, is_led_by_observer: Flags) -> Numbers:
    """Return up to which size of the ISR observers are promoted."""
    both = np.where(is_led_by_observer, np.maximum(tables.least, tables.wanted), 0)
    nothing = np.zeros_like(tables.least)
    return np.choose(tables.policy, [nothing, tables.least, tables.wanted, both])


def _only(place: Numbers, width: int) -> Flags:
    found: Flags = np.arange(width) == place[:, None]
    return found


def _is_in(place: Numbers, among: Flags) -> Flags:
    rows = np.arange(len(place))
    found: Flags = (place >= 0) & among[rows, np.maximum(place, 0)]
    return found
