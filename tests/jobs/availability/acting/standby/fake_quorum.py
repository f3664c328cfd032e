"""A node that is broker and controller at once, and knows of one standby broker.

That a real cluster does the same is shown by tests/live/availability.
"""

from __future__ import annotations

import asyncio
from typing import Any

from kio.schema.broker_heartbeat.v1 import response as heartbeat
from kio.schema.describe_cluster.v2 import response as described
from kio.schema.describe_quorum.v2 import response as quorum
from kio.schema.errors import ErrorCode

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.cluster.connection import Connection
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata.records import encode_metadata_record
from tests.jobs.cluster.protocol.fake_broker import FETCH, NOW, OFFERED, PATIENT, FakeBroker
from tests.jobs.cluster.protocol.fake_controller import log_answer

DESCRIBE_QUORUM, DESCRIBE_CLUSTER, BROKER_HEARTBEAT = 55, 60, 63
STANDBY, EPOCH = 4, 1
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
_WAIT_S = 0.01


class FakeQuorum(FakeBroker):
    """Unfences and fences its standby by heartbeats, and writes that into its log."""

    def __init__(self) -> None:
        super().__init__(1)
        self.offered = OFFERED | {
            FETCH: (4, 18),
            DESCRIBE_QUORUM: (0, 2),
            DESCRIBE_CLUSTER: (0, 2),
            BROKER_HEARTBEAT: (0, 1),
        }
        self.values = [_no_op(), _register()]
        self.is_fenced = True
        # How long ago the standby last read the log.
        self.fetched_ago_ms = 50
        self.refuses: ErrorCode | None = None
        self.answers |= {
            FETCH: self._log,
            DESCRIBE_QUORUM: lambda _: self._quorum(),
            DESCRIBE_CLUSTER: lambda _: self._cluster(),
            BROKER_HEARTBEAT: lambda asked: self._heartbeat(asked.message),
        }

    @property
    def doors(self) -> ClusterConnections:
        connection = Connection("east", f"127.0.0.1:{self.port}")
        return ClusterConnections(connection, connection, PATIENT)

    @property
    def heartbeats(self) -> list[bool]:
        """What was said for the standby, in order: True to fence it."""
        return [one.want_fence for one in self.of(BROKER_HEARTBEAT)]

    def fence(self, *, is_fenced: bool) -> None:
        """Fence or unfence the standby, as a session that ran out or another loop would."""
        if self.is_fenced != is_fenced:
            self.is_fenced = is_fenced
            self.values.append(_change(is_fenced=is_fenced))

    async def _answer(self, request: Any, reader: Any, writer: Any) -> None:
        if request[0].key == FETCH:
            await asyncio.sleep(_WAIT_S)  # a real one waits for news
        await super()._answer(request, reader, writer)

    def _log(self, asked: Any) -> Any:
        at = asked.message.topics[0].partitions[0].fetch_offset
        end = len(self.values)
        placed = [PlacedRecord(n, 1_000, None, self.values[n]) for n in range(at, end)]
        records = encode_batch(placed, base_offset=at, partition_leader_epoch=1) if placed else b""
        return log_answer(records, high_watermark=end)

    def _quorum(self) -> quorum.DescribeQuorumResponse:
        def replica(node: int, fetched: int) -> quorum.ReplicaState:
            return quorum.ReplicaState(
                replica_id=node,
                replica_directory_id=None,
                log_end_offset=len(self.values),
                last_fetch_timestamp=fetched,
                last_caught_up_timestamp=1_000_000,
            )

        partition = quorum.PartitionData(
            partition_index=0,
            error_code=ErrorCode.none,
            error_message=None,
            leader_id=1,
            leader_epoch=1,
            high_watermark=len(self.values),
            current_voters=(replica(1, -1),),
            observers=(replica(STANDBY, 1_000_000 - self.fetched_ago_ms),),
        )
        topic = quorum.TopicData(topic_name="__cluster_metadata", partitions=(partition,))
        return quorum.DescribeQuorumResponse(
            error_code=ErrorCode.none, error_message=None, topics=(topic,), nodes=()
        )

    def _cluster(self) -> described.DescribeClusterResponse:
        def broker(number: int, *, is_fenced: bool) -> described.DescribeClusterBroker:
            return described.DescribeClusterBroker(
                broker_id=number, host="127.0.0.1", port=self.port, rack=None, is_fenced=is_fenced
            )

        return described.DescribeClusterResponse(
            throttle_time=NOW,
            error_code=ErrorCode.none,
            cluster_id=self.cluster_id,
            brokers=(broker(1, is_fenced=False), broker(STANDBY, is_fenced=self.is_fenced)),
        )

    def _heartbeat(self, message: Any) -> heartbeat.BrokerHeartbeatResponse:
        if self.refuses is None:
            self.fence(is_fenced=message.want_fence)
        return heartbeat.BrokerHeartbeatResponse(
            throttle_time=NOW,
            error_code=self.refuses or ErrorCode.none,
            is_caught_up=True,
            is_fenced=self.is_fenced,
            should_shut_down=False,
        )


def _no_op() -> bytes:
    return encode_metadata_record("NO_OP_RECORD", 0, {})


def _register() -> bytes:
    return encode_metadata_record(
        "REGISTER_BROKER_RECORD",
        0,
        {
            "brokerId": STANDBY,
            "incarnationId": _NO_ID,
            "brokerEpoch": EPOCH,
            "endPoints": [],
            "features": [],
            "rack": None,
            "fenced": True,
        },
    )


def _change(*, is_fenced: bool) -> bytes:
    data = {"brokerId": STANDBY, "brokerEpoch": EPOCH, "fenced": 1 if is_fenced else -1}
    return encode_metadata_record("BROKER_REGISTRATION_CHANGE_RECORD", 0, data)
