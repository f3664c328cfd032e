"""The driver of a flow, without Spark, before clusters that refuse it: retriable, for a person, or final."""

import asyncio
import contextlib
import struct

import pytest

from jobs.cluster.connection import Connection, SecurityProtocol
from jobs.cluster.protocol.transport.timing import LASTING_S, Patience
from jobs.cluster.secrets import SecretRef
from jobs.replication.flow.spec import FlowSpec
from jobs.spark import contract
from jobs.spark.contract import JobSpec, Outcome
from jobs.spark.flow_driver.replicate import ASKED_AGAIN, FlowDriver
from tests.jobs.cluster.protocol.fake_broker import API_VERSIONS, METADATA, Close, FakeBroker
from tests.support import Clock
from tests.waiting import eventually_async

pytestmark = pytest.mark.slow

SOURCE = Connection("east", "127.0.0.1:1")
TARGET = Connection("west", "127.0.0.1:1")
# Kafka before 2.4 answers ApiVersions of version 3 so: error 35 and no list.
OLDER_THAN_2_4 = struct.pack(">iihi", 10, 1, 35, 0)
NO_SECRET = Connection(
    "east",
    "127.0.0.1:1",
    security_protocol=SecurityProtocol.SASL_PLAINTEXT,
    sasl_mechanism="PLAIN",
    sasl_username="crosslog",
    sasl_password=SecretRef.parse("env:CROSSLOG_SECRET_NOT_SET"),
)


class FakeHost:
    """A host that lives; nothing is run there."""

    def why_over(self):
        return None

    def usage(self):
        return {}


def driver_of(folder, source, **arguments) -> FlowDriver:
    flow = FlowSpec("f", source, TARGET)
    arguments = {"flow": flow.to_mapping(), **arguments}
    return FlowDriver(JobSpec("r", "replicate", arguments), folder, FakeHost())


def progress(folder):
    return contract.read_json(folder / contract.PROGRESS) or {}


async def stopped_after_a_fault(driver, folder):
    driving = asyncio.create_task(asyncio.to_thread(driver.drive))
    await eventually_async(lambda: progress(folder).get("fault"))
    told = progress(folder)
    (folder / contract.STOP).touch()
    return told, await driving


@contextlib.asynccontextmanager
async def old_broker():
    async with FakeBroker() as broker:
        broker.answers[API_VERSIONS] = OLDER_THAN_2_4
        yield broker


@pytest.mark.parametrize("until_caught_up", [True, False])
async def test_a_run_that_can_never_start_ends_at_once_with_the_reason(tmp_path, until_caught_up):
    async with old_broker() as broker:
        driver = driver_of(tmp_path, broker.connection, until_caught_up=until_caught_up)
        result = await asyncio.to_thread(driver.drive)
        assert broker.connections <= 2
    assert result.outcome is Outcome.FAILED
    assert (
        "is older than Kafka 2.4: it does not know ApiVersions 3. crosslog reads clusters of Kafka 2.4 and newer"
        in result.error
    )
    assert (result.summary["code"], result.summary["is_final"]) == ("version_not_offered", True)
    assert progress(tmp_path)["fault"] == result.error


async def test_a_run_that_waits_for_a_person_says_so_and_asks_again(tmp_path):
    told, result = await stopped_after_a_fault(driver_of(tmp_path, NO_SECRET), tmp_path)
    assert "CROSSLOG_SECRET_NOT_SET" in told["fault"]
    assert told["fault"].endswith(ASKED_AGAIN)
    assert result.outcome is Outcome.STOPPED


async def test_a_run_that_is_to_end_waits_for_a_person_only_so_long(tmp_path):
    driver, clock = driver_of(tmp_path, NO_SECRET, until_caught_up=True), Clock()
    driver.patience = Patience(waits_for_people=False, clock=clock)
    driving = asyncio.create_task(asyncio.to_thread(driver.drive))
    await eventually_async(lambda: progress(tmp_path).get("fault"))
    clock.now = LASTING_S
    result = await driving
    assert result.outcome is Outcome.FAILED
    assert (result.summary["code"], result.summary["is_final"]) == ("secret_missing", False)


async def test_a_run_waits_for_a_cluster_that_is_down(tmp_path):
    told, result = await stopped_after_a_fault(driver_of(tmp_path, SOURCE), tmp_path)
    assert "Connection refused: " in told["fault"]
    assert ASKED_AGAIN not in told["fault"]
    assert result.outcome is Outcome.STOPPED


@pytest.mark.parametrize(
    ("closes_at", "says"),
    [
        pytest.param(API_VERSIONS, "closes the connection before it answers", id="at once"),
        pytest.param(METADATA, "offers Metadata in version 12 without serving it", id="it lies"),
    ],
)
async def test_a_listener_that_only_closes_connections_ends_the_run_when_it_lasts(
    tmp_path, closes_at, says
):
    result = await end_at_a_broker_that_closes(tmp_path, closes_at)
    assert (result.outcome, result.summary["is_final"]) == (Outcome.FAILED, True)
    assert says in result.error


async def test_such_an_end_of_a_flow_that_copied_before_is_not_final(tmp_path):
    before = {"topic_ids": {"orders": "AAAAAAAAAAAAAAAAAAAAAQ"}}
    result = await end_at_a_broker_that_closes(tmp_path, API_VERSIONS, **before)
    assert (result.outcome, result.summary["is_final"]) == (Outcome.FAILED, False)


async def end_at_a_broker_that_closes(folder, closes_at, **arguments):
    async with FakeBroker() as broker:
        broker.answers[closes_at] = Close
        driver, clock = driver_of(folder, broker.connection, **arguments), Clock()
        driver.patience = Patience(waits_for_people=True, clock=clock)
        driving = asyncio.create_task(asyncio.to_thread(driver.drive))
        await eventually_async(lambda: progress(folder).get("fault"))
        clock.now = LASTING_S
        return await driving
