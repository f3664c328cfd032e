"""No secret of the metadata log leaves the decoder."""

import base64

import pytest

from jobs.wire.metadata.records import decode_metadata_record, encode_metadata_record
from jobs.wire.metadata.redaction import REDACTED

SECRET = "correct-horse-battery"


def config(name, value=SECRET):
    data = {"resourceType": 4, "resourceName": "1", "name": name, "value": value}
    return decode_metadata_record(encode_metadata_record("CONFIG_RECORD", 0, data)).data["value"]


@pytest.mark.parametrize(
    "name",
    [
        "ssl.keystore.password",
        "listener.name.external.ssl.key.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "ssl.truststore.certificates",
        "sasl.jaas.config",
        "listener.name.x.plain.sasl.jaas.config",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "delegation.token.secret.key",
        "password.encoder.secret",
        "rsm.config.aws.secret.access.key",
        "my.plugin.apiKey",
        "SOME_API_KEY",
    ],
)
def test_configs_that_look_like_secrets_are_redacted(name):
    assert config(name) == REDACTED


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min.insync.replicas", "2"),
        ("ssl.keystore.location", "keys/broker.jks"),
        ("ssl.keystore.type", "PKCS12"),
        ("delegation.token.expiry.time.ms", "86400000"),
        ("sasl.oauthbearer.token.endpoint.url", "https://login.example/token"),
        ("password.encoder.iterations", "4096"),
        ("sasl.enabled.mechanisms", "SCRAM-SHA-512"),
        ("leader.replication.throttled.replicas", "0:1,1:2"),
        ("message.timestamp.type", "CreateTime"),
        ("key.converter.schemas.enable", "false"),
    ],
)
def test_configs_without_a_secret_stay_readable(name, value):
    assert config(name, value) == value


@pytest.mark.parametrize(
    "value",
    [
        f'o.a.k.PlainLoginModule required username="bob" password="{SECRET}";',
        f"jdbc:postgresql://bob:{SECRET}@db.example/x",
        "-----BEGIN RSA PRIVATE KEY-----",
        f'{{"secret": "{SECRET}"}}',
    ],
)
def test_a_value_that_carries_a_secret_is_redacted_whatever_its_name(value):
    assert config("metric.reporters.settings", value) == REDACTED


def test_a_config_that_was_taken_away_stays_null():
    assert config("ssl.key.password", None) is None


def test_scram_credentials_are_read_without_their_material():
    secret = base64.b64encode(SECRET.encode()).decode()
    material = dict.fromkeys(("salt", "storedKey", "serverKey"), secret)
    told = {"name": "bob", "mechanism": 2, "iterations": 8192, **material}
    read = decode_metadata_record(encode_metadata_record("USER_SCRAM_CREDENTIAL_RECORD", 0, told))
    assert read.data == told | dict.fromkeys(material, REDACTED)
    assert secret not in repr(read)


def test_records_of_one_token_can_be_told_to_belong_together_and_no_more():
    made = encode_metadata_record("DELEGATION_TOKEN_RECORD", 0, {"owner": "bob", "tokenId": SECRET})
    gone = encode_metadata_record("REMOVE_DELEGATION_TOKEN_RECORD", 0, {"tokenId": SECRET})
    other = encode_metadata_record("REMOVE_DELEGATION_TOKEN_RECORD", 0, {"tokenId": "another"})
    ids = [decode_metadata_record(value).data["tokenId"] for value in (made, gone, other)]
    assert ids[0] == ids[1] != ids[2]
    assert not any(SECRET in told for told in ids)
