"""TLS and credentials come from the typed settings, and never show a secret."""

import ssl

import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.errors import Remedy, SecretMissing, TlsFailed
from jobs.cluster.protocol.transport.security import security_of
from tests.jobs.cluster.protocol.certificates import Authority

TLS = {"alias": "east", "bootstrap_servers": "127.0.0.1:9", "security_protocol": "SSL"}
SASL = {
    "alias": "east",
    "bootstrap_servers": "127.0.0.1:9",
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "SCRAM-SHA-256",
    "sasl_username": "crosslog",
    "sasl_password": "env:CROSSLOG_SECRET_X",
}


def secure(**settings):
    return security_of(Connection.from_mapping(TLS | settings))


def test_a_plaintext_connection_needs_nothing():
    security = security_of(Connection("east", "127.0.0.1:9"))
    assert (security.tls, security.credentials) == (None, None)


def test_the_broker_is_verified_against_the_given_authority(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_X", Authority().pem)
    context = secure(ssl_ca="env:CROSSLOG_SECRET_X").tls
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert len(context.get_ca_certs()) == 1


def test_without_the_name_check_the_certificate_is_still_verified(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_X", Authority().pem)
    context = secure(ssl_ca="env:CROSSLOG_SECRET_X", ssl_check_hostname=False).tls
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert not context.check_hostname


@pytest.mark.parametrize("content", ["", "hunter2-is-no-certificate", "hünter2"])
def test_an_authority_that_is_no_certificate_is_told_without_its_content(monkeypatch, content):
    monkeypatch.setenv("CROSSLOG_SECRET_X", content)
    with pytest.raises(TlsFailed) as caught:
        secure(ssl_ca="env:CROSSLOG_SECRET_X")
    assert (caught.value.field, caught.value.remedy) == ("ssl_ca", Remedy.OPERATOR)
    assert "nter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("encrypted_with", "given"),
    [
        pytest.param(None, None, id="readable"),
        pytest.param(None, "opensesame", id="a password that is not needed"),
        pytest.param(b"opensesame", "opensesame", id="encrypted"),
    ],
)
def test_a_client_certificate_is_presented_with_its_key(monkeypatch, encrypted_with, given):
    assert secure(**client_settings(monkeypatch, encrypted_with, given)).tls is not None


@pytest.mark.parametrize("given", [None, "wrong-word"], ids=["no password", "another password"])
def test_an_encrypted_key_without_its_password_is_named(monkeypatch, given):
    with pytest.raises(TlsFailed) as caught:
        secure(**client_settings(monkeypatch, b"opensesame", given))
    assert caught.value.field == "ssl_certificate"
    assert "ssl_key_password" in caught.value.hint


def client_settings(monkeypatch, encrypted_with: bytes | None, given: str | None) -> dict[str, str]:
    certificate, key = Authority().client(encrypted_with)
    monkeypatch.setenv("CROSSLOG_SECRET_CERT", certificate)
    monkeypatch.setenv("CROSSLOG_SECRET_KEY", key)
    settings = {"ssl_certificate": "env:CROSSLOG_SECRET_CERT", "ssl_key": "env:CROSSLOG_SECRET_KEY"}
    if given is None:
        return settings
    monkeypatch.setenv("CROSSLOG_SECRET_KEY_PASSWORD", given)
    return settings | {"ssl_key_password": "env:CROSSLOG_SECRET_KEY_PASSWORD"}


def test_a_secret_that_is_not_there_is_named(monkeypatch):
    monkeypatch.delenv("CROSSLOG_SECRET_X", raising=False)
    with pytest.raises(SecretMissing):
        security_of(Connection.from_mapping(SASL))


def test_credentials_do_not_show_the_password(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_X", "hunter2")
    security = security_of(Connection.from_mapping(SASL))
    assert security.credentials.password == "hunter2"
    assert "hunter2" not in repr(security)
