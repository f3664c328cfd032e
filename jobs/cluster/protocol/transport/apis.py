"""The requests that crosslog speaks, in which versions, and how they become bytes and answers.

A request has one shape here, that of a version which has all fields; kio's writer of the version that
broker and crosslog have in common takes from it what that version knows. A field that an older
version does not know must therefore be one that may be left out. ApiVersions (`BrokerVersions`) returns
which of them a broker offers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar, cast

from kio.index import load_request_schema, load_response_schema
from kio.schema.add_partitions_to_txn import v3 as add_partitions_to_txn
from kio.schema.alter_partition_reassignments import v1 as alter_reassignments
from kio.schema.api_versions import v3 as api_versions
from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.api_versions.v3.response import ApiVersionsResponse
from kio.schema.broker_heartbeat import v1 as broker_heartbeat
from kio.schema.consumer_group_describe import v0 as consumer_group_describe
from kio.schema.create_acls import v2 as create_acls
from kio.schema.create_partitions import v2 as create_partitions
from kio.schema.create_topics import v5 as create_topics
from kio.schema.delete_topics import v5 as delete_topics
from kio.schema.describe_acls import v2 as describe_acls
from kio.schema.describe_cluster import v2 as describe_cluster
from kio.schema.describe_configs import v4 as describe_configs
from kio.schema.describe_groups import v6 as describe_groups
from kio.schema.describe_log_dirs import v4 as describe_log_dirs
from kio.schema.describe_producers import v0 as describe_producers
from kio.schema.describe_quorum import v2 as describe_quorum
from kio.schema.describe_share_group_offsets import v1 as describe_share_group_offsets
from kio.schema.describe_topic_partitions import v0 as describe_topic_partitions
from kio.schema.describe_transactions import v0 as describe_transactions
from kio.schema.end_txn import v5 as end_txn
from kio.schema.fetch import v18 as fetch_log
from kio.schema.fetch_snapshot import v1 as fetch_snapshot
from kio.schema.find_coordinator import v3 as find_coordinator
from kio.schema.find_coordinator import v4 as find_coordinators
from kio.schema.incremental_alter_configs import v1 as incremental_alter_configs
from kio.schema.init_producer_id import v5 as init_producer_id
from kio.schema.list_groups import v5 as list_groups
from kio.schema.list_offsets import v5 as list_offsets
from kio.schema.list_partition_reassignments import v0 as list_reassignments
from kio.schema.list_transactions import v0 as list_transactions
from kio.schema.metadata import v10 as metadata_request
from kio.schema.metadata import v12 as metadata_response
from kio.schema.offset_commit import v8 as offset_commit
from kio.schema.offset_delete import v0 as offset_delete
from kio.schema.offset_fetch import v7 as offset_fetch_one
from kio.schema.offset_fetch import v8 as offset_fetch
from kio.schema.produce import v12 as produce
from kio.schema.sasl_authenticate import v2 as sasl_authenticate
from kio.schema.sasl_handshake import v1 as sasl_handshake
from kio.schema.share_group_describe import v1 as share_group_describe
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from jobs.cluster.protocol.transport.frames import Call, Chunk, Chunks, Decode
from jobs.cluster.protocol.transport.kafka_releases import came_with
from jobs.cluster.protocol.transport.streams_describe import VERSION_1 as STREAMS_DESCRIBE_1
from jobs.version import VERSION
from jobs.wire.errors import RecordFormatError

# What reading an answer raises when the bytes are not that answer. kio takes memory for as many items
# as an array announces, so only frames whose correlation id fits are read at all.
UNREADABLE = (SerialError, struct.error, ValueError, IndexError)

_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class SupportedApi:
    """A request by name and number (`api_key`), and the versions that crosslog speaks, best first."""

    name: str
    key: int
    versions: tuple[int, ...]

    @property
    def since(self) -> str:
        """The first release of Kafka that knows the oldest of these versions."""
        return came_with(self.name, self.versions[-1])


class Api(Generic[_Request, _Answer]):
    """A request whose messages kio writes and reads."""

    def __init__(self, request: type[_Request], answer: type[_Answer], *versions: int) -> None:
        key: int = request.__api_key__  # type: ignore[attr-defined]  # every request of kio has it
        self.speaks = SupportedApi(request.__name__.removesuffix("Request"), key, versions)
        self.answer = answer

    def call(self, request: _Request, version: int) -> Call[_Answer]:
        chunks = Chunks()
        _form(self.speaks.key, version).write(chunks, request)
        return self.call_with(chunks.taken(), version)

    def read(self, captured: bytes, version: int) -> _Answer:
        """Return an answer from the wire, correlation id first; raises `RecordFormatError`."""
        kind = f"{self.speaks.name} answer of version {version}"
        if version not in self.speaks.versions:
            raise RecordFormatError(kind, f"the versions {self.speaks.versions} are known")
        try:
            answer, size = _form(self.speaks.key, version).read(memoryview(captured), 0)
        except UNREADABLE as error:
            raise RecordFormatError(kind, str(error) or "it ends too early") from None
        if size != len(captured):
            raise RecordFormatError(kind, f"{len(captured) - size} bytes too many")
        return cast("_Answer", answer)

    def call_with(self, body: Sequence[Chunk], version: int) -> Call[_Answer]:
        """Return the call for a request whose bytes are there already."""
        form = _form(self.speaks.key, version)
        name, key = self.speaks.name, self.speaks.key
        return Call(name, key, version, form.is_flexible, body, form.read)


@dataclass(frozen=True, slots=True)
class _Form:
    """How kio writes and reads one version of a request."""

    is_flexible: bool
    write: Callable[[Any, Any], None]
    read: Decode[Any]


@cache
def _form(key: int, version: int) -> _Form:
    request: Any
    answer: Any
    if (key, version) == (DESCRIBE_STREAMS_GROUPS.speaks.key, 1):
        request, answer = STREAMS_DESCRIBE_1
    else:
        request, answer = load_request_schema(key, version), load_response_schema(key, version)
    body = entity_reader(answer)
    # An INT32 correlation id, which is read already, and the tagged fields of a flexible header.
    header = entity_reader(answer.__header_schema__)

    def read(frame: memoryview, at: int) -> tuple[Any, int]:
        _, ended = header(frame, at)
        content, size = body(frame, at + ended)
        return content, at + ended + size

    return _Form(request.__flexible__, entity_writer(request), read)


API_VERSIONS = Api(api_versions.ApiVersionsRequest, api_versions.ApiVersionsResponse, 3)
SASL_HANDSHAKE = Api(sasl_handshake.SaslHandshakeRequest, sasl_handshake.SaslHandshakeResponse, 1)
SASL_AUTHENTICATE = Api(
    sasl_authenticate.SaslAuthenticateRequest, sasl_authenticate.SaslAuthenticateResponse, 2
)
# Topic ids since version 10; before version 12 a topic's name is never null. Version 10 has all fields.
METADATA = Api(metadata_request.MetadataRequest, metadata_response.MetadataResponse, 12, 9)
# 12: transaction protocol 2; 10: hints about new leaders (KIP-951).
PRODUCE = Api(produce.ProduceRequest, produce.ProduceResponse, 12, 11, 10, 9, 8)
LIST_OFFSETS = Api(list_offsets.ListOffsetsRequest, list_offsets.ListOffsetsResponse, 5)
# Older ones take the sign for "the largest timestamp" as a time long ago (KIP-734, Kafka 3.0).
LIST_NEWEST = Api(list_offsets.ListOffsetsRequest, list_offsets.ListOffsetsResponse, 7)
# The signs for the ends of what is local and what is remote, each since its version (KIP-405, KIP-1005).
LIST_EARLIEST_LOCAL = Api(list_offsets.ListOffsetsRequest, list_offsets.ListOffsetsResponse, 8)
LIST_LATEST_TIERED = Api(list_offsets.ListOffsetsRequest, list_offsets.ListOffsetsResponse, 9)
FIND_COORDINATOR = Api(
    find_coordinator.FindCoordinatorRequest, find_coordinator.FindCoordinatorResponse, 3
)
# Many at once, as with the next one, since Kafka 3.0 (KIP-699, KIP-709).
FIND_COORDINATORS = Api(
    find_coordinators.FindCoordinatorRequest, find_coordinators.FindCoordinatorResponse, 4
)
OFFSET_FETCH = Api(offset_fetch.OffsetFetchRequest, offset_fetch.OffsetFetchResponse, 8)
OFFSET_FETCH_ONE = Api(
    offset_fetch_one.OffsetFetchRequest, offset_fetch_one.OffsetFetchResponse, 7, 6, 5
)
OFFSET_COMMIT = Api(offset_commit.OffsetCommitRequest, offset_commit.OffsetCommitResponse, 8)
OFFSET_DELETE = Api(offset_delete.OffsetDeleteRequest, offset_delete.OffsetDeleteResponse, 0)
# 5: types of groups (KIP-848); 4: states (KIP-518).
LIST_GROUPS = Api(list_groups.ListGroupsRequest, list_groups.ListGroupsResponse, 5, 4, 3)
# 6: a group that is not there is an error (KIP-1043), before it is Dead.
DESCRIBE_GROUPS = Api(
    describe_groups.DescribeGroupsRequest, describe_groups.DescribeGroupsResponse, 6, 5
)
# Groups of the protocol of KIP-848.
DESCRIBE_CONSUMER_GROUPS = Api(
    consumer_group_describe.ConsumerGroupDescribeRequest,
    consumer_group_describe.ConsumerGroupDescribeResponse,
    0,
)
# 1: descriptions of topologies (KIP-1331, Kafka 4.4); 0: Kafka 4.1 (KIP-1071).
DESCRIBE_STREAMS_GROUPS = Api(*STREAMS_DESCRIBE_1, 1, 0)
# KIP-932; 1 of the offsets: the lag (KIP-1226, Kafka 4.2).
DESCRIBE_SHARE_GROUPS = Api(
    share_group_describe.ShareGroupDescribeRequest,
    share_group_describe.ShareGroupDescribeResponse,
    1,
)
DESCRIBE_SHARE_OFFSETS = Api(
    describe_share_group_offsets.DescribeShareGroupOffsetsRequest,
    describe_share_group_offsets.DescribeShareGroupOffsetsResponse,
    1,
    0,
)
INIT_PRODUCER_ID = Api(
    init_producer_id.InitProducerIdRequest, init_producer_id.InitProducerIdResponse, 5, 4
)
# Versions 4 and higher are for brokers among themselves.
ADD_PARTITIONS_TO_TXN = Api(
    add_partitions_to_txn.AddPartitionsToTxnRequest,
    add_partitions_to_txn.AddPartitionsToTxnResponse,
    3,
)
# 5: transaction protocol 2 (KIP-890), the answer carries the epoch of the next transaction.
END_TXN = Api(end_txn.EndTxnRequest, end_txn.EndTxnResponse, 5, 4, 3)
LIST_TRANSACTIONS = Api(
    list_transactions.ListTransactionsRequest, list_transactions.ListTransactionsResponse, 0
)
DESCRIBE_TRANSACTIONS = Api(
    describe_transactions.DescribeTransactionsRequest,
    describe_transactions.DescribeTransactionsResponse,
    0,
)
DESCRIBE_PRODUCERS = Api(
    describe_producers.DescribeProducersRequest, describe_producers.DescribeProducersResponse, 0
)
# 2: directory ids and the endpoints of the voters (KIP-853); 1: when replicas fetched (KIP-836).
DESCRIBE_QUORUM = Api(
    describe_quorum.DescribeQuorumRequest, describe_quorum.DescribeQuorumResponse, 2, 1, 0
)
# Fetch has its own form, see `fetch_format`. 16: hints about new leaders; 13: topic ids (KIP-516).
FETCH = SupportedApi("Fetch", 1, (16, 13, 12))
# The metadata log is small, and its answers say more than those of topics: kio reads them. Controllers
# serve 13 and later only; 17 and later tell where the leader listens (KIP-853).
FETCH_LOG = Api(fetch_log.FetchRequest, fetch_log.FetchResponse, 18, 17, 16, 15, 14, 13)
FETCH_SNAPSHOT = Api(
    fetch_snapshot.FetchSnapshotRequest, fetch_snapshot.FetchSnapshotResponse, 1, 0
)
# What acts on a cluster. 1: log directories that are offline, as a tagged field (KIP-858).
BROKER_HEARTBEAT = Api(
    broker_heartbeat.BrokerHeartbeatRequest, broker_heartbeat.BrokerHeartbeatResponse, 1, 0
)
# 1: whether the replication factor may change (Kafka 4.1); it is left at its default, which is version 0's.
ALTER_REASSIGNMENTS = Api(
    alter_reassignments.AlterPartitionReassignmentsRequest,
    alter_reassignments.AlterPartitionReassignmentsResponse,
    1,
    0,
)
LIST_REASSIGNMENTS = Api(
    list_reassignments.ListPartitionReassignmentsRequest,
    list_reassignments.ListPartitionReassignmentsResponse,
    0,
)
# 4: the size of the volumes (KIP-827); 3: an error for the whole answer.
DESCRIBE_LOG_DIRS = Api(
    describe_log_dirs.DescribeLogDirsRequest, describe_log_dirs.DescribeLogDirsResponse, 4, 3, 2
)
# 2: fenced brokers too (KIP-1073, Kafka 4.0).
DESCRIBE_CLUSTER = Api(
    describe_cluster.DescribeClusterRequest, describe_cluster.DescribeClusterResponse, 2
)
# For who wants only those that are not fenced: Kafka 2.8 and later (KIP-700).
DESCRIBE_LIVE_CLUSTER = Api(
    describe_cluster.DescribeClusterRequest, describe_cluster.DescribeClusterResponse, 2, 1, 0
)
# Eligible leader replicas (KIP-966, Kafka 3.8).
DESCRIBE_TOPIC_PARTITIONS = Api(
    describe_topic_partitions.DescribeTopicPartitionsRequest,
    describe_topic_partitions.DescribeTopicPartitionsResponse,
    0,
)
DESCRIBE_CONFIGS = Api(
    describe_configs.DescribeConfigsRequest, describe_configs.DescribeConfigsResponse, 4, 3, 2, 1
)
INCREMENTAL_ALTER_CONFIGS = Api(
    incremental_alter_configs.IncrementalAlterConfigsRequest,
    incremental_alter_configs.IncrementalAlterConfigsResponse,
    1,
    0,
)
CREATE_TOPICS = Api(create_topics.CreateTopicsRequest, create_topics.CreateTopicsResponse, 5)
DELETE_TOPICS = Api(delete_topics.DeleteTopicsRequest, delete_topics.DeleteTopicsResponse, 5)
CREATE_PARTITIONS = Api(
    create_partitions.CreatePartitionsRequest, create_partitions.CreatePartitionsResponse, 2
)
DESCRIBE_ACLS = Api(describe_acls.DescribeAclsRequest, describe_acls.DescribeAclsResponse, 2)
CREATE_ACLS = Api(create_acls.CreateAclsRequest, create_acls.CreateAclsResponse, 2)


_ERROR = struct.Struct(">h")
_ERROR_AT = 4  # after the correlation id: this answer's header never has tagged fields
_TRANSACTION_FEATURE = "transaction.version"
_PROTOCOL_2 = 2


@dataclass(frozen=True, slots=True)
class BrokerVersions:
    """The answer of ApiVersions.

    `ranges` has the lowest and highest version per request number, `features` the finalized level of
    the cluster's features, `supported` the highest that this broker knows (KIP-584). `error` is Kafka's
    number when the broker refused to tell.
    """

    ranges: Mapping[int, tuple[int, int]]
    features: Mapping[str, int]
    error: int = 0
    supported: Mapping[str, int] = field(default_factory=dict)

    def best(self, speaks: SupportedApi, *, at_most: int | None = None) -> int | None:
        """Return the best version that both sides speak, None when there is none."""
        lowest, highest = self.ranges.get(speaks.key, (0, -1))
        if at_most is not None:
            highest = min(highest, at_most)
        return next((v for v in speaks.versions if lowest <= v <= highest), None)

    @property
    def supports_transactions_v2(self) -> bool:
        """Whether transactions need no AddPartitionsToTxn and get a new epoch each (KIP-890)."""
        offers = all(
            self.best(api.speaks) == api.speaks.versions[0]
            for api in (PRODUCE, END_TXN)  # their best versions are those of protocol 2
        )
        return offers and self.features.get(_TRANSACTION_FEATURE, 0) >= _PROTOCOL_2


def versions_call() -> Call[BrokerVersions]:
    """Return the question for a broker's versions (KIP-511: name and version of the client too)."""
    request = ApiVersionsRequest(client_software_name="crosslog", client_software_version=VERSION)
    call = API_VERSIONS.call(request, API_VERSIONS.speaks.versions[0])
    plain = call.decode

    def read(frame: memoryview, at: int) -> tuple[BrokerVersions, int]:
        error: int = _ERROR.unpack_from(frame, at + _ERROR_AT)[0]
        if error:
            # A broker that does not know this version answers in the form of version 0.
            return BrokerVersions({}, {}, error), len(frame)
        answer, end = plain(frame, at)
        return _versions(answer), end

    return Call(call.name, call.key, call.version, call.is_flexible, call.body, read)


def _versions(answer: ApiVersionsResponse) -> BrokerVersions:
    return BrokerVersions(
        {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys},
        {feature.name: feature.max_version_level for feature in answer.finalized_features},
        supported={feature.name: feature.max_version for feature in answer.supported_features},
    )
