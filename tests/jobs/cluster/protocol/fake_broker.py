"""A broker in the test's own event loop: it reads and writes Kafka's messages with kio."""

from __future__ import annotations

import asyncio
import contextlib
import io
import struct
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any, NamedTuple

from kio.index import load_request_schema, load_response_schema
from kio.schema.api_versions.v3 import response as api_versions
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v10 import response as metadata
from kio.serial import entity_reader, entity_writer

from jobs.cluster.connection import Connection
from jobs.cluster.protocol.transport.connection import Options
from jobs.cluster.protocol.transport.streams_describe import VERSION_1 as STREAMS_1
from jobs.cluster.protocol.transport.timing import Timing
from jobs.cluster.protocol.transport.transport_faults import Server

PRODUCE, FETCH, LIST_OFFSETS, METADATA = 0, 1, 2, 3
OFFSET_FETCH, FIND_COORDINATOR, SASL_HANDSHAKE, API_VERSIONS = 9, 10, 17, 18
INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, END_TXN = 22, 24, 26
SASL_AUTHENTICATE, DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS = 36, 61, 65, 66
NOW = timedelta(0)
# For tests of what hangs; a busy machine takes longer than this for answers, too.
QUICK = Timing(
    request_timeout_s=2.0,
    metadata_timeout_s=0.5,
    backoff_first_s=0.01,
    backoff_longest_s=0.05,
)
# Long enough that nothing times out by itself on a busy machine.
PATIENT = Timing(
    connect_timeout_s=30.0,
    metadata_timeout_s=30.0,
    backoff_first_s=0.01,
    backoff_longest_s=0.05,
)
# What Kafka 4.3 offers, as far as crosslog asks for it.
OFFERED = {
    PRODUCE: (3, 13),
    FETCH: (4, 18),
    LIST_OFFSETS: (1, 11),
    METADATA: (0, 13),
    OFFSET_FETCH: (1, 10),
    FIND_COORDINATOR: (0, 6),
    SASL_HANDSHAKE: (0, 1),
    API_VERSIONS: (0, 4),
    INIT_PRODUCER_ID: (0, 6),
    ADD_PARTITIONS_TO_TXN: (0, 5),
    END_TXN: (0, 5),
    SASL_AUTHENTICATE: (0, 2),
    DESCRIBE_PRODUCERS: (0, 0),
    DESCRIBE_TRANSACTIONS: (0, 0),
    LIST_TRANSACTIONS: (0, 2),
}


class Hang:
    """Instead of an answer: nothing ever comes."""


class Close:
    """Instead of an answer: the connection is closed."""


class Asked(NamedTuple):
    """A request that the broker got."""

    key: int
    version: int
    client_id: str
    message: Any


class FakeBroker:
    """Answers with `answers[key]`: a function of the request, or what it would return.

    An answer is a message of kio, bytes (sent as they are), `Hang` or `Close`.
    """

    def __init__(self, broker_id: int = 1, tls: Any = None) -> None:
        self.broker_id = broker_id
        self.answers: dict[int, Any] = {
            API_VERSIONS: lambda _: self.versions(),
            METADATA: lambda asked: self.metadata(_names(asked.message.topics)),
        }
        self.offered = dict(OFFERED)
        self.features = {"transaction.version": 2}
        self.brokers = [self]
        self.topics: tuple[metadata.MetadataResponseTopic, ...] = ()
        self.cluster_id = "the-cluster"
        self.rack: str | None = None
        self.asked: list[Asked] = []
        self.open = 0
        self.connections = 0
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> FakeBroker:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", 0, ssl=self._tls, limit=1 << 26
        )
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def server(self) -> Server:
        return Server("127.0.0.1", self.port, self.broker_id)

    @property
    def connection(self) -> Connection:
        return Connection("east", f"127.0.0.1:{self.port}")

    def options(self, **settings: Any) -> Options:
        return Options("east", "crosslog-test", **({"timing": PATIENT} | settings))

    def of(self, key: int) -> list[Any]:
        """Return the requests of one kind."""
        return [asked.message for asked in self.asked if asked.key == key]

    def versions_of(self, key: int) -> list[int]:
        """Return the versions of the requests of one kind."""
        return [asked.version for asked in self.asked if asked.key == key]

    def versions(self) -> api_versions.ApiVersionsResponse:
        return api_versions.ApiVersionsResponse(
            error_code=ErrorCode.none,
            api_keys=tuple(
                api_versions.ApiVersion(api_key=key, min_version=low, max_version=high)
                for key, (low, high) in self.offered.items()
            ),
            throttle_time=NOW,
            finalized_features_epoch=1,
            finalized_features=tuple(
                api_versions.FinalizedFeatureKey(
                    name=name, max_version_level=level, min_version_level=1
                )
                for name, level in self.features.items()
            ),
        )

    def metadata(self, names: Collection[str] | None = ()) -> metadata.MetadataResponse:
        return metadata.MetadataResponse(
            throttle_time=NOW,
            brokers=tuple(
                metadata.MetadataResponseBroker(
                    node_id=b.broker_id, host="127.0.0.1", port=b.port, rack=b.rack
                )
                for b in self.brokers
            ),
            cluster_id=self.cluster_id,
            controller_id=1,
            topics=tuple(one for one in self.topics if names is None or one.name in names),
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open += 1
        self.connections += 1
        try:
            while True:
                await self._answer(await self._read(reader), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> tuple[Asked, int]:
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        content = await reader.readexactly(size)
        key, version, correlation_id = struct.unpack_from(">hhi", content)
        kind = STREAMS_1[0] if (key, version) == (89, 1) else load_request_schema(key, version)
        header, at = entity_reader(kind.__header_schema__)(content, 0)
        message, size = entity_reader(kind)(content, at)
        assert at + size == len(content)
        asked = Asked(key, version, header.client_id, message)
        self.asked.append(asked)
        return asked, correlation_id

    async def _answer(
        self,
        request: tuple[Asked, int],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        asked, correlation_id = request
        answer = self.answers[asked.key]
        if isinstance(answer, Callable) and not isinstance(answer, type):
            answer = answer(asked)
        if answer is Hang:
            await reader.read()  # until the other side closes
        if answer in (Hang, Close):
            raise ConnectionError
        if not isinstance(answer, bytes):
            answer = framed(asked.key, asked.version, correlation_id, answer)
        writer.write(answer)
        await writer.drain()


def _names(topics: Any) -> list[str] | None:
    """Return the requested names, None for all."""
    return None if topics is None else [one.name for one in topics]


def framed(key: int, version: int, correlation_id: int, answer: Any) -> bytes:
    """Return an answer as a broker sends it: size, header, message in that version."""
    kind = STREAMS_1[1] if (key, version) == (89, 1) else load_response_schema(key, version)
    buffer = io.BytesIO()
    header = kind.__header_schema__
    entity_writer(header)(buffer, header(correlation_id=correlation_id))
    entity_writer(kind)(buffer, answer)
    content = buffer.getvalue()
    return struct.pack(">i", len(content)) + content


def topic(
    name: str, leaders: dict[int, int], *, topic_id: Any = None, epoch: int = 0
) -> metadata.MetadataResponseTopic:
    """Return a topic of the metadata; a leader of -1 means that there is none."""
    return metadata.MetadataResponseTopic(
        error_code=ErrorCode.none,
        name=name,
        topic_id=topic_id,
        partitions=tuple(
            metadata.MetadataResponsePartition(
                error_code=ErrorCode.none,
                partition_index=partition,
                leader_id=leader,
                leader_epoch=epoch,
            )
            for partition, leader in leaders.items()
        ),
    )
