"""The requests that crosslog speaks, in which versions, and how they become bytes and answers.

A request has one shape here, that of a version which has all fields; kio's writer of the version that
broker and crosslog have in common takes from it what that version knows. A field that an older
version does not know must therefore be one that may be left out.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from kio.index import load_request_schema, load_response_schema
from kio.schema.add_partitions_to_txn import v3 as add_partitions_to_txn
from kio.schema.api_versions import v3 as api_versions
from kio.schema.describe_transactions import v0 as describe_transactions
from kio.schema.end_txn import v5 as end_txn
from kio.schema.find_coordinator import v3 as find_coordinator
from kio.schema.init_producer_id import v5 as init_producer_id
from kio.schema.list_offsets import v5 as list_offsets
from kio.schema.list_transactions import v0 as list_transactions
from kio.schema.metadata import v10 as metadata_request
from kio.schema.metadata import v12 as metadata_response
from kio.schema.offset_for_leader_epoch import v4 as offset_for_leader_epoch
from kio.schema.produce import v12 as produce
from kio.schema.sasl_authenticate import v2 as sasl_authenticate
from kio.schema.sasl_handshake import v1 as sasl_handshake
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from jobs.cluster.raw.frames import Call, Chunk, Chunks, Decode

# What reading an answer raises when the bytes are not that answer. kio takes memory for as many items
# as an array announces, so only frames whose correlation id fits are read at all.
UNREADABLE = (SerialError, struct.error, ValueError, IndexError)

_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Speaks:
    """A request by name and number (`api_key`), and the versions that crosslog speaks, best first."""

    name: str
    key: int
    versions: tuple[int, ...]


class Api(Generic[_Request, _Answer]):
    """A request whose messages kio writes and reads."""

    def __init__(self, request: type[_Request], answer: type[_Answer], *versions: int) -> None:
        key: int = request.__api_key__  # type: ignore[attr-defined]  # every request of kio has it
        self.speaks = Speaks(request.__name__.removesuffix("Request"), key, versions)
        self.answer = answer

    def call(self, request: _Request, version: int) -> Call[_Answer]:
        """Return the call for a request in one of the versions."""
        chunks = Chunks()
        _form(self.speaks.key, version).write(chunks, request)
        return self.call_with(chunks.taken(), version)

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
    request = load_request_schema(key, version)
    answer = load_response_schema(key, version)
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
OFFSET_FOR_LEADER_EPOCH = Api(
    offset_for_leader_epoch.OffsetForLeaderEpochRequest,
    offset_for_leader_epoch.OffsetForLeaderEpochResponse,
    4,
    3,
)
FIND_COORDINATOR = Api(
    find_coordinator.FindCoordinatorRequest, find_coordinator.FindCoordinatorResponse, 3
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
# Fetch has its own form, see `fetch_format`. 16: hints about new leaders; 13: topic ids (KIP-516).
FETCH = Speaks("Fetch", 1, (16, 13, 12))
