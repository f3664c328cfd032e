"""Connections: typed fields from an allow-list, secrets by reference, every problem at its field."""

import pytest

from jobs.cluster.connection import Connection, SaslMechanism, SecurityProtocol
from jobs.cluster.errors import InvalidFields, SecretMissing

PLAIN = {"alias": "east", "bootstrap_servers": "127.0.0.1:9092"}
SASL = PLAIN | {
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_username": "crosslog",
    "sasl_password": "env:CROSSLOG_SECRET_EAST",
    "ssl_ca": "file:east/ca.pem",
}


def errors_of(values):
    with pytest.raises(InvalidFields) as caught:
        Connection.from_mapping(values)
    return caught.value.errors


def test_a_plaintext_connection_needs_an_alias_and_servers_only():
    connection = Connection.from_mapping(PLAIN)
    assert connection.security_protocol is SecurityProtocol.PLAINTEXT
    assert connection.client_config() == {
        "bootstrap.servers": "127.0.0.1:9092",
        "security.protocol": "PLAINTEXT",
    }


def test_spaces_around_servers_are_forgiven():
    values = PLAIN | {"bootstrap_servers": " a:1 , b:2,"}
    assert Connection.from_mapping(values).bootstrap_servers == "a:1,b:2"


def test_mapping_and_back_gives_the_same_connection():
    connection = Connection.from_mapping(SASL)
    assert Connection.from_mapping(connection.to_mapping()) == connection
    assert connection.sasl_mechanism is SaslMechanism.SCRAM_SHA_512


def test_secrets_are_resolved_only_when_a_client_is_configured(monkeypatch, tmp_path):
    monkeypatch.setenv("CROSSLOG_SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("CROSSLOG_SECRET_EAST", "hunter2")
    (tmp_path / "east").mkdir()
    (tmp_path / "east" / "ca.pem").write_text("PEM\n")
    connection = Connection.from_mapping(SASL)
    assert "hunter2" not in repr(connection) + str(connection.to_mapping())
    config = connection.client_config()
    assert (config["sasl.password"], config["ssl.ca.pem"]) == ("hunter2", "PEM")


def test_a_reference_to_nothing_names_the_field_and_the_reference(monkeypatch):
    monkeypatch.delenv("CROSSLOG_SECRET_EAST", raising=False)
    with pytest.raises(
        SecretMissing, match="sasl_password: environment variable CROSSLOG_SECRET_EAST"
    ):
        Connection.from_mapping(SASL).client_config()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"alias": "us.west"}, "alias", id="dot in the alias"),
        pytest.param({"alias": ""}, "alias", id="no alias"),
        pytest.param({"alias": "a\nb"}, "alias", id="two lines"),
        pytest.param({"alias": 5}, "alias", id="a number for a text"),
        pytest.param({"bootstrap_servers": ""}, "bootstrap_servers", id="no servers"),
        pytest.param({"bootstrap_servers": "host"}, "bootstrap_servers", id="no port"),
        pytest.param({"bootstrap_servers": "host:0"}, "bootstrap_servers", id="port 0"),
        pytest.param({"bootstrap_servers": "host:65536"}, "bootstrap_servers", id="port too large"),
        pytest.param({"bootstrap_servers": "http://h:1"}, "bootstrap_servers", id="a URL"),
        pytest.param({"security_protocol": "TLS"}, "security_protocol", id="unknown protocol"),
        pytest.param({"sasl_mechanism": "GSSAPI"}, "sasl_mechanism", id="unknown mechanism"),
        pytest.param(
            {"security_protocol": "SASL_PLAINTEXT"}, "sasl_username", id="SASL without a user"
        ),
        pytest.param(
            {"sasl_password": "hunter2"}, "sasl_password", id="a secret instead of a reference"
        ),
        pytest.param(
            {"sasl_password": "env:SECRET_KEY"}, "sasl_password", id="a variable without the prefix"
        ),
        pytest.param({"ssl_ca": "/etc/ca.pem"}, "ssl_ca", id="a path as free text"),
        pytest.param({"ssl_ca": "file:/etc/passwd"}, "ssl_ca", id="an absolute path"),
        pytest.param({"ssl_ca": "file:../x"}, "ssl_ca", id="a path that climbs"),
        pytest.param(
            {"ssl_certificate": "file:c.pem"}, "ssl_key", id="certificate without its key"
        ),
        pytest.param({"ssl_check_hostname": "no"}, "ssl_check_hostname", id="a text for a flag"),
        pytest.param({"sasl.jaas.config": "x"}, "sasl.jaas.config", id="free client configuration"),
        pytest.param({"interceptor.classes": "x"}, "interceptor.classes", id="a class name"),
    ],
)
def test_bad_input_is_named_at_its_field(change, field):
    assert field in errors_of(PLAIN | change)


@pytest.mark.parametrize(
    ("setting", "instead"),
    [
        pytest.param("ssl.ca.location", "ssl_ca", id="a file for librdkafka"),
        pytest.param("ssl_ca_location", "ssl_ca", id="with underscores"),
        pytest.param("ssl.truststore.location", "ssl_ca", id="a store for Java"),
        pytest.param("ssl.key.password", "ssl_key_password", id="the password of a key"),
        pytest.param("sasl.jaas.config", "sasl_username", id="a line for JAAS"),
        pytest.param(
            "enable.ssl.certificate.verification", "ssl_check_hostname", id="verification"
        ),
    ],
)
def test_a_setting_of_another_client_is_refused_with_the_one_to_use(setting, instead):
    assert f"Use {instead}" in errors_of(PLAIN | {setting: "x"})[setting]


TOKENS = SASL | {
    "sasl_mechanism": "OAUTHBEARER",
    "sasl_oauthbearer_token_url": "https://login.example/token",
    "sasl_oauthbearer_scope": "kafka",
}


def test_oauthbearer_sends_client_id_and_secret_to_its_token_endpoint(monkeypatch, tmp_path):
    monkeypatch.setenv("CROSSLOG_SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("CROSSLOG_SECRET_EAST", "hunter2")
    (tmp_path / "east").mkdir()
    (tmp_path / "east" / "ca.pem").write_text("PEM\n")
    config = Connection.from_mapping(TOKENS).client_config()
    told = {key: value for key, value in config.items() if key.startswith("sasl.oauthbearer")}
    assert told == {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "crosslog",
        "sasl.oauthbearer.client.secret": "hunter2",
        "sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
        "sasl.oauthbearer.scope": "kafka",
    }


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("", id="none"),
        pytest.param("login.example/token", id="without https"),
        pytest.param("http://login.example/token", id="not encrypted"),
        pytest.param("https://ada:pw@login.example/token", id="with a user"),
        pytest.param("https://[x/token", id="no address"),
        pytest.param("ftp://login.example/token", id="another protocol"),
        pytest.param("https://169.254.169.254/token", id="where clouds hand out credentials"),
        pytest.param("https://[::ffff:168.63.129.16]/token", id="the same, as IPv6"),
    ],
)
def test_a_token_endpoint_that_would_show_the_secret_is_refused(url):
    found = errors_of(TOKENS | {"sasl_oauthbearer_token_url": url})
    assert set(found) == {"sasl_oauthbearer_token_url"}


def test_a_token_endpoint_on_this_machine_may_do_without_tls():
    url = "http://127.0.0.1:8080/token"
    assert Connection.from_mapping(TOKENS | {"sasl_oauthbearer_token_url": url})


def test_a_password_for_no_key_is_refused():
    assert set(errors_of(PLAIN | {"ssl_key_password": "env:CROSSLOG_SECRET_X"})) == {
        "ssl_key_password"
    }


def test_all_bad_fields_are_named_at_once():
    found = errors_of({"alias": ".", "bootstrap_servers": "x", "ssl_ca": "x"})
    assert set(found) == {"alias", "bootstrap_servers", "ssl_ca"}


def test_a_link_in_the_secrets_folder_cannot_lead_out_of_it(monkeypatch, tmp_path):
    folder = tmp_path / "secrets"
    folder.mkdir()
    (tmp_path / "outside").write_text("x")
    (folder / "ca.pem").symlink_to(tmp_path / "outside")
    monkeypatch.setenv("CROSSLOG_SECRETS_DIR", str(folder))
    values = PLAIN | {"security_protocol": "SSL", "ssl_ca": "file:ca.pem"}
    with pytest.raises(SecretMissing, match="leads out"):
        Connection.from_mapping(values).client_config()
