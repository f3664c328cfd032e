"""The naming policy of a flow, out of its configuration. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.replication.mirror_config import catalogue
from jobs.replication.mirror_config.values import Connector
from jobs.replication.policy import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)

CLASS, SEPARATOR = "replication.policy.class", "replication.policy.separator"
INTERNAL_SEPARATOR = "replication.policy.internal.topic.separator.enabled"
_IDENTITY = {catalogue.IDENTITY_POLICY, catalogue.OLD_STRIMZI_IDENTITY_POLICY}


@dataclass(frozen=True, slots=True)
class Naming:
    """Which policy names the topics; `is_known` is False for a class that is not Kafka's."""

    policy_class: str
    separator: str
    internal_separator: bool

    @property
    def is_identity(self) -> bool:
        """Whether remote topics keep their names."""
        return self.policy_class in _IDENTITY

    @property
    def is_known(self) -> bool:
        """Whether crosslog knows how this class names topics."""
        return self.is_identity or self.policy_class == catalogue.DEFAULT_POLICY

    def policy(self, source_alias: str) -> ReplicationPolicy | None:
        """Return the policy; None for a class that is not known."""
        if self.is_identity:
            return IdentityReplicationPolicy(source_alias, self.separator, self.internal_separator)
        if self.is_known:
            return DefaultReplicationPolicy(self.separator, self.internal_separator)
        return None


def naming_of(connector: Connector) -> Naming:
    """Return the naming of a connector."""
    has_separator = connector.config[SEPARATOR].entry is not None
    # Kafka reads the flag only where a separator is set; without one the dot is used anyway.
    internal = connector.is_true(INTERNAL_SEPARATOR) or not has_separator
    return Naming(connector.get(CLASS).strip(), connector.get(SEPARATOR), internal)
