"""Names of remote and internal topics, as MirrorMaker 2 gives them.

Source: ReplicationPolicy, DefaultReplicationPolicy and IdentityReplicationPolicy of
org.apache.kafka.connect.mirror (KIP-382, KIP-690, KIP-949). Naming only: which topics are
replicated is `selection`, how far clusters are apart is `hops`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

HEARTBEATS = "heartbeats"


class ReplicationPolicy(ABC):
    """What a topic is called on the other side, and where a name says that a topic comes from.

    `names_ending_in_internal`: whether any topic whose name ends so counts as one of Connect's own.
    Kafka's classes did so for years; those of 4.3.1 take only `mm2*` and checkpoints for MirrorMaker 2's own
    and replicate an application's `orders.internal`.
    """

    names_ending_in_internal = True

    @abstractmethod
    def format_remote_topic(self, source_cluster_alias: str, topic: str) -> str:
        """Return what a topic of the source is called on the target."""

    @abstractmethod
    def topic_source(self, topic: str) -> str | None:
        """Return the alias of the cluster that a topic came from; None when its name tells none."""

    @abstractmethod
    def upstream_topic(self, topic: str) -> str | None:
        """Return the topic's name on the cluster it came from; None when it came from nowhere."""

    @abstractmethod
    def offset_syncs_topic(self, cluster_alias: str) -> str:
        """Return the topic of offset syncs; the alias is that of the other cluster."""

    @abstractmethod
    def checkpoints_topic(self, cluster_alias: str) -> str:
        """Return the topic of checkpoints on the target; the alias is the source's."""

    @abstractmethod
    def is_checkpoints_topic(self, topic: str) -> bool:
        """Return whether this is a topic of checkpoints."""

    @abstractmethod
    def is_mm2_internal_topic(self, topic: str) -> bool:
        """Return whether MirrorMaker 2 keeps its own records in this topic."""

    def heartbeats_topic(self) -> str:
        """Return the topic of heartbeats; no separator changes it."""
        return HEARTBEATS

    def original_topic(self, topic: str) -> str:
        """Return the topic's name on the cluster where it began, over any number of hops."""
        upstream = self.upstream_topic(topic)
        while upstream is not None and upstream != topic:
            topic, upstream = upstream, self.upstream_topic(upstream)
        return topic

    def is_heartbeats_topic(self, topic: str) -> bool:
        """Return whether this is a topic of heartbeats, local or replicated."""
        return self.original_topic(topic) == self.heartbeats_topic()

    def is_internal_topic(self, topic: str) -> bool:
        """Return whether a topic belongs to Kafka, Connect or MirrorMaker 2."""
        return (
            self.is_mm2_internal_topic(topic)
            or topic.startswith(("__", "."))
            or (self.names_ending_in_internal and topic.endswith(("-internal", ".internal")))
        )


class DefaultReplicationPolicy(ReplicationPolicy):
    """Remote topics are called `<source alias><separator><topic>`.

    `internal_topic_separator_enabled` False keeps the dot in the names of internal topics, whatever
    the separator is (KIP-949).
    """

    def __init__(
        self,
        separator: str = ".",
        internal_topic_separator_enabled: bool = True,  # noqa: FBT001, FBT002  Kafka's signature
        *,
        names_ending_in_internal: bool = True,
    ) -> None:
        self.names_ending_in_internal = names_ending_in_internal
        self.separator = separator
        self._internal = separator if internal_topic_separator_enabled else "."

    def format_remote_topic(self, source_cluster_alias: str, topic: str) -> str:
        """Return the name with the source's alias in front."""
        return f"{source_cluster_alias}{self.separator}{topic}"

    def topic_source(self, topic: str) -> str | None:
        """Return the part before the first separator; None for a name with only one part."""
        parts = _java_split(topic, self.separator)
        return parts[0] if len(parts) > 1 else None

    def upstream_topic(self, topic: str) -> str | None:
        """Return the part behind the first separator."""
        source = self.topic_source(topic)
        return None if source is None else topic[len(source) + len(self.separator) :]

    def offset_syncs_topic(self, cluster_alias: str) -> str:
        """Return `mm2-offset-syncs.<alias>.internal`."""
        return self._internal.join(("mm2-offset-syncs", cluster_alias, "internal"))

    def checkpoints_topic(self, cluster_alias: str) -> str:
        """Return `<alias>.checkpoints.internal`."""
        return f"{cluster_alias}{self._checkpoints_suffix()}"

    def is_checkpoints_topic(self, topic: str) -> bool:
        """Return whether the name ends like a topic of checkpoints."""
        return topic.endswith(self._checkpoints_suffix())

    def is_mm2_internal_topic(self, topic: str) -> bool:
        """Return whether the name ends in `internal` behind a separator, or is one that it gives itself."""
        ends_so = topic.endswith(f"{self._internal}internal")
        if self.names_ending_in_internal:
            return ends_so
        return (ends_so and topic.startswith("mm2")) or self.is_checkpoints_topic(topic)

    def _checkpoints_suffix(self) -> str:
        return f"{self._internal}checkpoints{self._internal}internal"


class IdentityReplicationPolicy(DefaultReplicationPolicy):
    """Remote topics keep their names, except everything that ends in `heartbeats`.

    `source_cluster_alias` None: the policy cannot say where a topic came from.
    """

    def __init__(
        self,
        source_cluster_alias: str | None = None,
        separator: str = ".",
        internal_topic_separator_enabled: bool = True,  # noqa: FBT001, FBT002  Kafka's signature
        *,
        names_ending_in_internal: bool = True,
    ) -> None:
        super().__init__(
            separator,
            internal_topic_separator_enabled,
            names_ending_in_internal=names_ending_in_internal,
        )
        self.source_cluster_alias = source_cluster_alias

    def format_remote_topic(self, source_cluster_alias: str, topic: str) -> str:
        """Return the name itself."""
        if _looks_like_heartbeats(topic):
            return super().format_remote_topic(source_cluster_alias, topic)
        return topic

    def topic_source(self, topic: str) -> str | None:
        """Return the alias of the source, for every topic."""
        if _looks_like_heartbeats(topic):
            return super().topic_source(topic)
        return self.source_cluster_alias

    def upstream_topic(self, topic: str) -> str | None:
        """Return the name itself."""
        if _looks_like_heartbeats(topic):
            return super().upstream_topic(topic)
        return topic


def _looks_like_heartbeats(topic: str) -> bool:
    # Upstream's rule, wide as it is: an application's `device-heartbeats` is renamed, too.
    return topic.endswith(HEARTBEATS)


def _java_split(text: str, separator: str) -> list[str]:
    """Split as java.lang.String does: no empty parts at the end, and "" splits every character."""
    parts = text.split(separator) if separator else list(text)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts
