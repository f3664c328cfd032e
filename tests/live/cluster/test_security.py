"""OAUTHBEARER and encrypted client keys on a real broker, for requests, whole batches and single records."""

from dataclasses import replace

import pytest

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.admin.topics import NewTopicSpec, create_topics, describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection, SaslMechanism, SecurityProtocol
from jobs.cluster.errors import AuthenticationFailed, ClusterFault
from jobs.cluster.secrets import SecretRef
from tests.jobs.cluster.protocol.certificates import Authority
from tests.live.topics import wait_until_known
from tests.token_server import CLIENT, SECRET, token_server, unsigned
from tests.waiting import PATIENCE, eventually

TIMEOUT_S = 30 * PATIENCE


@pytest.fixture
def cluster(small_lab, tmp_path):
    """A broker that takes tokens at SASL_PLAINTEXT, and wants a client certificate at SSL."""
    authority = Authority()
    trusted = tmp_path / "client-ca.pem"
    trusted.write_text(authority.pem)
    overrides = {
        "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            'unsecuredLoginStringClaim_sub="broker";'
        ),
        "listener.name.sasl_plaintext.oauthbearer.connections.max.reauth.ms": "60000",
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.name.ssl.ssl.truststore.type": "PEM",
        "listener.name.ssl.ssl.truststore.location": str(trusted),
        "super.users": f"User:ANONYMOUS;User:admin;User:{CLIENT};User:CN=somebody",
    }
    found = small_lab("tokens", is_secure=True, overrides=overrides).cluster("tokens")
    found.authority = authority
    return found


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_CLIENT", SECRET)
    with token_server() as started:
        yield started


def with_tokens(cluster, server) -> Connection:
    return Connection(
        "tokens",
        cluster.plan.bootstrap_servers("SASL_PLAINTEXT"),
        SecurityProtocol.SASL_PLAINTEXT,
        SaslMechanism.OAUTHBEARER,
        CLIENT,
        SecretRef("env", "CROSSLOG_SECRET_CLIENT"),
        sasl_oauthbearer_token_url=server.url,
    )


def test_a_token_opens_the_cluster_for_requests_and_for_records(cluster, server):
    connection = with_tokens(cluster, server)
    with ClusterClient(connection, timeout_s=TIMEOUT_S) as client:
        assert "CREATE" in describe_cluster(client).authorized_operations
        assert create_topics(client, {"orders": NewTopicSpec(1)}) == {"orders": None}
        wait_until_known(connection, "orders", 1)
        assert len(server.asked) <= 3  # that of this client, and those of the wait
        producer = client.producer({})
        producer.produce("orders", b"value")
        assert producer.flush(TIMEOUT_S) == 0
        consumer = client.consumer({"group.id": "shop", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        eventually(lambda: (found := consumer.poll(0.5)) and found.value() == b"value", 60)
        consumer.close()


def test_a_token_that_the_broker_refuses_is_named(cluster, server):
    server.answer = (
        200,
        {},
        b'{"access_token": "%s", "expires_in": 60}' % unsigned(CLIENT, -600).encode(),
    )
    client = ClusterClient(with_tokens(cluster, server), timeout_s=TIMEOUT_S)
    with client, pytest.raises(AuthenticationFailed, match="token"):
        describe_cluster(client)


def test_an_encrypted_key_opens_a_listener_that_wants_a_certificate(cluster, monkeypatch):
    certificate, key = cluster.authority.client(b"opensesame")
    ca = (cluster.folder / "certificates" / "ca.pem").read_text(encoding="utf-8")
    texts = {"CERT": certificate, "KEY": key, "KEY_PASSWORD": "opensesame", "CA": ca}
    for name, text in texts.items():
        monkeypatch.setenv(f"CROSSLOG_SECRET_{name}", text)
    bare = Connection(
        "tokens",
        cluster.plan.bootstrap_servers("SSL"),
        SecurityProtocol.SSL,
        ssl_ca=SecretRef("env", "CROSSLOG_SECRET_CA"),
    )
    with ClusterClient(bare, timeout_s=TIMEOUT_S) as client, pytest.raises(ClusterFault):
        describe_cluster(client)
    presenting = replace(
        bare,
        ssl_certificate=SecretRef("env", "CROSSLOG_SECRET_CERT"),
        ssl_key=SecretRef("env", "CROSSLOG_SECRET_KEY"),
        ssl_key_password=SecretRef("env", "CROSSLOG_SECRET_KEY_PASSWORD"),
    )
    with ClusterClient(presenting, timeout_s=TIMEOUT_S) as client:
        assert create_topics(client, {"secret": NewTopicSpec(1)}) == {"secret": None}
        eventually(lambda: describe_topics(client, ["secret"])[0].error is None, 30)
        producer = client.producer({})
        producer.produce("secret", b"value")
        assert producer.flush(TIMEOUT_S) == 0
