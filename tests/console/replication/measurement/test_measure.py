from dataclasses import replace

import pytest

from console.replication.measurement.measure import (
    Measured,
    accepts_new_topic,
    at_rest,
    from_progress,
    not_surveyed,
    total,
    waits_because,
    with_lag,
    with_source,
)
from jobs.cluster.descriptions import OffsetRange
from jobs.replication.copy.contract import CopyState
from tests.console.making import partition_row, progress

COPYING = Measured("orders", 0, state=CopyState.COPYING, position=90, last_timestamp_ms=1_000)


def test_lag_is_end_minus_position_and_head_minus_last_timestamp():
    placed = with_source(COPYING, OffsetRange(0, 100, 100))
    lag = with_lag(replace(placed, head_timestamp_ms=5_000))
    assert (lag.lag, lag.lag_ms) == (10, 4_000)


def test_an_unreadable_source_makes_the_lag_unknown_and_not_zero():
    lag = with_lag(with_source(COPYING, OffsetRange(error="no leader")))
    assert (lag.lag, lag.lag_ms) == (None, None)


def test_markers_behind_the_last_record_are_no_lag():
    placed = with_source(COPYING, OffsetRange(0, 91, 91))
    assert with_lag(replace(placed, data_end=90)).lag == 0


def test_a_failed_partition_keeps_its_reason_when_no_run_copies():
    failed = replace(COPYING, state=CopyState.FAILED, reason="too large", rate_per_s=0.0)
    rest = at_rest(failed, None)
    assert (rest.state, rest.reason, rest.rate_per_s) == (CopyState.FAILED, "too large", None)


def test_a_position_that_moved_without_a_run_forgets_the_last_timestamp():
    assert at_rest(COPYING, 95).last_timestamp_ms is None
    assert at_rest(COPYING, 90).last_timestamp_ms == 1_000


def test_totals_add_what_is_known():
    rows = [
        replace(COPYING, lag=3, lag_ms=10),
        replace(COPYING, lag=None),
        replace(COPYING, lag=4, lag_ms=7),
    ]
    totals = total(rows)
    assert (totals.lag, totals.lag_ms, totals.states) == (7, 10, {"copying": 3})
    assert (totals.unknown, totals.unknown_ms) == (1, 1)


def test_a_lag_of_nothing_is_no_total_over_unknown_partitions():
    rows = [replace(COPYING, lag=0, lag_ms=0), replace(COPYING, lag=None, lag_ms=None)]
    totals = total(rows)
    assert (totals.lag, totals.lag_ms, totals.unknown_ms) == (None, None, 1)


def test_totals_of_nothing_are_unknown():
    assert total([]).lag is None


def test_the_worst_partition_gives_the_reason():
    failed = replace(COPYING, state=CopyState.FAILED, reason="record too large")
    assert total([COPYING, failed]).reason == "record too large"


@pytest.mark.parametrize(
    ("surveyed", "fault", "because"),
    [
        pytest.param(False, "", "", id="just started"),
        pytest.param(True, "", "", id="nothing matches"),
        pytest.param(True, "west: slow", "", id="a fault after the first survey"),
        pytest.param(False, "west: no broker", "west: no broker", id="target away"),
    ],
)
def test_a_run_that_has_not_seen_the_clusters_says_why(surveyed, fault, because):
    assert waits_because(progress(surveyed=surveyed, fault=fault)) == because


def test_partitions_known_from_before_wait_with_the_run():
    waiting = not_surveyed(COPYING, progress(surveyed=False, fault="west: no broker answered"))
    assert (waiting.state, waiting.reason) == (CopyState.RETRYING, "west: no broker answered")


def test_progress_becomes_partitions_with_their_remote_topic():
    (row,) = from_progress(progress(partition_row(position=7, findings=["retention passed"])))
    assert (row.position, row.remote_topic, row.findings) == (
        7,
        "east.orders",
        ("retention passed",),
    )


def test_only_a_topic_that_was_created_again_can_be_accepted():
    again = replace(
        COPYING, state=CopyState.FAILED, reason="Topic orders was deleted and created again."
    )
    large = replace(COPYING, state=CopyState.FAILED, reason="Record at 7 is too large.")
    assert accepts_new_topic([COPYING, again])
    assert not accepts_new_topic([COPYING, large])
