"""Partitions and what is known of them, for tests of the advisor and the guard."""

from dataclasses import replace

from jobs.availability.promotion.advice import (
    Evidence,
    PromotionFacts,
    ReplicaStanding,
    TopicPolicy,
)
from jobs.availability.what_if.model.cluster import PartitionModel

NOW_MS = 1_700_000_000_000
RACKS = {1: "west", 2: "west", 3: "east", 4: "east", 5: "west", 6: "east"}
LEVEL = ReplicaStanding(lag_records=0, lag_bytes=0, caught_up_ago_ms=100)


def partition(isr, *, leader=None, **changes):
    """orders-0: sync replicas 1, 2 in west and 3, 4 in east, observers 5 (west) and 6 (east), min ISR 3."""
    made = PartitionModel(
        topic="orders",
        partition=0,
        replicas=(1, 2, 3, 4, 5, 6),
        isr=tuple(isr),
        leader=isr[0] if leader is None and isr else leader,
        observers=(5, 6),
        min_insync_replicas=3,
        sync_count=4,
    )
    return replace(made, **changes)


def facts(**changes):
    """Everything is alive and level, the observers are fenced standbys, and the quorum has a majority."""
    known = {
        "at_ms": NOW_MS,
        "racks": RACKS,
        "alive": frozenset(RACKS),
        "standbys": frozenset({5, 6}),
        "standings": dict.fromkeys(RACKS, LEVEL),
        "leader_epoch": 7,
        "partition_epoch": 20,
        "high_watermark": 1_000,
        "log_end_offset": 1_000,
    }
    return PromotionFacts(**(known | changes))


def policy(**changes):
    """The defaults, with changes."""
    return TopicPolicy(**changes)


def seen_again(evidence: Evidence, **changes):
    """The same facts, read a moment later."""
    return replace(evidence, **({"at_ms": evidence.at_ms + 50} | changes))
