"""How the driver of a flow adds up what its tasks report."""

from dataclasses import asdict

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import CopyState, PartitionProgress
from jobs.spark.flow_driver.eta import Headway, eta_s, flow_eta_s
from jobs.spark.flow_driver.progress_table import ProgressTable


def row(position=0, records=0, state=CopyState.COPYING, partition=0, **more):
    return asdict(PartitionProgress("orders", partition, position, state, records=records, **more))


def test_the_rate_is_what_came_in_over_the_last_seconds():
    board = ProgressTable()
    board.start([row()])
    for second in range(21):
        board.update([row(records=100 * second)], now_s=float(second))
    assert board.rows(20.0)[0]["rate_per_s"] == 100.0


def test_the_rate_falls_to_zero_when_nothing_comes_any_more():
    board = ProgressTable()
    board.start([row()])
    board.update([row(records=0)], now_s=0.0)
    board.update([row(records=500)], now_s=1.0)
    board.update([row(records=500)], now_s=30.0)
    assert board.rows(30.0)[0]["rate_per_s"] == 0.0


def test_counts_continue_after_the_tasks_were_started_again():
    board = ProgressTable()
    board.start([row()])
    board.update([row(records=70, bytes=700)], now_s=1.0)
    board.start([row(position=70)])
    board.update([row(position=75, records=5, bytes=50)], now_s=2.0)
    found = board.rows(2.0)[0]
    assert (found["records"], found["bytes"]) == (75, 750)


def test_the_last_timestamp_outlives_a_restart_of_the_tasks():
    board = ProgressTable()
    board.start([row()])
    board.update([row(last_timestamp_ms=1234)], now_s=1.0)
    board.start([row()])
    board.update([row()], now_s=2.0)
    assert board.rows(2.0)[0]["last_timestamp_ms"] == 1234


def test_a_report_about_a_partition_that_is_no_longer_planned_is_ignored():
    board = ProgressTable()
    board.start([row()])
    board.update([row(partition=5)], now_s=1.0)
    assert [r["partition"] for r in board.rows(1.0)] == [0]


ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


def test_counts_continue_in_another_task():
    board = ProgressTable()
    board.start([row()])
    board.update([row(records=70, bytes=700)], now_s=1.0)
    board.add(row(position=70))
    board.update([row(position=75, records=5, bytes=50)], now_s=2.0)
    assert (board.rows(2.0)[0]["records"], board.rows(2.0)[0]["bytes"]) == (75, 750)


def test_taking_on_one_partition_leaves_the_others_as_they_are():
    board = ProgressTable()
    board.start([row(), row(partition=1)])
    board.update([row(records=3), row(partition=1, records=9)], now_s=1.0)
    board.add(row())
    board.update([row(partition=1, records=10)], now_s=2.0)
    assert [r["records"] for r in board.rows(2.0)] == [3, 10]


def test_it_is_finished_when_each_partition_reached_its_end_or_cannot_be_copied():
    board = ProgressTable()
    board.start([row(position=10), row(partition=1, state=CopyState.FAILED)])
    assert board.is_finished({ORDERS_0: 10, ORDERS_1: 99})
    assert not board.is_finished({ORDERS_0: 11})


def test_it_is_not_finished_while_a_partition_is_not_even_known():
    board = ProgressTable()
    board.start([row(position=10)])
    assert not board.is_finished({ORDERS_0: 10, ORDERS_1: 5})


def test_partitions_that_came_later_do_not_keep_it_from_being_finished():
    board = ProgressTable()
    board.start([row(position=10), row(partition=1, position=0)])
    assert board.is_finished({ORDERS_0: 10})


def test_who_did_not_reach_its_end_is_named():
    board = ProgressTable()
    board.start([row(position=10), row(partition=1, state=CopyState.FAILED)])
    assert [r["partition"] for r in board.short_of({ORDERS_0: 10, ORDERS_1: 99})] == [1]


def test_a_failed_partition_stays_failed_while_the_others_are_retrying():
    board = ProgressTable()
    board.start([row(), row(partition=1, state=CopyState.FAILED, reason="too large")])
    board.fail_all_open(CopyState.RETRYING, "the source is away")
    assert [(r["state"], r["reason"]) for r in board.rows(0.0)] == [
        ("retrying", "the source is away"),
        ("failed", "too large"),
    ]


def test_lag_is_unknown_until_somebody_knows_the_end():
    board = ProgressTable()
    board.start([row(position=40)])
    assert (board.rows(0.0)[0]["end_offset"], board.rows(0.0)[0]["lag"]) == (None, None)
    board.know_ends({ORDERS_0: 100}, now_s=1.0)
    assert (board.rows(1.0)[0]["end_offset"], board.rows(1.0)[0]["lag"]) == (100, 60)


def test_the_end_that_a_copier_heard_last_counts():
    board = ProgressTable()
    board.start([row()])
    board.know_ends({ORDERS_0: 100}, now_s=1.0)
    board.update([row(position=90, end_offset=150)], now_s=2.0)
    board.update([row(position=120)], now_s=3.0)
    assert (board.rows(3.0)[0]["end_offset"], board.rows(3.0)[0]["lag"]) == (150, 30)


def test_the_time_left_takes_into_account_that_the_source_grows():
    board = ProgressTable()
    board.start([row()])
    for second in range(11):
        report = row(position=100 * second, end_offset=1600 + 40 * second)
        board.update([report], now_s=float(second))
    assert (board.rows(10.0)[0]["lag"], board.eta_s(10.0)) == (1000, 16.7)


def test_the_time_left_to_fixed_ends_does_not_depend_on_the_source():
    board = ProgressTable()
    board.ends = {ORDERS_0: 1500}
    board.start([row()])
    for second in range(11):
        report = row(position=100 * second, end_offset=1600 + 40 * second)
        board.update([report], now_s=float(second))
    assert (board.rows(10.0)[0]["eta_s"], board.eta_s(10.0)) == (5.0, 5.0)


def test_paused_and_failed_partitions_do_not_count_for_the_time_left():
    board = ProgressTable()
    board.start([row(position=5, partition=n) for n in range(2)])
    board.know_ends({ORDERS_0: 5, ORDERS_1: 900}, now_s=0.0)
    board.mark(ORDERS_1, CopyState.PAUSED, "Paused by an operator.")
    assert (board.eta_s(1.0), board.rows(1.0)[1]["eta_s"]) == (0.0, None)


def test_a_rate_is_known_only_after_some_seconds():
    board = ProgressTable()
    board.start([row()])
    board.update([row(bytes=0)], now_s=0.0)
    board.update([row(bytes=6000)], now_s=3.0)
    assert board.rates(3.0) == {}
    assert board.rates(6.0) == {ORDERS_0: 1000.0}


READ = "READ on topic orders of east"
WRITE = "WRITE on topic east.orders of west"


def refused(partition=0, position=0, right=READ):
    return row(position, state=CopyState.RETRYING, partition=partition, denied=right, reason="no")


def two_partitions(*, second=100):
    """Return a table of which the first partition was refused from 10 s on, and what it is to copy."""
    board, ends = ProgressTable(), {ORDERS_0: 100, ORDERS_1: 100}
    board.start([row(), row(partition=1)])
    board.update([refused(), row(second, partition=1)], now_s=10.0)
    return board, ends


def test_what_was_refused_for_a_minute_is_refused_for_good_and_named_with_the_right():
    board, ends = two_partitions()
    board.update([row(state=CopyState.STARTING)], now_s=40.0)  # between two tries
    board.update([refused()], now_s=50.0)
    assert not board.is_finished(ends, 69.0)
    assert board.is_finished(ends, 70.0)
    assert not board.is_finished(ends)
    assert board.why_short(ends) == (
        "1 of 2 partitions are not replicated, access was denied for 60 s: orders-0. Give the principal the "
        "missing right: READ on topic orders of east."
    )


def test_a_run_continues_while_another_partition_does():
    board, ends = two_partitions(second=99)
    assert not board.is_finished(ends, 1000.0)


def test_a_record_that_got_through_ends_a_refusal():
    board, ends = two_partitions()
    board.update([row(50, state=CopyState.COPYING)], now_s=60.0)
    board.update([refused(position=50, right=WRITE)], now_s=65.0)
    assert not board.is_finished(ends, 124.0)
    assert board.is_finished(ends, 125.0)
    assert WRITE in board.why_short(ends)


def test_other_reasons_are_named_beside_refusals():
    board, ends = two_partitions(second=0)
    board.update([row(partition=1, state=CopyState.FAILED, reason="It is damaged.")], now_s=11.0)
    assert board.is_finished(ends, 70.0)
    assert board.why_short(ends).startswith("It is damaged. 1 of 2 partitions are not replicated")


def test_a_partition_that_failed_with_nothing_to_copy_is_told():
    board, _ = two_partitions(second=0)
    board.update([row(partition=1, state=CopyState.FAILED, reason="It is damaged.")], now_s=11.0)
    assert board.why_short({ORDERS_1: 0}) == "It is damaged."


def test_a_task_that_is_refused_as_a_whole_refuses_its_partitions():
    board, ends = two_partitions(second=0)
    board.deny(ORDERS_1, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", 20.0)
    assert not board.is_finished(ends, 79.0)
    assert board.is_finished(ends, 80.0)


@pytest.mark.parametrize(
    ("headway", "expected"),
    [
        pytest.param(Headway(0, 0.0), 0.0, id="E1: nothing left"),
        pytest.param(Headway(None, 100.0), None, id="E2: what is left is unknown"),
        pytest.param(Headway(500, 0.0), None, id="E2: nothing was copied lately"),
        pytest.param(Headway(500, 100.0), 5.0, id="E3: up to a fixed end"),
        pytest.param(Headway(500, 100.0, 50.0), 10.0, id="E4: the source keeps growing"),
        pytest.param(Headway(500, 100.0, 100.0), None, id="E4: as fast as the source"),
        pytest.param(Headway(500, 100.0, 300.0), None, id="E4: slower than the source"),
    ],
)
def test_of_a_partition(headway, expected):
    assert eta_s(headway) == expected


@pytest.mark.parametrize(
    ("headways", "expected"),
    [
        pytest.param([], 0.0, id="no partition"),
        pytest.param([Headway(0, 9.0), Headway(0, 0.0)], 0.0, id="all are done"),
        pytest.param(
            [Headway(300, 100.0), Headway(700, 100.0)], 5.0, id="E5: all left over all copied"
        ),
        pytest.param(
            [Headway(300, 0.0), Headway(700, 100.0)], 10.0, id="E5: one has not begun yet"
        ),
        pytest.param(
            [Headway(500, 100.0), Headway(0, 900.0)], 5.0, id="E5: the done ones do not help"
        ),
        pytest.param([Headway(500, 100.0), Headway(None, 100.0)], None, id="E2: one is unknown"),
    ],
)
def test_of_a_flow(headways, expected):
    assert flow_eta_s(headways) == expected


def test_counts_continue_in_another_engine():
    before = row(position=5, records=5)
    table = ProgressTable()
    table.resume([before])
    table.start([row(position=5)])
    table.update([row(position=8, records=3)], 1.0)
    assert [one["records"] for one in table.rows(1.0)] == [8]
