"""Policies as the conformance data describe them."""

from collections.abc import Mapping
from typing import Any

from jobs.replication.policy import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)

FILE = "replication_policy"


def policy_from(
    described: Mapping[str, Any], *, names_ending_in_internal: bool = False
) -> ReplicationPolicy:
    """Return the policy of a case; `names_ending_in_internal` as Kafka 3.9 had it."""
    rest = (described["separator"], described["internal_topic_separator_enabled"])
    names = {"names_ending_in_internal": names_ending_in_internal}
    if described["class"] == "IdentityReplicationPolicy":
        return IdentityReplicationPolicy(described["source_cluster_alias"], *rest, **names)
    return DefaultReplicationPolicy(*rest, **names)
