"""ACL bindings: list and create (KIP-140, KIP-290 for prefixed patterns)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka.admin._acl import AclBinding as ClientBinding
from confluent_kafka.admin._acl import AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.admin.topics import CONFIGS_PER_REQUEST, chunks
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault, NotAuthorized, Refused, TimedOut
from jobs.cluster.read_only import refuse_when_read_only

# What a broker without an authorizer answers (org.apache.kafka.common.protocol.Errors).
_NO_AUTHORIZER = "SECURITY_DISABLED"
_AUTHORIZER = "authorizer.class.name"


@dataclass(frozen=True, slots=True, order=True)
class AclBinding:
    """Who may (or may not) do what with which resource, in Kafka's words (TOPIC, LITERAL, READ, ALLOW)."""

    resource_type: str
    pattern_type: str
    name: str
    principal: str
    host: str
    operation: str
    permission: str

    def __str__(self) -> str:
        return f"{self.permission} {self.operation} to {self.principal} from {self.host}"


def describe_acls(
    client: ClusterClient, resource_types: Sequence[str] = ("TOPIC",)
) -> list[AclBinding] | None:
    """Return all bindings on resources of these types, sorted; None without an authorizer.

    Raises `ClusterFault`; `NotAuthorized` when the principal may not DESCRIBE the cluster.
    """
    answers = client.ask_all(
        resource_types,
        lambda admin, kind, left: {kind: admin.describe_acls(_all_of(kind), request_timeout=left)},
        "Reading ACLs",
        any_broker=True,
    )
    found: list[AclBinding] = []
    for kind in resource_types:
        answer = answers.get(kind, _no_time(client, "Reading ACLs"))
        if isinstance(answer, Refused) and _NO_AUTHORIZER in answer.message:
            return None
        if isinstance(answer, ClusterFault):
            raise answer
        found += map(_binding, answer)
    return sorted(found) if found or _has_authorizer(client) else None


def _has_authorizer(client: ClusterClient) -> bool:
    """Return whether no binding means that there is none; raises `NotAuthorized`.

    librdkafka (2.16.0, measured) loses the error of a DescribeAcls answer and returns no bindings,
    so an empty answer is checked by what the cluster says of itself.
    """
    described = describe_cluster(client)
    operations = described.authorized_operations
    if operations is not None and "DESCRIBE" not in operations:
        raise _not_authorized(client)
    broker = str(described.brokers[0].broker_id)
    answers = client.ask_all(
        [broker],
        lambda admin, name, left: admin.describe_configs(
            [ConfigResource(ResourceType.BROKER, name)], request_timeout=left
        ),
        "Reading a broker's settings",
    )
    (answer,) = answers.values()
    if isinstance(answer, NotAuthorized):
        if operations is None:  # that is how the library shows "none at all"
            raise _not_authorized(client)
        return True
    if isinstance(answer, ClusterFault):
        raise answer
    return _AUTHORIZER not in answer or bool(answer[_AUTHORIZER].value)


def _not_authorized(client: ClusterClient) -> NotAuthorized:
    return NotAuthorized(
        "Reading ACLs: the principal may not DESCRIBE the cluster.", cluster=client.connection.alias
    )


def create_acls(
    client: ClusterClient, wanted: Collection[AclBinding]
) -> dict[AclBinding, ClusterFault | None]:
    """Make bindings; return why not per binding, None for those that exist now (also if before)."""
    refuse_when_read_only(client.connection.alias, "Creating ACLs")
    answers = client.ask_all(
        chunks(sorted(set(wanted)), CONFIGS_PER_REQUEST),
        lambda admin, chunk, left: {
            _binding(made): future
            for made, future in admin.create_acls(
                [_client_binding(binding) for binding in chunk], request_timeout=left
            ).items()
        },
        "Creating ACLs",
        any_broker=True,
    )
    missing = _no_time(client, "Creating ACLs")
    found = {binding: answers.get(binding, missing) for binding in wanted}
    return {b: a if isinstance(a, ClusterFault) else None for b, a in found.items()}


def _all_of(resource_type: str) -> AclBindingFilter:
    anybody: Any = None  # the library's annotations forget that a filter may leave names open
    return AclBindingFilter(
        ResourceType[resource_type],
        anybody,
        ResourcePatternType.ANY,
        anybody,
        anybody,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


def _binding(binding: Any) -> AclBinding:
    return AclBinding(
        binding.restype.name,
        binding.resource_pattern_type.name,
        binding.name,
        binding.principal,
        binding.host,
        binding.operation.name,
        binding.permission_type.name,
    )


def _client_binding(binding: AclBinding) -> ClientBinding:
    return ClientBinding(
        ResourceType[binding.resource_type],
        binding.name,
        ResourcePatternType[binding.pattern_type],
        binding.principal,
        binding.host,
        AclOperation[binding.operation],
        AclPermissionType[binding.permission],
    )


def _no_time(client: ClusterClient, doing: str) -> ClusterFault:
    return TimedOut(f"{doing}: no time was left.", cluster=client.connection.alias)
