"""For how long partitions were in which state, from their changes in the order of offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above

from jobs.wire.machine_code import compiled, inlined

Batches = Iterator[pa.RecordBatch]
COLUMNS = ["offset", "timestamp_ms", "topic_id", "partition", "leader", "isr", "replicas", "is_removed"]
# Of a topic and a period: how many partitions there were, and milliseconds of all of them.
_SUMS = ("partitions", "partition_ms", "leaderless_ms", "under_min_isr_ms")
TIMES = pa.schema(
    [("topic_id", pa.string()), ("period", pa.string()), *((name, pa.int64()) for name in _SUMS)]
)
_TOPIC, _SINCE, _IS_THERE, _LEADER, _IN_SYNC, _REPLICAS, _PERIODS = range(7)
_PERIOD, _MIN_ISR, _FROM, _TO = range(4)
_NO_TIME = -(1 << 63)


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts in a window: from `from_ms` to `to_ms`.

    `pieces` has a row for each topic (null: those that have none of their own), period and min.insync.replicas
    (`topic_id`, `period`, `min_isr`, `from_ms`, `to_ms`), periods in their order. `snapshots` says the time
    (`at_ms`, null: not known) of changes without one by their `offset`, which rises.
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
    periods = pc.unique(rules.pieces["period"])
    pieces, ends = _pieces_of(rules, periods)
    sums = np.zeros((len(rules.topic_ids), len(periods), len(_SUMS)), np.int64)
    known, states = pa.array([], pa.int64()), np.empty((0, _PERIODS + 1), np.int64)
    for batch in batches:
        topic = _coded(batch["topic_id"], rules.topic_ids)
        keys = pa.array(topic << 32 | batch["partition"].to_numpy())
        new = pc.unique(keys.filter(pc.invert(pc.is_in(keys, value_set=known))))
        known = pa.concat_arrays([known, new])
        fresh = np.zeros((len(new), _PERIODS + 1), np.int64)
        fresh[:, _TOPIC], fresh[:, _SINCE] = new.to_numpy() >> 32, rules.from_ms
        states = np.concatenate([states, fresh])
        changes = np.stack(
            [
                pc.index_in(keys, value_set=known).to_numpy(),
                np.minimum(_times(batch, rules.snapshots), rules.to_ms),
                ~batch["is_removed"].to_numpy(zero_copy_only=False),
                batch["leader"].to_numpy(),
                pc.list_value_length(batch["isr"]).to_numpy(),
                pc.list_value_length(batch["replicas"]).to_numpy(),
            ],
            axis=1,
        )
        _take(changes, states, pieces, ends, sums)
    _finish(rules.to_ms, states, pieces, ends, sums)
    topic, period = np.nonzero(sums[:, :, 0])
    yield pa.record_batch(
        [rules.topic_ids.take(topic), periods.take(period), *sums[topic, period].T], schema=TIMES
    )


def _pieces_of(rules: Rules, periods: pa.Array) -> tuple[Any, Any]:
    """Return the pieces by topic as numbers, and from where to where those of each topic are."""
    ids = rules.pieces["topic_id"].combine_chunks()
    own = np.searchsorted if False else None
    raise NotImplementedError(own, ids)
