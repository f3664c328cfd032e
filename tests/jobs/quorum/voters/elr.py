"""Eligible leader replicas (KIP-966) as the controller would choose them (Kafka's `PartitionChangeBuilder`).

The log holds the outcome; these rules say whether an outcome is what Kafka writes, and what an election would
find.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from jobs.quorum.image.partition_registration import NO_LEADER


class Elected(NamedTuple):
    """What an election leaves behind; `leader` -1 when none may lead."""

    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]


def eligible_after(
    isr: Sequence[int],
    elr: Sequence[int],
    target_isr: Collection[int],
    min_isr: int,
    *,
    unclean_shutdown: Collection[int] = (),
) -> tuple[int, ...]:
    """Return the ELR after the ISR became `target_isr`.

    With at least `min_isr` in sync it is empty; else those that were eligible or in sync and are no longer in
    sync, without replicas that went down uncleanly. In ascending order, as Kafka writes them.
    """
    if len(target_isr) >= min_isr:
        return ()
    return tuple(sorted({*elr, *isr} - set(target_isr) - set(unclean_shutdown)))


def elect(
    replicas: Sequence[int],
    isr: Sequence[int],
    elr: Sequence[int],
    offline: Collection[int],
    min_isr: int,
) -> Elected:
    """Return the clean election when `offline` brokers are gone: from the ISR, else from the ELR.

    A leader from the ELR is alone in the ISR and leaves the ELR; who left the ISR becomes eligible.
    """
    order = [one for one in dict.fromkeys((*replicas, *isr, *elr)) if one not in offline]
    in_sync = tuple(one for one in isr if one not in offline)
    leader = next((one for one in order if one in in_sync), NO_LEADER)
    if leader == NO_LEADER:
        leader = next((one for one in order if one in elr), NO_LEADER)
        in_sync = () if leader == NO_LEADER else (leader,)
    return Elected(leader, in_sync, eligible_after(isr, elr, in_sync, min_isr))
