"""The line between a flow's driver and its tasks, over real sockets."""

import socket

import pytest

from jobs.spark.channel import DriverChannel, TaskChannel
from tests.support import wait_until


@pytest.fixture
def reports():
    return []


@pytest.fixture
def driver(reports):
    channel = DriverChannel(
        "127.0.0.1", {0: {"partitions": ["a"]}, 1: {"partitions": ["b"]}},
        lambda task, rows: reports.append((task, rows)),
    )  # fmt: skip
    yield channel
    channel.close()


def test_each_task_gets_its_own_assignment(driver):
    tasks = [TaskChannel(driver.address, number) for number in (0, 1)]
    assert [task.assignment["partitions"] for task in tasks] == [["a"], ["b"]]


def test_a_report_reaches_the_driver_with_the_number_of_its_task(driver, reports):
    TaskChannel(driver.address, 1).report([{"partition": 7}])
    wait_until(lambda: reports == [(1, [{"partition": 7}])])


def test_a_stop_reaches_tasks_that_are_connected(driver):
    task = TaskChannel(driver.address, 0)
    assert not task.should_stop()
    driver.stop_tasks()
    wait_until(task.should_stop)


def test_a_stop_reaches_tasks_that_connect_later(driver):
    driver.stop_tasks()
    wait_until(TaskChannel(driver.address, 0).should_stop)


def test_a_lost_driver_is_a_stop(driver):
    task = TaskChannel(driver.address, 0)
    driver.close()
    wait_until(task.should_stop)


def test_a_caller_without_the_token_gets_nothing(driver, reports):
    with socket.create_connection((driver.address.host, driver.address.port)) as stranger:
        stranger.sendall(b'{"token":"guess","task":0}\n')
        assert stranger.recv(100) == b""
    assert reports == []
