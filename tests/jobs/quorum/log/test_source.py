"""The controllers of a cluster have its settings, but for those that are given for them."""

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.quorum.log.source import MetadataSource, read_source_file

SECURE = """
alias: east
bootstrap_servers: b1:9092
security_protocol: SASL_SSL
sasl_mechanism: PLAIN
sasl_username: crosslog
sasl_password: env:CROSSLOG_SECRET_EAST
cluster_id: abc
"""


def read(tmp_path, text) -> MetadataSource:
    path = tmp_path / "connection.yaml"
    path.write_text(text, encoding="utf-8")
    return read_source_file(path)


def test_a_connection_alone_is_enough(tmp_path):
    source = read(tmp_path, SECURE)
    assert (source.connection.alias, source.controllers) == ("east", None)


def test_controllers_inherit_what_is_not_given_for_them(tmp_path):
    source = read(tmp_path, SECURE + "controllers:\n  bootstrap_servers: c1:9093\n")
    assert source.controllers.bootstrap_servers == "c1:9093"
    assert source.controllers.sasl_username == "crosslog"


def test_controllers_with_another_protocol_inherit_no_credentials(tmp_path):
    own = "controllers:\n  bootstrap_servers: c1:9093\n  security_protocol: PLAINTEXT\n"
    source = read(tmp_path, SECURE + own)
    assert (source.controllers.sasl_username, source.controllers.cluster_id) == ("", "abc")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        pytest.param("[", "file", id="no YAML"),
        pytest.param("- a", "file", id="no mapping"),
        pytest.param("alias: east", "bootstrap_servers", id="half a connection"),
        pytest.param(SECURE + "acks: all", "acks", id="an unknown setting"),
        pytest.param(SECURE + "controllers: c1:9093", "controllers", id="no mapping inside"),
        pytest.param(
            SECURE + "controllers:\n  bootstrap_servers: c1\n",
            "controllers.bootstrap_servers",
            id="a controller without a port",
        ),
    ],
)
def test_what_is_wrong_is_named_at_its_field(text, field, tmp_path):
    with pytest.raises(InvalidFields) as told:
        read(tmp_path, text)
    assert field in told.value.errors
