"""The naming policy of a connector, out of its configuration. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jobs.replication.mirror_config import catalogue
from jobs.replication.mirror_config.values import Connector, ConnectorClass, MirrorFlow, is_true
from jobs.replication.policy import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)

CLASS, SEPARATOR = "replication.policy.class", "replication.policy.separator"
INTERNAL_SEPARATOR = "replication.policy.internal.topic.separator.enabled"
SOURCE_ALIAS, TARGET_ALIAS = "source.cluster.alias", "target.cluster.alias"
_IDENTITY = {catalogue.IDENTITY_POLICY, catalogue.OLD_STRIMZI_IDENTITY_POLICY}


@dataclass(frozen=True, slots=True)
class Naming:
    """How a connector names topics: its policy, and the aliases in its own configuration.

    `source` and `target` are those aliases; the flow's clusters may have others. `is_known` is False
    for a class that is not Kafka's.
    """

    policy_class: str
    separator: str
    internal_separator: bool
    source: str
    target: str

    @property
    def is_identity(self) -> bool:
        """Whether the policy is Identity."""
        return self.policy_class in _IDENTITY

    @property
    def is_known(self) -> bool:
        """Whether crosslog knows how this class names topics."""
        return self.is_identity or self.policy_class == catalogue.DEFAULT_POLICY

    @property
    def keeps_names(self) -> bool:
        """Whether remote topics keep their names: by Identity, or by an empty alias and separator."""
        return self.is_identity or (self.is_known and not self.source + self.separator)

    @property
    def policy(self) -> ReplicationPolicy | None:
        """The policy; None for a class that is not known."""
        if self.is_identity:
            return IdentityReplicationPolicy(self.source, self.separator, self.internal_separator)
        if self.is_known:
            return DefaultReplicationPolicy(self.separator, self.internal_separator)
        return None

    def without_aliases(self) -> Naming:
        """Return the policy alone, to compare it with that of another connector."""
        return replace(self, source="", target="")


@dataclass(frozen=True, slots=True)
class TopicNames:
    """What the topics of a flow are called, and on which of its clusters the offset syncs are."""

    remote_orders: str
    offset_syncs: str
    offset_syncs_on: str
    checkpoints: str
    heartbeats: str


def naming_of(connector: Connector) -> Naming:
    has_separator = connector.config[SEPARATOR].entry is not None
    # Kafka reads the flag only where a separator is set, and as parseBoolean does: a blank makes it false.
    internal = is_true(connector.get(INTERNAL_SEPARATOR)) or not has_separator
    return Naming(
        connector.get(CLASS),
        connector.get(SEPARATOR),
        internal,
        connector.get(SOURCE_ALIAS),
        connector.get(TARGET_ALIAS),
    )


def overridden_aliases(flow: MirrorFlow, connector: Connector) -> dict[str, str]:
    """Return the aliases of a connector, by key, that are not those of its flow's clusters."""
    aliases = {SOURCE_ALIAS: flow.source, TARGET_ALIAS: flow.target}
    return {
        key: connector.get(key)
        for key, alias in aliases.items()
        if key in connector.config and connector.get(key) != alias
    }


def topic_names(flow: MirrorFlow) -> TopicNames | None:
    """Return what each connector calls the topics that it writes; None for a policy that is not known."""
    if not flow.connectors:
        return None
    source = flow.first(ConnectorClass.SOURCE) or flow.connectors[0]
    copying = naming_of(source)
    checking = naming_of(flow.first(ConnectorClass.CHECKPOINT) or source)
    if copying.policy is None or checking.policy is None:
        return None
    on_source = source.get("offset-syncs.topic.location") != "target"
    return TopicNames(
        copying.policy.format_remote_topic(copying.source, "orders"),
        copying.policy.offset_syncs_topic(copying.target if on_source else copying.source),
        flow.source if on_source else flow.target,
        checking.policy.checkpoints_topic(checking.source),
        copying.policy.heartbeats_topic(),
    )
