"""For how long partitions were in which state, from their changes in the order of offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above

Batches = Iterator[pa.RecordBatch]
COLUMNS = [
    *("offset", "timestamp_ms", "topic_id", "partition"),
    *("leader", "isr", "replicas", "is_removed"),
]
# Of a topic and a period: how many partitions there were, and milliseconds of all of them.
_SUMS = ("partitions", "partition_ms", "leaderless_ms", "under_min_isr_ms")
TIMES = pa.schema(
    [("topic_id", pa.string()), ("period", pa.string()), *((name, pa.int64()) for name in _SUMS)]
)
_TOPIC, _SINCE, _IS_THERE, _LEADER, _IN_SYNC, _REPLICAS, _PERIODS = range(7)
_PERIOD, _MIN_ISR, _FROM, _TO = range(4)
_NO_TIME = -(1 << 63)
_LOW_32 = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts in a window: from `from_ms` to `to_ms`.

    `pieces` has a row for each topic (null: those without any of their own), period and min.insync.replicas
    (`topic_id`, `period`, `min_isr`, `from_ms`, `to_ms`), periods in their order. `snapshots` says the time
    (`at_ms`, null: not known) of changes without one by `offset`.
    """

    topic_ids: pa.Array
    pieces: pa.Table
    snapshots: pa.Table
    from_ms: int
    to_ms: int


def state_times(batches: Batches, rules: Rules) -> Batches:
    """Yield `TIMES` of the partitions in the batches, each of which is there as a whole.

    A clock that goes back ends no state before it began.
    """
    # Numba is large: only who counts loads it.
    from jobs.quorum.log_tables.loops import finish, take

    periods = pc.unique(rules.pieces["period"])
    pieces, own = _pieces_of(rules, periods)
    sums = np.zeros((len(rules.topic_ids), len(periods), len(_SUMS)), np.int64)
    known, states = pa.array([], pa.int64()), np.empty((0, _PERIODS + 1), np.int64)
    for batch in batches:
        topic = _coded(batch["topic_id"], rules.topic_ids)
        keys = pa.array(topic << 32 | batch["partition"].cast(pa.int64()).to_numpy() & _LOW_32)
        places = pc.index_in(keys, value_set=known)
        if places.null_count:
            new = pc.unique(keys.filter(places.is_null()))
            fresh = np.zeros((len(new), _PERIODS + 1), np.int64)
            fresh[:, _TOPIC], fresh[:, _SINCE] = new.to_numpy() >> 32, rules.from_ms
            known, states = pa.concat_arrays([known, new]), np.concatenate([states, fresh])
            places = pc.index_in(keys, value_set=known)
        changes = np.stack(
            [
                places.to_numpy(),
                np.minimum(_times(batch, rules.snapshots), rules.to_ms),
                ~batch["is_removed"].to_numpy(zero_copy_only=False),
                batch["leader"].to_numpy(),
                pc.list_value_length(batch["isr"]).to_numpy(),
                pc.list_value_length(batch["replicas"]).to_numpy(),
            ],
            axis=1,
        )
        take(changes, states, pieces, own, sums)
    finish(rules.to_ms, states, pieces, own, sums)
    topic, period = np.nonzero(sums[:, :, 0])
    yield pa.record_batch(
        [rules.topic_ids.take(topic), periods.take(period), *sums[topic, period].T], schema=TIMES
    )


def _pieces_of(rules: Rules, periods: pa.Array) -> tuple[Any, Any]:
    """Return the pieces by topic as numbers, and from where to where each topic has its own."""
    count = len(rules.topic_ids)
    topic = pc.index_in(rules.pieces["topic_id"], value_set=rules.topic_ids).fill_null(count)
    period = pc.index_in(rules.pieces["period"], value_set=periods)
    columns = [period, *(rules.pieces[name] for name in ("min_isr", "from_ms", "to_ms"))]
    order = np.lexsort((period.to_numpy(), topic.to_numpy()))
    pieces = np.stack([one.to_numpy().astype(np.int64) for one in columns], axis=1)[order]
    ends = np.searchsorted(topic.to_numpy()[order], np.arange(count + 2)).astype(np.int64)
    own = np.stack([ends[:-1], ends[1:]], axis=1)
    own[own[:, 0] == own[:, 1]] = own[count]
    return pieces, own


def _coded(ids: pa.Array, topic_ids: pa.Array) -> Any:
    """Return the numbers of topics, as they are in `topic_ids`."""
    numbers = pc.index_in(ids.dictionary, value_set=topic_ids).cast(pa.int64())
    return numbers.take(ids.indices).to_numpy()


def _times(batch: pa.RecordBatch, snapshots: pa.Table) -> Any:
    """Return when changes took place; long ago where that is not known."""
    places = pc.index_in(batch["offset"], value_set=snapshots["offset"])
    of_snapshot = snapshots["at_ms"].combine_chunks().take(places)
    return pc.coalesce(batch["timestamp_ms"], of_snapshot, pa.scalar(_NO_TIME)).to_numpy()
