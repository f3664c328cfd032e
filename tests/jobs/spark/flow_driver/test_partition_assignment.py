"""Which task has which partition: it is given to a task only while no other can write it."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import PartitionStart
from jobs.spark.flow_driver.partition_assignment import PartitionAssignment, start_at

NO_RATES: dict = {}


def start(partition: int = 0, position: int = 0) -> PartitionStart:
    return PartitionStart("t", partition, position, "east.t")


def where(partition: int = 0) -> TopicPartition:
    return TopicPartition("t", partition)


def let_go(partition: int = 0, position: int = 9) -> PartitionStart:
    return PartitionStart("t", partition, position, "east.t", leader_epoch=4, last_sync=(8, 5))


@pytest.fixture
def holdings():
    made = PartitionAssignment()
    made.add(start(0))
    made.add(start(1))
    return made


@pytest.fixture
def running(holdings):
    """Partition 0 is with task 0, partition 1 with task 1."""
    holdings.next_commands([0, 1], [], NO_RATES)
    return holdings


def test_partitions_are_dealt_to_the_tasks_that_are_there(holdings):
    orders = holdings.next_commands([0, 1], [], NO_RATES)
    assert orders.add == {0: [start(0)], 1: [start(1)]}


def test_nothing_is_said_twice(running):
    again = running.next_commands([0, 1], [], NO_RATES)
    assert (again.add, again.remove) == ({}, {})


def test_the_share_of_a_task_that_is_expected_is_kept_for_it(holdings):
    assert holdings.next_commands([0], [1], NO_RATES).add == {0: [start(0)]}
    assert holdings.next_commands([0, 1], [], NO_RATES).add == {1: [start(1)]}


def test_the_share_of_a_task_that_does_not_come_goes_to_the_others(holdings):
    holdings.next_commands([0], [1], NO_RATES)
    assert holdings.next_commands([0], [], NO_RATES).add == {0: [start(1)]}


def test_a_move_gives_a_partition_away_only_after_its_task_has_let_go(running):
    running.move(where(0), 1)
    assert running.next_commands([0, 1], [], NO_RATES).remove == {0: [where(0)]}
    assert running.next_commands([0, 1], [], NO_RATES).add == {}
    running.revoked(0, let_go())
    (given,) = running.next_commands([0, 1], [], NO_RATES).add[1]
    assert (given.position, given.leader_epoch, given.last_sync) == (9, 4, (8, 5))


def test_while_a_partition_leaves_it_still_belongs_to_its_task(running):
    running.move(where(0), 1)
    running.next_commands([0, 1], [], NO_RATES)
    assert running.owner(where(0)) == 0


def test_a_paused_partition_is_let_go_of_and_resumes_where_it_was(running):
    running.set_paused(where(0), hold=True)
    assert running.next_commands([0, 1], [], NO_RATES).remove == {0: [where(0)]}
    assert not running.is_paused(where(0))
    running.revoked(0, let_go())
    assert running.is_paused(where(0))
    assert running.next_commands([0, 1], [], NO_RATES).add == {}
    running.set_paused(where(0), hold=False)
    assert [s.position for s in running.next_commands([0, 1], [], NO_RATES).add[0]] == [9]


def test_a_partition_that_is_paused_from_the_beginning_is_never_given(holdings):
    holdings.set_paused(where(0), hold=True)
    assert holdings.next_commands([0, 1], [], NO_RATES).add == {0: [start(1)]}


def test_a_pause_that_ends_before_the_answer_changes_nothing_in_the_end(running):
    running.set_paused(where(0), hold=True)
    running.next_commands([0, 1], [], NO_RATES)
    running.set_paused(where(0), hold=False)
    running.revoked(0, let_go())
    assert [s.position for s in running.next_commands([0, 1], [], NO_RATES).add[0]] == [9]


def test_a_restarted_partition_comes_back_at_its_position(running):
    running.restart(where(0))
    assert running.next_commands([0, 1], [], NO_RATES).remove == {0: [where(0)]}
    running.revoked(0, let_go())
    assert [s.position for s in running.next_commands([0, 1], [], NO_RATES).add[0]] == [9]
    assert running.next_commands([0, 1], [], NO_RATES).remove == {}


def test_a_forgotten_partition_is_gone_once_its_task_has_let_go(running):
    running.forget(where(0))
    assert running.next_commands([0, 1], [], NO_RATES).remove == {0: [where(0)]}
    running.revoked(0, let_go())
    assert where(0) not in running


def test_a_forgotten_partition_that_comes_back_meanwhile_begins_where_it_is_told(running):
    running.forget(where(0))
    running.next_commands([0, 1], [], NO_RATES)
    running.add(start(0, 2))
    running.revoked(0, let_go())
    assert running.next_commands([0, 1], [], NO_RATES).add == {0: [start(0, 2)]}


def test_what_a_lost_task_had_is_not_given_away_before_it_is_recovered(running):
    assert running.lost(0) == [where(0)]
    assert running.next_commands([1], [], NO_RATES).add == {}
    running.recovered([start_at(start(0), 40, None)])
    assert [s.position for s in running.next_commands([1], [], NO_RATES).add[1]] == [40]


def test_what_a_lost_task_had_goes_back_to_it_while_it_is_expected(running):
    running.lost(0)
    running.recovered([start(0, 40)])
    assert running.next_commands([1], [0], NO_RATES).add == {}
    assert running.next_commands([0, 1], [], NO_RATES).add == {0: [start(0, 40)]}


def test_a_task_that_dies_in_the_middle_of_a_move_is_recovered_like_any_other(running):
    running.move(where(0), 1)
    running.next_commands([0, 1], [], NO_RATES)
    running.lost(0)
    assert not running.revoked(1, let_go())
    running.recovered([start(0, 40)])
    assert running.next_commands([0, 1], [], NO_RATES).add == {1: [start(0, 40)]}


def test_a_move_to_a_task_that_dies_goes_elsewhere(running):
    running.move(where(0), 1)
    running.next_commands([0, 1], [], NO_RATES)
    running.lost(1)
    running.revoked(0, let_go())
    assert [s.position for s in running.next_commands([0], [], NO_RATES).add[0]] == [9]


def test_an_unexpected_answer_is_ignored(running):
    assert not running.revoked(0, let_go())
    assert running.next_commands([0, 1], [], NO_RATES).add == {}


class TasksAndTheirPartitions(RuleBasedStateMachine):
    """Any requests in any order: never two writers, and nothing is ever stuck."""

    PARTITIONS = 4
    TASKS = 3

    def __init__(self):
        super().__init__()
        self.holdings = PartitionAssignment()
        self.ready = set()
        self.has = {task: {} for task in range(self.TASKS)}
        self.asked = {task: set() for task in range(self.TASKS)}
        self.committed = dict.fromkeys(range(self.PARTITIONS), 0)
        for partition in range(self.PARTITIONS):
            self.holdings.add(start(partition))

    @rule(expected=st.sets(st.integers(0, 2)))
    def talk(self, expected):
        orders = self.holdings.next_commands(self.ready, expected - self.ready, NO_RATES)
        for task, removed in orders.remove.items():
            self.asked[task] |= set(removed)
        for task, starts in orders.add.items():
            assert task in self.ready
            for one in starts:
                assert one.position == self.committed[one.partition]
                self.has[task][one.where] = one.position

    @rule(task=st.integers(0, 2))
    def come(self, task):
        if not self.holdings.lost_by(task):
            self.ready.add(task)

    @rule(task=st.integers(0, 2))
    def die(self, task):
        if task in self.ready:
            self.ready.discard(task)
            self.holdings.lost(task)
            self.has[task], self.asked[task] = {}, set()

    @rule(task=st.integers(0, 2))
    def recover(self, task):
        lost = self.holdings.lost_by(task)
        self.holdings.recovered([start(w.partition, self.committed[w.partition]) for w in lost])

    @rule(task=st.integers(0, 2), count=st.integers(1, 5))
    def copy(self, task, count):
        for one in self.has[task]:
            self.committed[one.partition] += count
            self.has[task][one] += count

    @rule(task=st.integers(0, 2))
    def answer(self, task):
        for one in self.asked[task]:
            if one in self.has[task]:
                position = self.has[task].pop(one)
                assert self.holdings.revoked(task, let_go(one.partition, position))
        self.asked[task] = set()

    @rule(partition=st.integers(0, 3), task=st.integers(0, 2))
    def move(self, partition, task):
        self.holdings.move(where(partition), task)

    @rule(partition=st.integers(0, 3), hold=st.booleans())
    def hold_back(self, partition, hold):
        self.holdings.set_paused(where(partition), hold=hold)

    @rule(partition=st.integers(0, 3))
    def restart(self, partition):
        self.holdings.restart(where(partition))

    @invariant()
    def nobody_shares_a_partition(self):
        held = [one for has in self.has.values() for one in has]
        assert len(held) == len(set(held))

    @precondition(lambda self: self.ready)
    @rule()
    def settle(self):
        """When all answer and nothing more is requested, all that is wanted is copied."""
        for task in range(self.TASKS):
            self.recover(task)
        for partition in range(self.PARTITIONS):
            self.holdings.set_paused(where(partition), hold=False)
        for _ in range(4):
            self.talk(set())
            for task in range(self.TASKS):
                self.answer(task)
        held = {one for task in self.ready for one in self.has[task]}
        assert len(held) == self.PARTITIONS


TestTasksAndTheirPartitions = TasksAndTheirPartitions.TestCase
