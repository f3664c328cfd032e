"""Policies as the conformance data describe them."""

from collections.abc import Mapping
from typing import Any

from jobs.replication.policy import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)

FILE = "replication_policy"


def policy_from(described: Mapping[str, Any]) -> ReplicationPolicy:
    """Return the policy of a case."""
    rest = (described["separator"], described["internal_topic_separator_enabled"])
    if described["class"] == "IdentityReplicationPolicy":
        return IdentityReplicationPolicy(described["source_cluster_alias"], *rest)
    return DefaultReplicationPolicy(*rest)
