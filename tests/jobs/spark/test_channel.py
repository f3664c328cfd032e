"""The line between a flow's driver and its tasks, over real sockets."""

import socket
import threading

import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.changes import Released, Tuning
from jobs.replication.copier import PartitionStart
from jobs.replication.flow import FlowSpec
from jobs.spark import messages
from jobs.spark.channel import DriverChannel, TaskChannel
from tests.support import wait_until

FLOW = FlowSpec("f", Connection("east", "a:1"), Connection("west", "b:1"))
START = PartitionStart("orders", 3, 70, "east.orders", 64, leader_epoch=2, last_sync=(69, 63))
ORDERS_3 = TopicPartition("orders", 3)


class Driver:
    """A driver that gives everybody the same assignment and remembers what it heard."""

    def __init__(self) -> None:
        self.heard = []
        self.lines = {}
        self.gives_assignments = True
        self.channel = DriverChannel("127.0.0.1", self.hear)

    def hear(self, event):
        if event.message == {}:
            self.lines[event.line.task] = event.line
            if self.gives_assignments:
                event.line.send(messages.assignment(FLOW))
        elif event.message != {"alive": True}:
            self.heard.append((event.line.task, event.message))


@pytest.fixture
def driver():
    made = Driver()
    yield made
    made.channel.close()


@pytest.fixture
def task(driver):
    made = TaskChannel(driver.channel.address, 1)
    yield made
    made.close()


def test_a_task_is_told_what_it_is_for(task):
    assert FlowSpec.from_mapping(task.assignment["flow"]) == FLOW


def test_a_report_reaches_the_driver_with_the_number_of_its_task(driver, task):
    task.report([{"partition": 7}])
    wait_until(lambda: driver.heard == [(1, {"partitions": [{"partition": 7}]})])


def test_what_a_task_is_to_take_on_arrives_with_everything_known_about_it(driver, task):
    driver.lines[1].send(messages.add([START]))
    wait_until(lambda: task.changes.is_waiting)
    assert task.changes.take() == [START]


def test_what_a_task_is_to_let_go_of_arrives_in_the_order_of_asking(driver, task):
    driver.lines[1].send(messages.add([START]))
    driver.lines[1].send(messages.remove([ORDERS_3]))
    waiting = []
    wait_until(lambda: waiting.extend(task.changes.take()) or len(waiting) == 2)
    assert waiting == [START, ORDERS_3]


def test_a_task_answers_with_the_position_that_it_committed(driver, task):
    let_go = Released("orders", 3, 80, leader_epoch=2, last_sync=(79, 73))
    task.changes.release([let_go])
    wait_until(lambda: driver.heard)
    assert messages.released_in(driver.heard[0][1]) == [let_go]


def test_limit_and_priorities_reach_a_task(driver, task):
    tuning = Tuning(1000.0, {"orders": 2})
    driver.lines[1].send(messages.tuning(tuning))
    wait_until(lambda: task.changes.tuning == tuning)


def test_a_stop_reaches_tasks_that_are_connected(driver, task):
    assert not task.should_stop()
    driver.channel.stop_tasks()
    wait_until(task.should_stop)


def test_a_stop_reaches_tasks_that_connect_later(driver):
    driver.channel.stop_tasks()
    wait_until(TaskChannel(driver.channel.address, 0).should_stop)


def test_a_stop_reaches_a_task_that_still_waits_for_its_assignment(driver):
    driver.gives_assignments = False
    made = []
    thread = threading.Thread(
        target=lambda: made.append(TaskChannel(driver.channel.address, 0)), daemon=True
    )
    thread.start()
    wait_until(lambda: 0 in driver.lines)
    driver.channel.stop_tasks()
    thread.join(10)
    assert (made[0].assignment, made[0].should_stop()) == (None, True)


def test_a_lost_driver_is_a_stop(driver, task):
    driver.channel.close()
    wait_until(task.should_stop)


def test_the_driver_hears_that_a_task_is_gone(driver, task):
    task.close()
    wait_until(lambda: driver.heard == [(1, None)])


def test_a_caller_without_the_token_gets_nothing(driver):
    address = driver.channel.address
    with socket.create_connection((address.host, address.port)) as stranger:
        stranger.sendall(b'{"token":"guess","task":0}\n')
        assert stranger.recv(100) == b""
    assert (driver.heard, driver.lines) == ([], {})
