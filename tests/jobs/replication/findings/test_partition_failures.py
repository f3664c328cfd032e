"""Stuck partitions, lost records, and topics that are no longer the ones that were copied."""

import pytest

from jobs.checks.settings import Setting, Settings
from jobs.replication.findings.checks import STILL
from jobs.replication.findings.snapshot import TopicSnapshot
from tests.jobs.replication.pictures import (
    MINUTE,
    NOW,
    codes,
    look,
    partition,
    picture,
    said,
    task,
)


def over_minutes(minutes, rows, **parts):
    """One snapshot a minute; `rows` makes the partitions of a minute."""
    return [
        picture(NOW + minute * MINUTE, partitions=rows(minute), **parts)
        for minute in range(minutes + 1)
    ]


def test_a_flow_that_is_stuck_while_the_source_grows_is_found():
    found = look(*over_minutes(5, lambda m: [partition(0, 100, 110 + m), partition(1, 7, 9)]))
    (finding,) = found.findings
    assert (finding.code, finding.severity, finding.since) == ("not_moving", "critical", NOW)
    assert finding.evidence["partitions_waiting"] == 2
    assert finding.evidence["records_waiting"] == 17
    assert finding.evidence["records_written_since"] == 5
    assert finding.evidence["still_for_s"] == 300


def test_it_says_what_the_tasks_say():
    statuses = {task(0): said("RUNNING"), task(1): said("RUNNING"), task(2): said("FAILED")}
    pictures = over_minutes(5, lambda m: [partition(0, 100, 110 + m)], statuses=statuses)
    finding = look(*pictures).findings[0]
    assert "although 1 task say FAILED, 2 tasks say RUNNING" in finding.sentence


def test_it_is_not_said_before_its_time():
    assert codes(look(*over_minutes(4, lambda m: [partition(0, 100, 110 + m)]))) == []


def test_the_time_of_a_standstill_is_a_threshold():
    settings = Settings.of([Setting("not_moving", {STILL: 120})])
    pictures = over_minutes(2, lambda m: [partition(0, 100, 110 + m)], settings=settings)
    assert codes(look(*pictures)) == ["not_moving"]


def test_the_time_of_a_stuck_partition_is_a_threshold_of_its_topic():
    settings = Settings.of([Setting("stuck_partition", {STILL: 600}, flow=7, topic="orders*")])
    pictures = over_minutes(
        5, lambda m: [partition(0, 100, 110), partition(1, m, 50)], pk=7, settings=settings
    )
    assert codes(look(*pictures)) == []


def test_waiting_records_without_new_ones_are_less_grave():
    assert (
        look(*over_minutes(5, lambda _: [partition(0, 100, 110)])).findings[0].severity == "warning"
    )


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        pytest.param(lambda m: [partition(0, 100 + m, 200 + m)], {}, id="slow, but it moves"),
        pytest.param(lambda _: [partition(0, 100, 100)], {}, id="nothing to copy"),
        pytest.param(
            lambda _: [partition(0, 100, 101, data_end=100)], {}, id="only a marker is left"
        ),
        pytest.param(lambda m: [partition(0, 100, 110 + m, rests=True)], {}, id="it rests"),
        pytest.param(
            lambda m: [partition(0, 100, 110 + m)],
            {"should_move": False},
            id="not requested to run",
        ),
        pytest.param(lambda m: [partition(0, None, 110 + m)], {}, id="the position is not known"),
        pytest.param(lambda _: [partition(0, 100, None)], {}, id="the end is not known"),
    ],
)
def test_what_is_no_standstill(rows, parts):
    assert codes(look(*over_minutes(10, rows, **parts))) == []


def test_a_partition_that_does_not_move_among_moving_ones_is_stuck():
    rows = over_minutes(5, lambda m: [partition(0, 100, 110 + m), partition(1, 50 + m, 90)])
    (finding,) = look(*rows).findings
    assert (finding.code, finding.subject, finding.partition) == ("stuck_partition", "orders-0", 0)
    assert finding.evidence["records_waiting"] == 15


def test_a_gap_in_the_answers_does_not_restart_the_clock():
    pictures = over_minutes(5, lambda m: [partition(0, 100, 110 + m)])
    pictures[2] = picture(NOW + 2 * MINUTE, partitions=None)
    pictures[3] = picture(NOW + 3 * MINUTE, partitions=[partition(0, 100, None)])
    (finding,) = look(*pictures).findings
    assert (finding.code, finding.since) == ("not_moving", NOW)


def test_a_partition_that_moved_again_is_judged_from_then_on():
    rows = over_minutes(5, lambda m: [partition(0, 100 if m < 3 else 105, 120 + m)])
    assert codes(look(*rows)) == []


def test_records_deleted_before_they_were_copied_are_counted():
    (finding,) = look(picture(partitions=[partition(3, 100, 500, start=340)])).findings
    assert (finding.code, finding.severity, finding.subject) == (
        "retention_loss",
        "critical",
        "orders-3",
    )
    assert finding.evidence["offsets_lost_at_most"] == 240


def test_the_log_start_at_the_position_is_no_loss():
    assert codes(look(picture(partitions=[partition(0, 100, 100, start=100)]))) == []


def test_deleted_markers_are_no_lost_records():
    before = picture(partitions=[partition(0, 100, 103, data_end=100)])
    gone = picture(NOW + MINUTE, partitions=[partition(0, 100, 103, start=103)])
    more = picture(NOW + 2 * MINUTE, partitions=[partition(0, 100, 150, start=150)])
    assert codes(look(before, gone)) == []
    assert codes(look(before, gone, more)) == ["retention_loss"]


def test_a_source_that_ends_below_the_position_is_another_log():
    (finding,) = look(picture(partitions=[partition(0, 100, 40)])).findings
    assert (finding.code, finding.evidence["source_end_offset"]) == ("source_cut", 40)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param(
            {"last_sync": (90, 80), "remote_end": 81}, [], id="it ends behind the last sync"
        ),
        pytest.param(
            {"last_sync": (90, 80), "remote_end": 80}, ["target_cut"], id="the record is gone"
        ),
        pytest.param({"last_sync": (90, 80), "remote_end": 0}, ["target_cut"], id="it is empty"),
        pytest.param(
            {"remote_end_then": 75, "remote_end": 74}, ["target_cut"], id="below the commit"
        ),
        pytest.param({"last_sync": (90, 80)}, [], id="its end is not known"),
        pytest.param({"remote_end": 0}, [], id="nothing was ever copied"),
    ],
)
def test_a_copy_that_ends_before_what_had_been_copied_is_found(known, expected):
    assert codes(look(picture(partitions=[partition(0, 100, 100, **known)]))) == expected


def topic(topic_id="a", remote_id="x", copied=""):
    return TopicSnapshot("orders", "east.orders", topic_id, remote_id, copied)


def test_a_topic_made_again_is_found_on_either_side_and_told_for_a_day():
    first = picture(topics=[topic()])
    again = picture(NOW + MINUTE, topics=[topic("b", "y")])
    later = picture(NOW + 23 * 60 * MINUTE, topics=[topic("b", "y")])
    over = picture(NOW + 25 * 60 * MINUTE, topics=[topic("b", "y")])
    assert codes(look(first)) == []
    found = look(first, again).findings
    assert [f.code for f in found] == ["source_recreated", "target_recreated"]
    assert found[0].evidence == {"topic_id_before": "a", "topic_id_now": "b"}
    assert found[0].since == NOW + MINUTE
    assert codes(look(first, again, later)) == ["source_recreated", "target_recreated"]
    assert codes(look(first, again, over)) == []


def test_an_id_that_is_not_known_for_a_while_is_no_other_id():
    looks = [topic(), topic("", ""), topic()]
    pictures = [picture(NOW + n * MINUTE, topics=[one]) for n, one in enumerate(looks)]
    assert codes(look(*pictures)) == []


def test_an_id_that_becomes_known_is_no_other_id():
    looks = [topic("", ""), topic()]
    pictures = [picture(NOW + n * MINUTE, topics=[one]) for n, one in enumerate(looks)]
    assert codes(look(*pictures)) == []


def test_a_flow_that_wrote_down_what_it_copied_needs_no_memory():
    assert codes(look(picture(topics=[topic("b", copied="a")]))) == ["source_recreated"]
    assert codes(look(picture(topics=[topic("b", copied="b")]))) == []
