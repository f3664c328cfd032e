"""What compiled loops count over the table of changes is what a plain walk over its changes counts."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from jobs.quorum.log.folder import read_folder
from jobs.quorum.log_tables.churn import churn, churn_columns
from jobs.quorum.log_tables.reading import partition_changes
from jobs.quorum.log_tables.state_times import COLUMNS, Rules, state_times
from jobs.quorum.log_tables.writing import write_partitions
from tests.examples import examples
from tests.jobs.quorum.metadata_stories import stories

CODED = ["topic_id", "topic", "cause"]
FROM_MS, TO_MS = 1002, 1010


def written(log, tmp_path_factory):
    folder, output = tmp_path_factory.mktemp("log"), tmp_path_factory.mktemp("tables")
    (folder / f"{0:020}.log").write_bytes(log)
    write_partitions(read_folder(folder), output, 0, 1)
    return output / "partition_changes"


def batches_of(table, columns):
    return pq.ParquetFile(table / "part-0.parquet", read_dictionary=CODED).iter_batches(
        3, columns=columns
    )


def moved(change):
    """The brokers that a change moved, and whether each left."""
    if change.previous_isr is None or change.is_removed:
        return []
    before, after = set(change.previous_isr), set(change.isr)
    left = [(broker, True) for broker in before - after if broker in change.replicas]
    return [*left, *((broker, False) for broker in after - before)]


@pytest.mark.parametrize("by", ["broker", "topic", "cause"])
@examples(60)
@given(log=stories())
def test_brokers_that_leave_and_join_are_counted(tmp_path_factory, by, log):
    table = written(log, tmp_path_factory)
    found = Counter()
    rows = churn(batches_of(table, churn_columns(by)), by, FROM_MS, TO_MS, np.empty(0, np.int64))
    for _, group, _, _, shrinks, expands in (
        row for one in rows for row in zip(*one.to_pydict().values(), strict=True)
    ):
        found[group, True] += shrinks
        found[group, False] += expands
    expected = Counter()
    for change in partition_changes(table):
        if FROM_MS <= (change.timestamp_ms or 0) < TO_MS:
            for broker, is_shrink in moved(change):
                groups = {"broker": str(broker), "topic": change.topic, "cause": change.cause.value}
                expected[groups[by], is_shrink] += 1
    assert +found == +expected


@examples(60)
@given(log=stories())
def test_partitions_are_available_for_the_time_of_their_states(tmp_path_factory, log):
    table = written(log, tmp_path_factory)
    expected = Counter()
    changes = list(partition_changes(table))
    ends = {}
    for change in changes:
        key, at_ms = (
            (change.topic_id, change.partition),
            min(max(change.timestamp_ms, FROM_MS), TO_MS),
        )
        ends.setdefault(key, []).append((at_ms, change))
    for (topic_id, _), told in ends.items():
        for (at_ms, change), (end_ms, _) in zip(told, [*told[1:], (TO_MS, None)], strict=True):
            if not change.is_removed and end_ms > at_ms:
                expected[topic_id, "whole"] += end_ms - at_ms
                is_leaderless = change.leader < 0
                expected[topic_id, "leaderless"] += (end_ms - at_ms) * is_leaderless
                is_under = is_leaderless or len(change.isr) < min(2, len(change.replicas))
                expected[topic_id, "under"] += (end_ms - at_ms) * is_under
    topics = pa.array(sorted({one.topic_id for one in changes}), pa.string())
    piece = {"topic_id": pa.nulls(1, pa.string()), "period": pa.array(["month"])}
    numbers = {"min_isr": [2], "from_ms": [FROM_MS], "to_ms": [TO_MS]}
    pieces = pa.table(
        {**piece, **{name: pa.array(one, pa.int64()) for name, one in numbers.items()}}
    )
    none = pa.table({name: pa.array([], pa.int64()) for name in ("offset", "at_ms")})
    (times,) = state_times(batches_of(table, COLUMNS), Rules(topics, pieces, none, FROM_MS, TO_MS))
    found = Counter()
    for row in times.to_pylist():
        found[row["topic_id"], "whole"] += row["partition_ms"]
        found[row["topic_id"], "leaderless"] += row["leaderless_ms"]
        found[row["topic_id"], "under"] += row["under_min_isr_ms"]
    assert +found == +expected
