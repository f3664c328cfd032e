"""Compiles the loops over metadata logs and record batches ahead of their first use: `make` runs this.

The first import or flow on a machine would wait for them else; on a busy one that was 8 minutes.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from tempfile import TemporaryDirectory

from jobs.files import cache_folder
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata.records import encode_metadata_record
from jobs.wire.values import uuid_text

PARTITIONS = 40


def compile_ahead() -> None:
    """Run every loop once, by a log that needs them all; what is compiled is kept in the cache folder."""
    # Where compiled code is kept must be said before it is made.
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
    from jobs.quorum.log.folder import read_folder
    from jobs.quorum.replay.arrow import write_history
    from jobs.quorum.replay.dealing import dealt_columns
    from jobs.quorum.replay.folder import FolderReplay
    from jobs.quorum.replay.ranges import deal_range, ranges_of
    from jobs.wire.rebatch.rebatcher import warm_up

    with TemporaryDirectory(prefix="crosslog-compile-") as name:
        for offset, segment in small_log().items():
            (Path(name) / f"{offset:020}.log").write_bytes(segment)
        folder = read_folder(Path(name))
        (one,) = ranges_of(folder, 1 << 20)
        dealt = deal_range(folder, one, 0, Path(name), 1)
        table = Path(name) / "history"
        for pieces in (None, dealt_columns(Path(name), [dealt.last_reset], 0)):
            write_history(table, FolderReplay(folder, pieces=pieces).histories())
        _ask(table)
    warm_up()


def _ask(table: Path) -> None:
    """Run the loops of questions about a table of changes."""
    import numpy as np
    import pyarrow as pa  # type: ignore[import-untyped] # it has no types
    import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

    from jobs.quorum.log_tables.churn import churn
    from jobs.quorum.log_tables.state_times import Rules, state_times

    batches = pq.read_table(table, read_dictionary=["topic_id", "topic", "cause"]).to_batches()
    number = pa.array([0], pa.int64())
    piece = {"topic_id": pa.nulls(1, pa.string()), "period": pa.array(["2026-01"])}
    pieces = pa.table({**piece, "min_isr": number, "from_ms": number, "to_ms": number})
    snapshots = pa.table({"offset": number, "at_ms": number})
    rules = Rules(batches[0]["topic_id"].dictionary, pieces, snapshots, 0, 1)
    deque(churn(iter(batches), "broker", 0, 1 << 60, np.empty(0, np.int64)), 0)
    deque(state_times(iter(batches), rules), 0)


def _batch(offset: int, values: list[bytes]) -> bytes:
    records = [PlacedRecord(offset + at, 1000 + offset, None, one) for at, one in enumerate(values)]
    return encode_batch(records, partition_leader_epoch=1)


def small_log() -> dict[int, bytes]:
    """Return segments by their base offset: a topic of 40 partitions, and a broker that is fenced.

    All partitions lose it. At last another topic is made and removed.
    """
    orders, clicks = (uuid_text(number.to_bytes(16)) for number in (7, 8))
    told = {"leader": 1, "leaderEpoch": 0, "partitionEpoch": 0, "replicas": [1, 2], "isr": [1, 2]}
    values = [
        encode_metadata_record("REGISTER_BROKER_RECORD", 3, {"brokerId": 1, "brokerEpoch": 0}),
        encode_metadata_record("TOPIC_RECORD", 0, {"name": "orders", "topicId": orders}),
    ]
    for number in range(PARTITIONS):
        state = {"partitionId": number, "topicId": orders, **told}
        values.append(encode_metadata_record("PARTITION_RECORD", 1, state))
    fenced = [
        encode_metadata_record(
            "PARTITION_CHANGE_RECORD", 1,
            {"partitionId": number, "topicId": orders, "isr": [2], "leader": 2},
        )
        for number in range(PARTITIONS)
    ]  # fmt: skip
    event = {"brokerId": 1, "brokerEpoch": 0, "fenced": 1}
    fenced.append(encode_metadata_record("BROKER_REGISTRATION_CHANGE_RECORD", 1, event))
    short_lived = [
        encode_metadata_record("TOPIC_RECORD", 0, {"name": "clicks", "topicId": clicks}),
        encode_metadata_record(
            "PARTITION_RECORD", 1, {"partitionId": 0, "topicId": clicks, **told}
        ),
        encode_metadata_record("REMOVE_TOPIC_RECORD", 0, {"topicId": clicks}),
    ]
    end = len(values) + len(fenced)
    return {
        0: _batch(0, values),
        len(values): _batch(len(values), fenced) + _batch(end, short_lived),
    }


if __name__ == "__main__":
    compile_ahead()
