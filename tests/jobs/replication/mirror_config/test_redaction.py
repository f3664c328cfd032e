"""Secrets are taken out before anything else sees them."""

import json

import pytest

from jobs.replication.mirror_config.lint.rules import lint
from jobs.replication.mirror_config.redaction import REDACTED, redact
from jobs.replication.mirror_config.report import report
from tests.jobs.replication.mirror_config.making import TWO, properties, read

JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="ann"'


@pytest.mark.parametrize(
    "key",
    [
        "ssl.keystore.password",
        "A.ssl.key.password",
        "ssl.keystore.key",
        "sasl.jaas.config",
        "A->B.producer.override.sasl.jaas.config",
        "sasl.oauthbearer.client.credentials.client.secret",
        "config.providers.vault.param.token",
        "transforms.x.api.key",
        "producer.basic.auth.user.info",
        "listeners.https.ssl.truststore.password",
    ],
)
def test_a_secret_is_known_by_its_name(key):
    assert redact(key, "hunter2") == (REDACTED, True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("topics", "secret-orders", id="a topic's name is none"),
        pytest.param(
            "sasl.oauthbearer.token.endpoint.url", "https://idp/token", id="an address is none"
        ),
        pytest.param("ssl.keystore.location", "/etc/ks.jks", id="a path is none"),
        pytest.param("sasl.jaas.config", "${file:/a:b}", id="a reference is none"),
        pytest.param("sasl.jaas.config", f'{JAAS} password="${{env::PW}}";', id="one inside JAAS"),
        pytest.param("ssl.key.password", "", id="an empty one is none"),
    ],
)
def test_what_is_no_secret_is_shown(key, value):
    assert redact(key, value) == (value, False)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("whatever", "-----BEGIN PRIVATE KEY-----\nabc", id="a key in PEM"),
        pytest.param("whatever", f'{JAAS} password="hunter2";', id="JAAS under another name"),
        pytest.param("url", "https://ann:hunter2@example.org", id="in an address"),
        pytest.param("sasl.jaas.config", "${file:/a:b} hunter2", id="beside a reference"),
        pytest.param("sasl.jaas.config", f'{JAAS} password="hunter2"; hunter2', id="broken JAAS"),
    ],
)
def test_a_secret_is_known_by_its_look(key, value):
    shown, is_secret = redact(key, value)
    assert is_secret
    assert "hunter2" not in shown
    assert "abc" not in shown


def test_of_a_login_the_user_stays():
    shown, _ = redact("sasl.jaas.config", f'{JAAS} password="hunter2";')
    assert shown == f'{JAAS} password="{REDACTED}";'


def test_nothing_that_is_told_of_a_configuration_holds_a_secret():
    secrets = {
        "A.sasl.jaas.config": f'{JAAS} password="hunter2";',
        "B.ssl.key.password": "hunter2",
        "A->B.enabled": "hunter2 password=hunter2",
        "hunter2.password": "x",
    }
    config = read(properties(TWO | secrets | {"ssl.truststore.password": "hunter2"}))
    told = json.dumps(report(config, lint(config)))
    assert told.replace("hunter2.password", "").count("hunter2") == 0
