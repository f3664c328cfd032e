"""ACL bindings: list and create (KIP-140, KIP-290 for prefixed patterns)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from kio.schema.create_acls.v2.request import AclCreation, CreateAclsRequest
from kio.schema.describe_acls.v2.request import DescribeAclsRequest
from kio.schema.describe_acls.v2.response import DescribeAclsResponse

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import Denied, Where, answer_fault
from jobs.cluster.protocol.pieces import Pieces
from jobs.cluster.protocol.transport.apis import CREATE_ACLS, DESCRIBE_ACLS
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.primitives import int8
from jobs.cluster.read_only import refuse_when_read_only

BINDINGS_PER_REQUEST = 200
_READING, _CREATING = "Reading ACLs", "Creating ACLs"
# What a broker without an authorizer answers.
_NO_AUTHORIZER = "SECURITY_DISABLED"
_ANY = 1
# Source: org.apache.kafka.common.resource.ResourceType, PatternType, and AclOperation, AclPermissionType
# of org.apache.kafka.common.acl, by their codes.
_RESOURCES = (
    "UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER",
)  # fmt: skip
_PATTERNS = ("UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED")
OPERATIONS = (
    "UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE",
    "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS",
    "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT",
)  # fmt: skip
_PERMISSIONS = ("UNKNOWN", "ANY", "DENY", "ALLOW")


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

    async def ask(cluster: RawCluster) -> list[AclBinding] | None:
        found: list[AclBinding] = []
        for kind in resource_types:
            answer = await cluster.ask_any(partial(_describe, kind))
            if answer is None:
                return None
            found += answer
        return sorted(found)

    return client.ask(_READING, ask)


def create_acls(
    client: ClusterClient, wanted: Collection[AclBinding]
) -> dict[AclBinding, ClusterFault | None]:
    """Make bindings; return why not per binding, None for those that exist now (also if before)."""
    refuse_when_read_only(client.connection.alias, _CREATING)
    pieces: Pieces[AclBinding, None] = Pieces(
        _CREATING, _create, BINDINGS_PER_REQUEST, is_change=True
    )
    return client.ask(_CREATING, lambda cluster: pieces.ask(cluster, wanted, client.timeout_s))


async def _describe(kind: str, connection: BrokerConnection) -> list[AclBinding] | None:
    request = DescribeAclsRequest(
        resource_type_filter=int8(_RESOURCES.index(kind)),
        resource_name_filter=None,
        pattern_type_filter=int8(_ANY),
        principal_filter=None,
        host_filter=None,
        operation=int8(_ANY),
        permission_type=int8(_ANY),
    )
    answer = await connection.request(DESCRIBE_ACLS, request)
    fault = answer_fault(answer.error_code, Where(connection.cluster, None, _READING))
    if fault is not None and fault.error == _NO_AUTHORIZER:
        return None
    if isinstance(fault, Denied):
        text = f"{_READING}: the principal may not DESCRIBE the cluster ({fault.error})."
        raise Denied(text, cluster=connection.cluster)
    if fault is not None:
        raise fault
    return list(_bindings(answer))


def _bindings(answer: DescribeAclsResponse) -> Iterable[AclBinding]:
    for resource in answer.resources:
        for acl in resource.acls:
            yield AclBinding(
                _name(_RESOURCES, resource.resource_type),
                _name(_PATTERNS, resource.pattern_type),
                resource.resource_name,
                acl.principal,
                acl.host,
                _name(OPERATIONS, acl.operation),
                _name(_PERMISSIONS, acl.permission_type),
            )


def _name(names: Sequence[str], code: int) -> str:
    return names[code] if 0 <= code < len(names) else names[0]


async def _create(
    connection: BrokerConnection, bindings: Sequence[AclBinding]
) -> dict[AclBinding, ClusterFault | None]:
    request = CreateAclsRequest(creations=tuple(map(_creation, bindings)))
    answer = await connection.request(CREATE_ACLS, request)
    return {
        binding: answer_fault(
            one.error_code,
            Where(connection.cluster, None, f"{_CREATING} on {binding.name}"),
            one.error_message,
        )
        # An answer has the order of the request.
        for binding, one in zip(bindings, answer.results, strict=False)
    }


def _creation(binding: AclBinding) -> AclCreation:
    return AclCreation(
        resource_type=int8(_RESOURCES.index(binding.resource_type)),
        resource_name=binding.name,
        resource_pattern_type=int8(_PATTERNS.index(binding.pattern_type)),
        principal=binding.principal,
        host=binding.host,
        operation=int8(OPERATIONS.index(binding.operation)),
        permission_type=int8(_PERMISSIONS.index(binding.permission)),
    )
