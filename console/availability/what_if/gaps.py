"""What a snapshot for what-if does not know, in sentences for its page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from console.availability.what_if.cluster_snapshots import PartitionClass, TopicFacts
from console.quorum import queries as quorum
from jobs.availability.status.severity import BEFORE_LIMIT
from jobs.availability.what_if.model.cluster import BrokerModel, ControllerModel


def why_unjudged(log: Any) -> str:
    """Return why it is not known which voters answer; empty where it is."""
    status = quorum.status_of(log) if log is not None else None
    return "" if status is None else status.unjudged


def gaps_now(
    log: Any,
    topics: list[TopicFacts],
    brokers: list[BrokerModel],
    voters: list[ControllerModel],
    of_one: int = 0,
) -> Iterable[str]:
    """`of_one`: topics whose min.insync.replicas is that of one broker."""
    if log is None or not log.next_offset:
        yield (
            "The metadata log is not followed: eligible leader replicas (ELR) and fenced brokers are "
            "not known."
        )
    if why := why_unjudged(log):
        yield f"Which voters answer is not known, so what a loss does to the quorum is not told. {why}"
    elif not voters:
        yield "The quorum was not described: what a loss does to it is not told."
    yield from gaps_of_racks(voters)
    yield from gaps_of_topics(topics)
    if of_one:
        yield (
            f"min.insync.replicas of {of_one:,} topics is what the broker that answered has in its "
            "server.properties or for itself alone: a leader on a broker with another value goes by its own."
        )
    bare = [str(one.broker_id) for one in brokers if one.rack is None]
    if bare:
        yield f"No rack is known of broker{'s' * (len(bare) > 1)} {', '.join(bare[:10])}."


def gaps_of_racks(voters: Iterable[ControllerModel]) -> Iterable[str]:
    bare = [str(one.node_id) for one in voters if one.rack is None]
    if bare:
        yield (
            f"Where controller{'s' * (len(bare) > 1)} {', '.join(bare[:10])} are is not known: they are "
            "lost only when they are named. Say it on the page of the controllers' sites."
        )


def gaps_of_topics(topics: Sequence[TopicFacts]) -> Iterable[str]:
    unknown = [topic.name for topic in topics if topic.min_insync_replicas is None]
    if unknown:
        yield (
            f"min.insync.replicas of {len(unknown):,} topics is not known, such as {unknown[0]}: "
            "where fewer replicas than all are in sync, it is not known whether they take writes."
        )
    unclean = [topic.name for topic in topics if topic.is_unclean_allowed is None]
    if unclean:
        yield (
            f"unclean.leader.election.enable of {len(unclean):,} topics is not known, such as {unclean[0]}: "
            "where no replica in sync is left, there is no leader, as with false."
        )


def gaps_of_limit(classes: Sequence[PartitionClass], topics: Iterable[TopicFacts]) -> Iterable[str]:
    """What leaders make of more min.insync.replicas than there are replicas, where that is not known."""
    count = sum(
        len(classes[number].replicas) < (topic.min_insync_replicas or 1)
        for topic in topics
        for number in topic.classes
    )
    if count:
        yield (
            f"min.insync.replicas of {count:,} partitions is more than their replicas. Not known if they "
            f"take writes, {BEFORE_LIMIT}."
        )


def gaps_of_moves(classes: Sequence[PartitionClass], topics: Iterable[TopicFacts]) -> Iterable[str]:
    unknown = {number for number, one in enumerate(classes) if one.adding is None}
    count = sum(number in unknown for topic in topics for number in topic.classes)
    if count:
        yield (
            f"{count:,} partitions are under-replicated, or being reassigned: not known. Their replicas out "
            "of the ISR count as being added. To list reassignments needs DESCRIBE on the cluster."
        )
