"""One connection: answers in order, nothing that does not fit, and an end to every wait."""

import asyncio
import contextlib
import struct
import time
from dataclasses import replace

import pytest
from kio.schema.metadata.v10.request import MetadataRequest

from jobs.cluster.errors import ClusterFault, ProtocolMismatch, TimedOut, Unreachable
from jobs.cluster.protocol.errors import ConnectionLost, RequestTimedOut, VersionNotOffered
from jobs.cluster.protocol.metadata import metadata_request
from jobs.cluster.protocol.transport.apis import FETCH, METADATA
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.transport_faults import Server
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_broker import PATIENT, QUICK, Close, FakeBroker, Hang, framed
from tests.waiting import Stalls, eventually_async

QUESTION = metadata_request(["orders"])


@contextlib.asynccontextmanager
async def connected(broker, **settings):
    connection = await BrokerConnection.open(broker.server, broker.options(**settings))
    try:
        yield connection
    finally:
        connection.close()


async def ask(connection, request: MetadataRequest = QUESTION):
    return await connection.request(METADATA, request)


async def fault_of(coroutine) -> ClusterFault:
    with pytest.raises(ClusterFault) as caught:
        await coroutine
    return caught.value


async def test_an_answer_belongs_to_its_request():
    async with FakeBroker() as broker, connected(broker) as connection:
        broker.answers[fake_broker.METADATA] = lambda asked: replace(
            broker.metadata(), cluster_id=asked.message.topics[0].name
        )
        names = [f"topic-{n}" for n in range(50)]
        answers = await asyncio.gather(*(ask(connection, metadata_request([n])) for n in names))
        assert [answer.cluster_id for answer in answers] == names
        assert broker.connections == 1


async def test_a_broker_learns_the_client_id():
    async with FakeBroker() as broker, connected(broker):
        assert broker.asked[0].client_id == "crosslog-test"


async def test_the_best_version_that_both_speak_is_used():
    async with FakeBroker() as broker:
        broker.offered[fake_broker.METADATA] = (0, 11)
        async with connected(broker) as connection:
            await ask(connection)
            assert broker.versions_of(fake_broker.METADATA) == [9]


@pytest.mark.parametrize(
    ("offered", "at_most", "chosen"),
    [
        pytest.param((4, 18), None, 16, id="a broker of today"),
        pytest.param((4, 13), None, 13, id="topic ids"),
        pytest.param((0, 12), None, 12, id="before topic ids"),
        pytest.param((4, 18), 12, 12, id="no more than the caller wants"),
    ],
)
async def test_a_version_is_chosen(offered, at_most, chosen):
    async with FakeBroker() as broker:
        broker.offered[fake_broker.FETCH] = offered
        async with connected(broker) as connection:
            assert connection.version(FETCH, at_most=at_most) == chosen


@pytest.mark.parametrize(
    "offered", [pytest.param((0, 11), id="too old"), pytest.param((17, 30), id="too new")]
)
async def test_no_common_version_is_named_with_what_both_speak(offered):
    async with FakeBroker() as broker:
        broker.offered[fake_broker.FETCH] = offered
        async with connected(broker) as connection:
            with pytest.raises(VersionNotOffered, match=r"Fetch in versions .* 16, 13, 12"):
                connection.version(FETCH)


async def test_a_broker_that_does_not_know_our_question_for_versions_is_named():
    async with FakeBroker() as broker:
        # Error 35 and an empty array, in the form of version 0.
        broker.answers[fake_broker.API_VERSIONS] = struct.pack(">iihi", 10, 1, 35, 0)
        fault = await fault_of(BrokerConnection.open(broker.server, broker.options()))
        assert type(fault) is VersionNotOffered


async def test_an_answer_with_another_correlation_id_ends_the_connection():
    async with FakeBroker() as broker, connected(broker) as connection:
        broker.answers[fake_broker.METADATA] = framed(3, 12, 77, broker.metadata())
        fault = await fault_of(ask(connection))
        assert type(fault) is ProtocolMismatch
        assert connection.is_closed


async def test_an_answer_that_nobody_asked_for_ends_the_connection():
    async with FakeBroker() as broker, connected(broker) as connection:
        twice = 2 * framed(3, 12, 2, broker.metadata())
        broker.answers[fake_broker.METADATA] = twice
        await ask(connection)
        await eventually_async(lambda: connection.is_closed)


@pytest.mark.parametrize("kept", [9, 20, 40])
async def test_an_answer_that_is_cut_short_is_refused(kept):
    async with FakeBroker() as broker, connected(broker) as connection:
        whole = framed(3, 12, 2, broker.metadata())
        broker.answers[fake_broker.METADATA] = struct.pack(">i", kept) + whole[4 : 4 + kept]
        fault = await fault_of(ask(connection))
        assert type(fault) is ProtocolMismatch
        assert "Metadata" in fault.message


async def test_an_answer_with_something_after_it_is_refused():
    async with FakeBroker() as broker, connected(broker) as connection:
        whole = framed(3, 12, 2, broker.metadata())
        broker.answers[fake_broker.METADATA] = struct.pack(">i", len(whole)) + whole[4:] + b"more"
        assert "4 bytes too many" in (await fault_of(ask(connection))).message


@pytest.mark.parametrize("size", [-1, 0, 3, 1 << 20, 2**31 - 1])
async def test_a_size_that_no_answer_has_is_refused(size):
    async with (
        FakeBroker() as broker,
        connected(broker, largest_answer_bytes=1 << 16) as connection,
    ):
        broker.answers[fake_broker.METADATA] = struct.pack(">i", size) + b"\0" * 8
        fault = await fault_of(ask(connection))
        assert type(fault) is ProtocolMismatch
        assert str(size) in fault.message


async def test_a_lost_connection_fails_all_that_is_pending():
    async with FakeBroker() as broker, connected(broker) as connection:
        broker.answers[fake_broker.METADATA] = Close
        questions = [asyncio.ensure_future(fault_of(ask(connection))) for _ in range(5)]
        faults = await asyncio.gather(*questions)
        assert {type(fault) for fault in faults} == {ConnectionLost}
        assert all(fault.retriable and fault.may_have_arrived for fault in faults)
        assert len({id(fault) for fault in faults}) == 5


async def test_a_connection_lost_with_its_first_request_may_lead_to_a_listener_with_sasl():
    async with FakeBroker() as broker, connected(broker) as connection:
        broker.answers[fake_broker.METADATA] = Close
        fault = await fault_of(ask(connection))
        assert type(fault) is ConnectionLost
        assert "expects SASL" in fault.hint
        assert fault.may_have_arrived


async def test_a_lost_connection_takes_no_more_requests():
    async with FakeBroker() as broker, connected(broker) as connection:
        await broker.stop()
        await eventually_async(lambda: connection.is_closed)
        fault = await fault_of(ask(connection))
        assert type(fault) is ConnectionLost
        assert not fault.may_have_arrived


async def test_a_broker_that_hangs_is_given_up_in_time():
    async with FakeBroker() as broker, connected(broker, timing=QUICK) as connection:
        broker.answers[fake_broker.METADATA] = Hang
        began = time.monotonic()
        with Stalls() as stalls:
            fault = await fault_of(ask(connection))
        assert type(fault) is RequestTimedOut
        assert 2.0 <= time.monotonic() - began < 20 + stalls.seconds
        assert connection.is_closed


async def test_a_request_may_wait_as_long_as_it_asks_the_broker_to():
    async with FakeBroker() as broker, connected(broker, timing=QUICK) as connection:
        broker.answers[fake_broker.METADATA] = Hang
        began = time.monotonic()
        call = METADATA.call(QUESTION, 12)
        assert type(await fault_of(connection.ask(call, wait_ms=400))) is RequestTimedOut
        assert time.monotonic() - began >= 2.4


async def test_a_broker_that_hangs_in_the_handshake_is_given_up_in_time():
    async with FakeBroker() as broker:
        broker.answers[fake_broker.API_VERSIONS] = Hang
        began = time.monotonic()
        options = broker.options(timing=replace(PATIENT, connect_timeout_s=0.3))
        with Stalls() as stalls:
            fault = await fault_of(BrokerConnection.open(broker.server, options))
        assert type(fault) is TimedOut
        assert time.monotonic() - began < 5 + stalls.seconds
        await eventually_async(lambda: broker.open == 0)


async def test_a_port_that_closes_before_it_answers_is_tried_again_with_a_hint():
    async with FakeBroker() as broker:
        broker.answers[fake_broker.API_VERSIONS] = Close
        fault = await fault_of(BrokerConnection.open(broker.server, broker.options()))
        assert type(fault) is ProtocolMismatch
        assert fault.retriable
        assert fault.field == "security_protocol"


async def test_a_port_that_speaks_something_else_is_named():
    async with FakeBroker() as broker:
        broker.answers[fake_broker.API_VERSIONS] = b"HTTP/1.1 400 Bad Request\r\n\r\n"
        fault = await fault_of(BrokerConnection.open(broker.server, broker.options()))
        assert type(fault) is ProtocolMismatch
        assert not fault.retriable


async def test_a_port_where_nobody_listens_is_unreachable():
    async with FakeBroker() as broker:
        options = broker.options()
        await broker.stop()
        fault = await fault_of(BrokerConnection.open(broker.server, options))
        assert type(fault) is Unreachable
        assert "advertised.listeners" in fault.message


async def test_a_name_that_nobody_knows_is_named():
    async with FakeBroker() as broker:
        server = Server("no-such-host.invalid", 9092)
        fault = await fault_of(BrokerConnection.open(server, broker.options()))
        assert fault.code == "name_not_resolved"


async def test_cancelling_a_connect_closes_its_socket():
    async with FakeBroker() as broker:
        broker.answers[fake_broker.API_VERSIONS] = Hang
        opening = asyncio.ensure_future(BrokerConnection.open(broker.server, broker.options()))
        await eventually_async(lambda: broker.asked)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        assert opening.cancelled()
        await eventually_async(lambda: broker.open == 0)


async def test_a_cancelled_request_leaves_the_others_alone():
    async with FakeBroker() as broker, connected(broker) as connection:
        first = asyncio.ensure_future(ask(connection))
        second = asyncio.ensure_future(ask(connection))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).cluster_id == "the-cluster"
        assert not connection.is_closed


async def test_a_cancelled_request_still_ends_a_connection_that_hangs():
    async with FakeBroker() as broker, connected(broker, timing=QUICK) as connection:
        broker.answers[fake_broker.METADATA] = Hang
        question = asyncio.ensure_future(ask(connection))
        await eventually_async(lambda: broker.of(fake_broker.METADATA))
        question.cancel()
        await eventually_async(lambda: connection.is_closed)


async def test_closing_fails_what_is_pending_and_closes_the_socket():
    async with FakeBroker() as broker, connected(broker) as connection:
        broker.answers[fake_broker.METADATA] = Hang
        question = asyncio.ensure_future(fault_of(ask(connection)))
        await eventually_async(lambda: broker.of(fake_broker.METADATA))
        connection.close()
        assert type(await question) is ConnectionLost
        await eventually_async(lambda: broker.open == 0)


async def test_a_retired_connection_answers_what_is_pending_and_closes():
    async with FakeBroker() as broker, connected(broker) as connection:
        question = asyncio.ensure_future(ask(connection))
        await asyncio.sleep(0)
        connection.retire()
        assert not connection.is_usable
        assert (await question).cluster_id == "the-cluster"
        assert connection.is_closed


async def test_a_large_answer_arrives_whole():
    async with FakeBroker() as broker, connected(broker) as connection:
        name = "x" * 30_000_000
        broker.answers[fake_broker.METADATA] = replace(broker.metadata(), cluster_id=name)
        assert (await ask(connection)).cluster_id == name


async def test_a_large_request_arrives_whole():
    async with FakeBroker() as broker, connected(broker) as connection:
        names = [f"{n:0200}" for n in range(20_000)]
        await ask(connection, metadata_request(names))
        assert [t.name for t in broker.of(fake_broker.METADATA)[0].topics] == names
