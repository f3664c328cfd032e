"""min.insync.replicas of topics with its origin: what the metadata log sets, else what a broker said."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from console.availability.status.broker_models import MinIsrSetting
from console.clusters.models import Cluster, Topic
from console.frame.series import upsert
from jobs.availability.status.min_isr import (
    NOT_KNOWN,
    MinIsr,
    described_min_isr,
    resolve_min_isr,
)


class MinIsrSettings:
    """The values of a cluster's topics; `is_log_known`: whether the metadata log tells its settings."""

    def __init__(self, cluster: Cluster, *, is_log_known: bool) -> None:
        self._cluster = cluster
        self._is_log_known = is_log_known
        self._limits = cluster.offers.limits_min_isr
        rows = MinIsrSetting.objects.filter(cluster=cluster) if is_log_known else ()
        self._set = {row.topic: row.value for row in rows}
        topics = Topic.objects.filter(cluster=cluster).exclude(configs_read_at=None)
        self._described = {
            name: described_min_isr(value, source)
            for name, value, source in topics.values_list(
                "name", "min_insync_replicas", "min_isr_source"
            )
        }
        self._changed: dict[str, tuple[int | None, int]] = {}

    def of(self, topic: str) -> MinIsr:
        """Return the value in force for a topic."""
        return resolve_min_isr(
            topic=self._set.get(topic) if topic else None,
            cluster=self._set.get(""),
            described=self._described.get(topic, NOT_KNOWN),
            is_log_known=self._is_log_known,
        )

    def limits(self, value: int | None, replicas: Sequence[int]) -> bool | None:
        """Return whether leaders limit this value; true where it makes no difference."""
        return value is None or value <= len(replicas) or self._limits

    def note(self, topic: str, value: int | None, offset: int) -> None:
        """Take in what the log sets, for a topic or (with "") for the cluster; None: nothing any more."""
        if value is None:
            self._set.pop(topic, None)
        else:
            self._set[topic] = value
        self._changed[topic] = (value, offset)

    def save(self) -> None:
        """Write what was noted."""
        gone = [topic for topic, (value, _) in self._changed.items() if value is None]
        MinIsrSetting.objects.filter(cluster=self._cluster, topic__in=gone).delete()
        upsert(
            [
                MinIsrSetting(cluster=self._cluster, topic=topic, value=value, offset=offset)
                for topic, (value, offset) in self._changed.items()
                if value is not None
            ]
        )
        self._changed = {}

    def differing(self, known: Collection[tuple[str, int | None, str]]) -> set[str]:
        """Return the topics of (topic, value, origin) for which another value or origin is in force."""
        found = set()
        for topic, value, origin in known:
            now = self.of(topic)
            if (now.value, now.origin.value) != (value, origin) and now.value is not None:
                found.add(topic)
        return found
