"""How the driver of a flow adds up what its tasks report."""

from dataclasses import asdict

from jobs.replication.copier import PartitionProgress, PartitionState
from jobs.spark.board import Board


def row(position=0, records=0, state=PartitionState.COPYING, partition=0, **more):
    return asdict(PartitionProgress("orders", partition, position, state, records=records, **more))


def test_the_rate_is_what_came_in_over_the_last_seconds():
    board = Board()
    board.start([row()])
    for second in range(21):
        board.update([row(records=100 * second)], now_s=float(second))
    assert board.rows(20.0)[0]["rate_per_s"] == 100.0


def test_the_rate_falls_to_zero_when_nothing_comes_any_more():
    board = Board()
    board.start([row()])
    board.update([row(records=0)], now_s=0.0)
    board.update([row(records=500)], now_s=1.0)
    board.update([row(records=500)], now_s=30.0)
    assert board.rows(30.0)[0]["rate_per_s"] == 0.0


def test_counts_go_on_after_the_tasks_were_started_again():
    board = Board()
    board.start([row()])
    board.update([row(records=70, bytes=700)], now_s=1.0)
    board.start([row(position=70)])
    board.update([row(position=75, records=5, bytes=50)], now_s=2.0)
    found = board.rows(2.0)[0]
    assert (found["records"], found["bytes"]) == (75, 750)


def test_the_last_timestamp_outlives_a_restart_of_the_tasks():
    board = Board()
    board.start([row()])
    board.update([row(last_timestamp_ms=1234)], now_s=1.0)
    board.start([row()])
    board.update([row()], now_s=2.0)
    assert board.rows(2.0)[0]["last_timestamp_ms"] == 1234


def test_a_report_about_a_partition_that_is_no_longer_planned_is_ignored():
    board = Board()
    board.start([row()])
    board.update([row(partition=5)], now_s=1.0)
    assert [r["partition"] for r in board.rows(1.0)] == [0]


def test_it_is_finished_when_each_partition_reached_its_end_or_cannot_go_on():
    board = Board()
    board.start([row(position=10), row(partition=1, state=PartitionState.FAILED)])
    assert board.is_finished({("orders", 0): 10, ("orders", 1): 99})
    assert not board.is_finished({("orders", 0): 11})


def test_a_failed_partition_stays_failed_while_the_others_are_retrying():
    board = Board()
    board.start([row(), row(partition=1, state=PartitionState.FAILED, reason="too large")])
    board.fail_all_open(PartitionState.RETRYING, "the source is away")
    assert [(r["state"], r["reason"]) for r in board.rows(0.0)] == [
        ("retrying", "the source is away"),
        ("failed", "too large"),
    ]
