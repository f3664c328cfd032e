"""TLS and SASL of a real broker, and sessions that it ends."""

import os

import pytest

from jobs.cluster.connection import Connection, SaslMechanism, SecurityProtocol
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import AuthenticationFailed, ProtocolMismatch, TlsFailed
from jobs.cluster.protocol.data.produce import produce
from jobs.cluster.protocol.errors import ConnectionLost, Denied
from jobs.cluster.protocol.transport.connection_pool import FETCH
from jobs.cluster.protocol.transport.timing import Timing
from jobs.cluster.secrets import SecretRef
from jobs.lab.security import USERS
from tests.jobs.cluster.protocol.batches import batch, claimed
from tests.live.records import Record
from tests.live.records import write as write_records
from tests.live.topics import new_topic
from tests.live.whole_batches import fetch_all, fetch_at, fetch_once, opened, write
from tests.waiting import Stalls, eventually_async

SESSION_S = 6.0
# A connection is used for 95 % of its session at most.
LEFT_S = 0.05 * SESSION_S
# Who is not answered within seconds, by a machine that stalls, cannot name what is wrong.
PATIENT = Timing(connect_timeout_s=60.0, metadata_timeout_s=60.0)


@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [
        pytest.param("PLAINTEXT", None, id="plaintext"),
        pytest.param("SSL", None, id="tls"),
        pytest.param("SASL_PLAINTEXT", "PLAIN", id="plain"),
        pytest.param("SASL_PLAINTEXT", "SCRAM-SHA-256", id="scram-256"),
        pytest.param("SASL_PLAINTEXT", "SCRAM-SHA-512", id="scram-512"),
        pytest.param("SASL_SSL", "PLAIN", id="plain-over-tls"),
        pytest.param("SASL_SSL", "SCRAM-SHA-512", id="scram-512-over-tls"),
    ],
)
async def test_large_batches_go_through_every_listener(secure, protocol, mechanism):
    there, here = (TopicPartition(new_topic(secure.cluster), 0) for _ in range(2))
    records = [Record(0, b"k%d" % n, os.urandom(300_000)) for n in range(8)]
    write_records(secure.cluster, there.topic, records, **{"linger.ms": 50})
    async with opened(secure.connection(protocol, mechanism)) as door:
        batches = await fetch_all(door, there)
        for one in batches:
            assert (await write(door, here, claimed(one))).error is None
        arrived = await fetch_all(door, here)
    assert [bytes(one[61:]) for one in arrived] == [bytes(one[61:]) for one in batches]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_a_wrong_password_is_named(secure, mechanism):
    connection = secure.connection("SASL_SSL", mechanism, password="CROSSLOG_SECRET_LAB_WRONG")
    async with opened(connection, timing=PATIENT) as door:
        with pytest.raises(AuthenticationFailed) as caught:
            await door.metadata()
    assert caught.value.field == "sasl_password"


async def test_what_an_acl_does_not_allow_is_named(secure):
    where = TopicPartition(new_topic(secure.cluster), 0)
    async with opened(secure.connection("SASL_SSL", "PLAIN")) as admin:
        topic = (await admin.metadata([where.topic])).topics[where.topic]
        limited = secure.connection(
            "SASL_SSL", "PLAIN", user="limited", password="CROSSLOG_SECRET_LAB_LIMITED"
        )
        async with opened(limited) as door:
            seen = (await door.metadata([where.topic])).topics[where.topic]
            mine = {where: batch(b"whatever")}
            answer = await produce(door, 1, mine, transactional_id=None, timeout_ms=5000)
    assert topic.error is None
    assert type(seen.error) is Denied
    assert type(answer.partitions[where].error) is Denied


async def test_an_authority_that_is_not_known_is_not_trusted(secure):
    connection = Connection(
        "secure", secure.cluster.plan.bootstrap_servers("SSL"), SecurityProtocol.SSL
    )
    async with opened(connection, timing=PATIENT) as door:
        with pytest.raises(TlsFailed) as caught:
            await door.metadata()
    assert caught.value.field == "ssl_ca"


@pytest.mark.parametrize(
    ("spoken", "listener", "kind", "hint"),
    [
        pytest.param("PLAINTEXT", "SSL", ProtocolMismatch, "TLS listener", id="plaintext to tls"),
        pytest.param("SSL", "PLAINTEXT", TlsFailed, "TLS listener", id="tls to plaintext"),
        pytest.param(
            "SASL_PLAINTEXT", "PLAINTEXT", ProtocolMismatch, "without SASL", id="sasl to plaintext"
        ),
        pytest.param(
            "PLAINTEXT", "SASL_PLAINTEXT", ConnectionLost, "expects SASL", id="plaintext to sasl"
        ),
    ],
)
async def test_the_wrong_listener_is_named(secure, spoken, listener, kind, hint):
    good = secure.connection(spoken, "PLAIN" if spoken.startswith("SASL") else None)
    values = good.to_mapping() | {
        "bootstrap_servers": secure.cluster.plan.bootstrap_servers(listener)
    }
    async with opened(Connection.from_mapping(values), timing=PATIENT) as door:
        with pytest.raises(kind) as caught:
            await door.metadata()
    assert hint in caught.value.hint


async def test_a_session_that_ends_is_followed_by_another(small_lab, monkeypatch):
    longest = {"connections.max.reauth.ms": str(int(SESSION_S * 1000))}
    lab = small_lab("sessions", is_secure=True, overrides=longest)
    cluster = lab.cluster("sessions")
    where = TopicPartition(new_topic(cluster), 0)
    monkeypatch.setenv("CROSSLOG_SECRET_LAB_PASSWORD", USERS["admin"])
    connection = Connection(
        "sessions",
        cluster.plan.bootstrap_servers("SASL_PLAINTEXT"),
        SecurityProtocol.SASL_PLAINTEXT,
        SaslMechanism("SCRAM-SHA-256"),
        "admin",
        SecretRef("env", "CROSSLOG_SECRET_LAB_PASSWORD"),
    )
    async with opened(connection) as door:
        await fetch_at(door, where)
        used = {await door.connection_to(1, FETCH)}

        # Every Fetch waits for data; none of them is refused while sessions come and go.
        while len(used) < 4:
            with Stalls() as stalls:
                is_lost = await is_fetch_lost(door, where)
            # A request has this long to arrive: it was later, on a machine that stalls.
            assert not is_lost or stalls.wall_s > LEFT_S
            used.add(await door.connection_to(1, FETCH))
        await eventually_async(lambda: sum(not one.is_closed for one in used) == 1, 20)


async def is_fetch_lost(door, where) -> bool:
    """Read once; returns whether the connection ended before there was an answer."""
    try:
        assert (await fetch_once(door, where)).error is None
    except ConnectionLost:
        return True
    return False
