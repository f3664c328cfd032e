"""Controllers in the test's own event loop: what they answer about the metadata log, told with kio."""

import contextlib
from typing import Any

from kio.schema.errors import ErrorCode
from kio.schema.fetch.v18 import response as fetch
from kio.schema.fetch_snapshot.v1 import response as snapshot

from jobs.cluster.admin.controllers import Controllers
from jobs.cluster.connection import Connection
from jobs.cluster.protocol.data.metadata_log import TOPIC_ID
from tests.jobs.cluster.protocol.fake_broker import FETCH, NOW, PATIENT, FakeBroker

FETCH_SNAPSHOT, DESCRIBE_QUORUM = 59, 55
# What a controller listener of Kafka 4.3 offers, as far as crosslog asks for it: no Metadata.
CONTROLLER = {FETCH: (4, 18), 17: (0, 1), 18: (0, 4), 36: (0, 2), 55: (0, 2), 59: (0, 1)}


def log_answer(
    records: bytes = b"",
    *,
    error: str = "none",
    whole: str = "none",
    leader: tuple[int, int] = (1, 1),
    at: tuple[str, int] | None = None,
    high_watermark: int = 10,
    start: int = 0,
    snapshot_id: tuple[int, int] | None = None,
    diverging: tuple[int, int] | None = None,
) -> fetch.FetchResponse:
    """Return an answer to Fetch; `leader` is (id, epoch), `at` where that one listens."""
    tags: dict[str, Any] = {}
    if snapshot_id is not None:
        end, epoch = snapshot_id
        tags["snapshot_id"] = fetch.SnapshotId(end_offset=end, epoch=epoch)
    if diverging is not None:
        epoch, end = diverging
        tags["diverging_epoch"] = fetch.EpochEndOffset(epoch=epoch, end_offset=end)
    partition = fetch.PartitionData(
        partition_index=0,
        error_code=ErrorCode[error],
        high_watermark=high_watermark,
        last_stable_offset=-1,
        log_start_offset=start,
        current_leader=fetch.LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1]),
        aborted_transactions=(),
        records=records,
        **tags,
    )
    nodes = ()
    if at is not None:
        nodes = (fetch.NodeEndpoint(node_id=leader[0], host=at[0], port=at[1], rack=None),)
    topic = fetch.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=(partition,))
    return fetch.FetchResponse(
        throttle_time=NOW,
        error_code=ErrorCode[whole],
        responses=(topic,) if whole == "none" else (),
        node_endpoints=nodes,
    )


def piece(
    snapshot_id: tuple[int, int], whole: bytes, position: int, most: int = 1 << 20
) -> snapshot.FetchSnapshotResponse:
    """Return the bytes of a snapshot from a position."""
    end, epoch = snapshot_id
    partition = snapshot.PartitionSnapshot(
        index=0,
        error_code=ErrorCode.none,
        snapshot_id=snapshot.SnapshotId(end_offset=end, epoch=epoch),
        current_leader=snapshot.LeaderIdAndEpoch(leader_id=1, leader_epoch=1),
        size=len(whole),
        position=position,
        unaligned_records=whole[position : position + most],
    )
    topic = snapshot.TopicSnapshot(name="__cluster_metadata", partitions=(partition,))
    return snapshot.FetchSnapshotResponse(
        throttle_time=NOW, error_code=ErrorCode.none, topics=(topic,)
    )


def no_snapshot(error: str = "unknown_server_error") -> snapshot.FetchSnapshotResponse:
    """Return what a controller answers about a snapshot that it does not have."""
    return snapshot.FetchSnapshotResponse(throttle_time=NOW, error_code=ErrorCode[error], topics=())


@contextlib.asynccontextmanager
async def controllers(count: int = 1):
    """Start controllers 1, 2, ... of one quorum."""
    async with contextlib.AsyncExitStack() as stack:
        made = [await stack.enter_async_context(FakeBroker(n + 1)) for n in range(count)]
        for one in made:
            one.offered = dict(CONTROLLER)
        yield made


def door_to(*servers: FakeBroker, timing=PATIENT, **settings: Any) -> Controllers:
    """Return the door to a quorum whose bootstrap list has these controllers."""
    text = ",".join(f"127.0.0.1:{one.port}" for one in servers)
    return Controllers(Connection("east", text, **settings), client_id="test", timing=timing)
