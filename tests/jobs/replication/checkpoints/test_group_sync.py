"""Groups of the target are set to where they are on the source, and never of groups in use."""

import pytest

from jobs.cluster.descriptions import CommittedOffset, GroupDescription, TopicPartition
from jobs.cluster.errors import Refused
from jobs.replication.checkpoints.group_sync import GroupSync
from jobs.replication.checkpoints.topic import GroupPartition

WHERE = TopicPartition("east.orders", 0)
KEY = GroupPartition("billing", WHERE)


class Target:
    """The groups of a cluster: what they have, and what happens between two questions."""

    def __init__(self, offset=None, *, state="Empty", metadata="") -> None:
        self.state = state
        self.offsets = {} if offset is None else {WHERE: CommittedOffset(offset, metadata)}
        self.error = None
        self.is_readable = True
        self.refuses = None
        self.answers = {}
        self.between = lambda: None
        self.altered = []

    @property
    def offset(self):
        return self.offsets[WHERE].offset

    def describe(self, groups):
        return {
            g: GroupDescription(
                g, self.state, "classic", member_count=int(self.state == "Stable"), error=self.error
            )
            for g in groups
        }

    def committed(self, groups):
        found = {g: dict(self.offsets) for g in groups} if self.is_readable else {}
        self.between()
        return found

    def alter(self, group, offsets):
        if self.refuses is not None:
            raise self.refuses
        self.altered.append(dict(offsets))
        self.offsets |= offsets
        return {where: self.answers.get(where) for where in offsets}


def sync(target, offset, told_before=None, *, metadata="", by=None):
    wanted = {"billing": {WHERE: CommittedOffset(offset, metadata)}}
    before = {} if told_before is None else {KEY: told_before}
    return (by or GroupSync(target)).sync(wanted, before)


@pytest.mark.parametrize("state", ["Empty", "Dead"])
def test_a_group_without_an_offset_gets_one_with_its_metadata(state):
    target = Target(state=state)
    report = sync(target, 20, metadata="of the application")
    assert target.altered == [{WHERE: CommittedOffset(20, "of the application")}]
    assert (report.groups, report.written, report.active, report.errors) == (1, 1, 0, {})


@pytest.mark.parametrize(
    ("there", "expected"),
    [pytest.param(10, 20, id="behind"), pytest.param(20, 20, id="there already")],
)
def test_an_offset_goes_forward(there, expected):
    target = Target(there)
    report = sync(target, 20)
    assert target.offset == expected
    assert report.written == (there != expected)


def test_a_group_that_went_back_on_the_source_is_followed():
    """MirrorMaker 2 4.3.1 leaves it where it was, and a failover skips what was to be read again."""
    target = Target()
    groups = GroupSync(target)
    sync(target, 20, by=groups)
    report = sync(target, 5, by=groups)
    assert (target.offset, report.moved_back, report.ahead) == (5, 1, {})


def test_another_driver_knows_by_the_last_checkpoint_that_the_offset_was_set_for_it():
    target = Target(20)
    assert sync(target, 5, told_before=20).moved_back == 1
    assert target.offset == 5


def test_an_offset_that_somebody_else_set_is_never_moved_back_and_is_told():
    target = Target(30)
    report = sync(target, 20, told_before=15)
    assert (target.altered, report.written) == ([], 0)
    assert (
        "its offset of east.orders-0 is 30, what it has read on the source ends at 20"
        in (report.ahead["billing"])
    )


def test_a_group_that_is_ahead_at_several_partitions_is_told_once():
    target = Target(30)
    other = TopicPartition("east.orders", 1)
    target.offsets[other] = CommittedOffset(90)
    wanted = {where: CommittedOffset(20) for where in (WHERE, other)}
    report = GroupSync(target).sync({"billing": wanted}, {})
    assert list(report.ahead) == ["billing"]
    assert "at 2 partitions: its offset of east.orders-1 is 90" in report.ahead["billing"]


@pytest.mark.parametrize(
    "state", ["Stable", "PreparingRebalance", "CompletingRebalance", "Unknown"]
)
def test_a_group_in_use_is_not_changed(state):
    target = Target(10, state=state)
    report = sync(target, 20)
    assert (target.altered, report.active, report.errors) == ([], 1, {})


def test_a_group_whose_state_is_not_known_is_not_changed():
    target = Target(10)
    target.error = "no coordinator"
    report = sync(target, 20)
    assert (target.altered, report.errors) == ([], {"billing": "no coordinator"})


def test_a_group_whose_offsets_could_not_be_read_is_not_changed():
    target = Target(10)
    target.is_readable = False
    report = sync(target, 20)
    assert target.altered == []
    assert "could not be read" in report.errors["billing"]


def test_an_offset_that_could_not_be_read_is_not_taken_for_none():
    target = Target()
    target.offsets = {WHERE: CommittedOffset(None, error="unstable")}
    sync(target, 20)
    assert target.altered == []


def test_a_group_that_is_taken_into_use_meanwhile_is_not_changed():
    target = Target(10)
    target.between = lambda: setattr(target, "state", "Stable")
    report = sync(target, 20)
    assert (target.altered, report.written) == ([], 0)


def test_a_group_that_was_used_meanwhile_is_not_moved_back():
    target = Target(20)
    target.between = lambda: target.offsets.update({WHERE: CommittedOffset(25)})
    sync(target, 5, told_before=20)
    assert target.altered == []


def test_what_the_broker_refuses_is_told_by_group():
    target = Target(10)
    target.refuses = Refused("Altering offsets of group billing: it has members.", cluster="west")
    assert sync(target, 20).errors == {
        "billing": "Altering offsets of group billing: it has members."
    }


def test_a_partition_that_the_broker_refuses_does_not_count_as_written():
    target = Target()
    target.answers = {WHERE: "unknown topic"}
    groups = GroupSync(target)
    report = sync(target, 20, by=groups)
    assert (report.written, report.errors) == (0, {"billing": "east.orders-0: unknown topic"})
