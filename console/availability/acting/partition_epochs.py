"""The partition epoch of what was looked at: only the metadata log tells it, where it is followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from console.clusters.models import Cluster
from console.quorum import queries as quorum
from jobs.availability.promotion.live_state import LiveState, Place

# A follower that was not heard of for so long may be behind: an old epoch is worse than none.
FRESH = timedelta(seconds=5)
MOST_PLACES = 200


def with_partition_epochs(cluster: Cluster, looked: LiveState, now: datetime) -> LiveState:
    """Return the same with partition epochs of what was looked at closely; a query or two."""
    near = [place for place, one in looked.partitions.items() if one.standings]
    if not near:
        return looked
    epochs = _epochs(cluster, near[:MOST_PLACES], now)
    partitions = {
        place: replace(one, partition_epoch=epochs.get(place))
        for place, one in looked.partitions.items()
    }
    return replace(looked, partitions=partitions)


def _epochs(cluster: Cluster, places: list[Place], now: datetime) -> Mapping[Place, int]:
    log = quorum.log_of(cluster)
    if log is None or log.heard_at is None or now - log.heard_at > FRESH or not log.next_offset:
        return {}
    rows = quorum.states_then(log, quorum.newest_moment(log), quorum.ChangeKind.PARTITION)
    rows = rows.filter(topic__in={topic for topic, _ in places})
    found = {}
    for topic, partition, state in rows.values_list("topic", "partition", "state"):
        epoch = (state or {}).get("partition_epoch")
        if epoch is not None:
            found[topic, partition] = int(epoch)
    return {place: found[place] for place in places if place in found}
