"""Groups that would skip records on the target, and checkpoints that stay away."""

from dataclasses import replace

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.findings.snapshot import CheckpointsSnapshot, GroupSnapshot
from tests.jobs.replication.pictures import MINUTE, NOW, codes, look, picture

ORDERS = TopicPartition("orders", 0)
TOPIC = "east.checkpoints.internal"


def group(committed=100, target=None, **more):
    return GroupSnapshot("billing", ORDERS, committed, target, **more)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(group(100, 90, target_at_most=90), [], id="at the highest safe offset"),
        pytest.param(group(100, 91, target_at_most=90), ["critical"], id="proved to be ahead"),
        pytest.param(
            group(100, 91, target_at_most=90, is_active_on_target=True), [], id="it reads there"
        ),
        pytest.param(
            group(100, 91, target_at_most=90, is_failed_over=True), [], id="a plan moved it there"
        ),
        pytest.param(
            group(100, 91, checkpoint=(100, 80)), ["warning"], id="ahead of its checkpoint"
        ),
        pytest.param(group(100, 80, checkpoint=(100, 80)), [], id="at its checkpoint"),
        pytest.param(
            group(100, 85, checkpoint=(100, 80), target_at_most=90),
            [],
            id="better than its checkpoint",
        ),
        pytest.param(group(None, 91, target_at_most=90), [], id="no commit on the source"),
        pytest.param(group(100, None, target_at_most=90), [], id="no offset on the target"),
        pytest.param(group(100, 91), [], id="nothing is known of it"),
    ],
)
def test_a_group_ahead_on_the_target(seen, expected):
    found = look(picture(groups=[seen])).findings
    assert [f.severity.value for f in found] == expected
    assert all(f.code == "group_ahead" for f in found)


def test_it_says_how_much_would_be_skipped_and_what_to_set():
    (finding,) = look(picture(groups=[group(100, 500, target_at_most=90)])).findings
    assert (finding.subject, finding.topic, finding.partition) == ("billing", "orders", 0)
    assert finding.evidence["offsets_skipped_at_least"] == 410
    assert finding.sentence == (
        "billing would skip at least 410 offsets of 1 partition if it failed over now: on west its offset of "
        "orders-0 is 500, ahead of what it has read on east (90)."
    )
    assert "If billing was used on west since, it resumes there: change nothing." in finding.todo
    assert (
        "fail over with a plan, which sets all its offsets (orders-0 to 90 at most)" in finding.todo
    )


def test_a_group_that_is_ahead_at_many_partitions_is_one_finding():
    many = [
        GroupSnapshot("billing", TopicPartition("orders", n), 100, 91 + n, target_at_most=90)
        for n in range(40)
    ]
    (finding,) = look(picture(groups=many)).findings
    assert (finding.subject, finding.topic, finding.partition) == ("billing", "orders", None)
    assert finding.evidence["partitions_ahead"] == 40
    assert finding.evidence["offsets_skipped_at_least"] == sum(range(1, 41))
    assert finding.evidence["partition"] == "orders-39"


def moving(minute, newest=NOW, committed=None):
    return picture(
        NOW + minute * MINUTE,
        checkpoints=CheckpointsSnapshot(TOPIC, newest_at=newest),
        groups=[group(100 + minute if committed is None else committed)],
    )


def test_groups_that_commit_without_checkpoints_are_found():
    (finding,) = look(*map(moving, range(12))).findings
    assert (finding.code, finding.since) == ("checkpoints_stale", NOW + MINUTE)
    assert finding.evidence == {"checkpoint_age_s": 660, "groups_went_on_for_s": 600}


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(lambda m: moving(m, committed=100), id="no group commits"),
        pytest.param(lambda m: moving(m, newest=NOW + m * MINUTE), id="checkpoints come"),
    ],
)
def test_what_is_no_missing_checkpoint(one):
    assert codes(look(*map(one, range(15)))) == []


def test_a_watched_flow_without_a_topic_of_checkpoints_is_told():
    gone = CheckpointsSnapshot(TOPIC, exists=False)
    assert codes(look(picture(checkpoints=gone, groups=[group()]))) == ["checkpoints_missing"]
    assert codes(look(picture(checkpoints=gone, groups=[], is_watched=True))) == []
    assert codes(look(picture(checkpoints=gone, groups=[group()], is_watched=False))) == []


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(group(5_000, end=100), ["group_beyond_end"], id="beyond the end"),
        pytest.param(group(100, end=100), [], id="at the end"),
        pytest.param(group(5_000), [], id="the end is not known"),
        pytest.param(
            group(50, 5_000, target_at_most=50, target_end=101), ["group_beyond_target_end"],
            id="on the target, and not called ahead there",
        ),
        pytest.param(group(5_000, 101, checkpoint=(60, 60), end=100), ["group_beyond_end"],
            id="its offset on the target is not called ahead",
        ),
    ],
)  # fmt: skip
def test_a_group_beyond_the_end_of_its_partition(seen, expected):
    assert codes(look(picture(groups=[seen]))) == expected


def test_a_group_beyond_the_end_of_many_partitions_is_one_finding():
    seen = [replace(group(5_000, end=100), where=ORDERS._replace(partition=n)) for n in range(3)]
    (finding,) = look(picture(groups=seen)).findings
    assert (finding.subject, finding.topic, finding.partition) == ("billing", "orders", None)
    assert finding.evidence["partitions_beyond_end"] == 3
    assert finding.sentence == (
        "billing has committed 5,000 of orders-0 on east, beyond the end of the partition (100) (and so at 2 "
        "more): it is of another life of the topic, or of a log that was truncated. The application would "
        "start where auto.offset.reset says."
    )
