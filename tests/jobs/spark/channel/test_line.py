"""The line between a flow's driver and its tasks, over real sockets."""

import contextlib
import socket
import threading

import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import CopyLimits, PartitionStart
from jobs.replication.flow.spec import FlowSpec
from jobs.spark.channel import messages
from jobs.spark.channel.line import MOST_HELLO_BYTES, MOST_STRANGERS, DriverChannel, TaskChannel
from tests.waiting import PATIENCE, eventually

FLOW = FlowSpec("f", Connection("east", "a:1"), Connection("west", "b:1"))
UNTOLD = ((60, 54), (65, 59))
START = PartitionStart(
    "orders", 3, 70, "east.orders", 64, leader_epoch=2, last_sync=(69, 63), untold_syncs=UNTOLD
)
ORDERS_3 = TopicPartition("orders", 3)


class Driver:
    """A driver that gives everybody the same assignment and remembers what it heard."""

    def __init__(self, *, is_sealed: bool = False) -> None:
        self.heard = []
        self.lines = {}
        self.gives_assignments = True
        self.channel = DriverChannel("127.0.0.1", self.hear, is_sealed=is_sealed)

    def hear(self, event):
        if event.message == {}:
            self.lines[event.line.task] = event.line
            if self.gives_assignments:
                event.line.send(messages.assignment(FLOW))
        elif event.message != {"alive": True}:
            self.heard.append((event.line.task, event.message))


@pytest.fixture(params=[False, True], ids=["on this machine", "sealed"])
def driver(request):
    made = Driver(is_sealed=request.param)
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
    eventually(lambda: driver.heard == [(1, {"partitions": [{"partition": 7}]})])


def test_what_a_task_is_to_take_on_arrives_with_everything_known_about_it(driver, task):
    driver.lines[1].send(messages.add([START]))
    eventually(lambda: task.changes.is_waiting)
    assert task.changes.take() == [START]


def test_what_a_task_is_to_let_go_of_arrives_in_the_order_of_asking(driver, task):
    driver.lines[1].send(messages.add([START]))
    driver.lines[1].send(messages.remove([ORDERS_3]))
    waiting = []
    eventually(lambda: waiting.extend(task.changes.take()) or len(waiting) == 2)
    assert waiting == [START, ORDERS_3]


def test_a_task_answers_with_the_position_that_it_committed(driver, task):
    let_go = PartitionStart(
        "orders", 3, 80, "east.orders", leader_epoch=2, last_sync=(79, 73), untold_syncs=UNTOLD
    )
    task.changes.release([let_go])
    eventually(lambda: driver.heard)
    assert messages.starts_in(driver.heard[0][1]["released"]) == [let_go]


def test_limit_and_priorities_reach_a_task(driver, task):
    tuning = CopyLimits(1000.0, {"orders": 2})
    driver.lines[1].send(messages.tuning(tuning))
    eventually(lambda: task.changes.tuning == tuning)


def test_a_stop_reaches_tasks_that_are_connected(driver, task):
    assert not task.should_stop()
    driver.channel.stop_tasks()
    eventually(task.should_stop)


def test_a_stop_wakes_the_copier_of_a_task(driver, task):
    found = []
    task.changes.listen(lambda: found.append(task.should_stop()))
    driver.channel.stop_tasks()
    eventually(lambda: found and found[0])


def test_a_stop_reaches_tasks_that_connect_later(driver):
    driver.channel.stop_tasks()
    eventually(TaskChannel(driver.channel.address, 0).should_stop)


def test_a_stop_reaches_a_task_that_still_waits_for_its_assignment(driver):
    driver.gives_assignments = False
    made = []
    thread = threading.Thread(
        target=lambda: made.append(TaskChannel(driver.channel.address, 0)), daemon=True
    )
    thread.start()
    eventually(lambda: 0 in driver.lines)
    driver.channel.stop_tasks()
    thread.join(10 * PATIENCE)
    assert (made[0].assignment, made[0].should_stop()) == (None, True)


def test_a_lost_driver_is_a_stop(driver, task):
    driver.channel.close()
    eventually(task.should_stop)


def test_the_driver_hears_that_a_task_is_gone(driver, task):
    task.close()
    eventually(lambda: driver.heard == [(1, None)])


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b'{"token":"guess","task":0}\n', id="a guess"),
        pytest.param(b'{"token":"\\u00e4","task":0}\n', id="letters beyond ASCII"),
        pytest.param(b'["token"]\n', id="no object"),
        pytest.param(b'{"task":0}\n', id="no token"),
        pytest.param(b"GET / HTTP/1.1\r\n", id="another protocol"),
        pytest.param(b"[" * 1000 + b"\n", id="deep nesting"),
        pytest.param(b"x" * MOST_HELLO_BYTES, id="more than a token takes"),
    ],
)
def test_a_caller_without_the_token_gets_nothing(driver, capfd, said):
    with connected(driver) as stranger:
        stranger.sendall(said)
        assert is_hung_up(stranger)
    assert (driver.heard, driver.lines) == ([], {})
    assert capfd.readouterr().err == ""


def test_of_a_stranger_hardly_anything_is_read(driver):
    with connected(driver) as stranger, pytest.raises((ConnectionResetError, BrokenPipeError)):
        stranger.sendall(b"x" * 100_000_000)


def test_a_caller_that_says_nothing_is_hung_up_on():
    channel = DriverChannel("127.0.0.1", lambda event: None, hello_within_s=0.2)
    try:
        with socket.create_connection(channel.address.place) as stranger:
            assert is_hung_up(stranger)
    finally:
        channel.close()


def test_a_task_comes_through_beside_many_that_say_nothing(driver):
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connected(driver)) for _ in range(MOST_STRANGERS // 2)]
        task = TaskChannel(driver.channel.address, 1)
        assert task.assignment is not None
        task.close()
        assert len(silent) == MOST_STRANGERS // 2


def test_of_very_many_that_say_nothing_some_are_hung_up_on_at_once():
    channel = DriverChannel("127.0.0.1", lambda event: None, hello_within_s=600)
    with contextlib.ExitStack() as stack:
        stack.callback(channel.close)
        callers = [
            stack.enter_context(socket.create_connection(channel.address.place))
            for _ in range(MOST_STRANGERS + 1)
        ]
        eventually(lambda: any(is_hung_up(caller, 0.01) for caller in callers))


def connected(driver):
    return socket.create_connection(driver.channel.address.place)


def is_hung_up(stranger, within_s=20.0) -> bool:
    stranger.settimeout(within_s)
    try:
        return stranger.recv(100) == b""
    except TimeoutError:
        return False
    except OSError:
        return True
