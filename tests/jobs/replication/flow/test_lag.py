"""Lag: every rule of the module, by its number."""

import pytest

from jobs.replication.flow.lag import GroupLag, Lag, LagStatus, group_lag, replication_lag


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param({"position": 40, "end": 100}, Lag(60, None), id="R1-end-minus-position"),
        pytest.param({"position": 120, "end": 100}, Lag(0, 0), id="R1-never-negative"),
        pytest.param(
            {"position": 10, "start": 50, "end": 100},
            Lag(50, None),
            id="R2-what-retention-deleted-is-not-waiting",
        ),
        pytest.param(
            {"position": 10, "start": 100, "end": 100}, Lag(0, 0), id="R2-everything-was-deleted"
        ),
        pytest.param(
            {"position": 99, "end": 100, "data_end": 99}, Lag(0, 0), id="R3-only-a-marker-is-left"
        ),
        pytest.param(
            {"position": 95, "end": 100, "data_end": 98},
            Lag(3, None),
            id="R3-markers-at-the-end-are-not-waiting",
        ),
        pytest.param(
            {"position": 95, "end": 100, "data_end": 120},
            Lag(5, None),
            id="R3-data-end-read-later-than-the-end",
        ),
        pytest.param({"position": None, "end": 100}, Lag(None, None), id="R4-unknown-position"),
        pytest.param({"position": 10, "end": None}, Lag(None, None), id="R4-unknown-end"),
        pytest.param(
            {"position": 40, "end": 100, "last": 1_000, "head": 61_000},
            Lag(60, 60_000),
            id="R5-head-minus-last-record",
        ),
        pytest.param(
            {"position": 40, "end": 100, "last": 0, "head": 5},
            Lag(60, 5),
            id="R5-records-of-1970-are-not-years-behind",
        ),
        pytest.param(
            {"position": 100, "end": 100, "last": 1_000, "head": 61_000},
            Lag(0, 0),
            id="R6-no-records-is-no-time",
        ),
        pytest.param(
            {"position": 40, "end": 100, "last": 9_000, "head": 5_000},
            Lag(60, 0),
            id="R6-time-is-never-negative",
        ),
        pytest.param(
            {"position": 40, "end": 100, "head": 5_000}, Lag(60, None), id="R6-last-record-unknown"
        ),
        pytest.param({"position": 0, "end": 0}, Lag(0, 0), id="empty-partition"),
    ],
)
def test_replication_lag_follows_its_rules(asked, expected):
    lag = replication_lag(
        position=asked["position"],
        log_start_offset=asked.get("start", 0),
        end_offset=asked["end"],
        last_timestamp_ms=asked.get("last"),
        head_timestamp_ms=asked.get("head"),
        data_end=asked.get("data_end"),
    )
    assert lag == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param((None, 0, 100, None), GroupLag(None, LagStatus.NO_COMMIT), id="G1-no-commit"),
        pytest.param(
            (None, None, None, None),
            GroupLag(None, LagStatus.NO_COMMIT),
            id="G1-no-commit-comes-before-an-unknown-end",
        ),
        pytest.param((40, 0, 100, None), GroupLag(60, LagStatus.OK), id="G2-end-minus-committed"),
        pytest.param((100, 0, 100, None), GroupLag(0, LagStatus.OK), id="G2-caught-up"),
        pytest.param(
            (101, 0, 100, None), GroupLag(0, LagStatus.AHEAD_OF_END), id="G3-ahead-of-the-end"
        ),
        pytest.param(
            (40, 60, 100, None), GroupLag(40, LagStatus.BEHIND_LOG_START), id="G4-behind-log-start"
        ),
        pytest.param(
            (0, 100, 100, None),
            GroupLag(0, LagStatus.BEHIND_LOG_START),
            id="G4-everything-was-deleted",
        ),
        pytest.param((99, 0, 100, 99), GroupLag(0, LagStatus.OK), id="G5-only-a-marker-is-left"),
        pytest.param((40, 0, None, None), GroupLag(None, LagStatus.UNKNOWN), id="G6-unknown-end"),
        pytest.param((40, None, 100, None), GroupLag(60, LagStatus.OK), id="unknown-log-start"),
        pytest.param((0, 0, 0, None), GroupLag(0, LagStatus.OK), id="empty-partition"),
    ],
)
def test_group_lag_follows_its_rules(asked, expected):
    committed, start, end, data_end = asked
    lag = group_lag(committed=committed, log_start_offset=start, end_offset=end, data_end=data_end)
    assert lag == expected


@pytest.mark.parametrize(
    ("committed", "lag"),
    [
        pytest.param(0, GroupLag(10, LagStatus.OK, 15), id="both ends"),
        pytest.param(10, GroupLag(0, LagStatus.OK, 5), id="read_committed can read no more"),
        pytest.param(
            12, GroupLag(0, LagStatus.OK, 3), id="read_uncommitted is not ahead of the end"
        ),
        pytest.param(15, GroupLag(0, LagStatus.OK, 0), id="read_uncommitted has read all"),
        pytest.param(16, GroupLag(0, LagStatus.AHEAD_OF_END, 0), id="above the high watermark"),
    ],
)
def test_lag_is_told_to_the_last_stable_offset_and_to_the_high_watermark(committed, lag):
    """tests/conformance/reported/open_transaction_hides_lag"""
    found = group_lag(committed=committed, log_start_offset=0, end_offset=10, high_watermark=15)
    assert found == lag


def test_aborted_records_are_no_lag_but_to_the_high_watermark_as_kafkas_tool_counts():
    found = group_lag(committed=0, log_start_offset=0, end_offset=6, data_end=0, high_watermark=6)
    assert (found.records, found.to_high_watermark) == (0, 6)
