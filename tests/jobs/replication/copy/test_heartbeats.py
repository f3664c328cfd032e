"""Which clients send heartbeats while secrets of the clusters change."""

import pytest

from jobs.cluster.connection import Connection, SaslMechanism, SecurityProtocol
from jobs.cluster.secrets import SecretRef
from jobs.replication.copy.heartbeats import Heartbeats
from jobs.replication.flow.spec import FlowSpec


class Client:
    """The door to a cluster that remembers the passwords of the producers it made."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.passwords: list[str] = []

    def producer(self, _settings):
        self.passwords.append(self.connection.client_config().get("sasl.password", ""))
        return object()


@pytest.fixture
def target(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_X", "hunter1")
    return Client(
        Connection(
            "west",
            "127.0.0.1:2",
            SecurityProtocol.SASL_PLAINTEXT,
            sasl_mechanism=SaslMechanism.PLAIN,
            sasl_username="ada",
            sasl_password=SecretRef("env", "CROSSLOG_SECRET_X"),
        )
    )


@pytest.fixture
def heartbeats(target):
    source = Client(Connection("east", "127.0.0.1:1"))
    return Heartbeats(FlowSpec("f", source.connection, target.connection), source, target)


def test_heartbeats_are_sent_with_a_secret_that_was_replaced(heartbeats, target, monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_X", "hunter2")
    heartbeats.renew()
    assert target.passwords == ["hunter1", "hunter2"]


def test_clients_are_kept_while_their_secrets_are_the_same(heartbeats, target):
    heartbeats.renew()
    assert target.passwords == ["hunter1"]


def test_a_secret_that_is_missing_for_a_while_does_not_end_heartbeats(
    heartbeats, target, monkeypatch
):
    monkeypatch.delenv("CROSSLOG_SECRET_X")
    heartbeats.renew()
    monkeypatch.setenv("CROSSLOG_SECRET_X", "hunter2")
    heartbeats.renew()
    assert target.passwords == ["hunter1", "hunter2"]
