"""Keys are judged where they are written: who reads them there, and which key would be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.mirror_config.catalogue import CLIENTS_OF, CONNECTOR_KEYS, WORKER_KEYS
from jobs.replication.mirror_config.lint.keys import lint_keys
from jobs.replication.mirror_config.lint.rules import UNREAD, lint
from jobs.replication.mirror_config.read.configuration import read_config
from jobs.replication.mirror_config.read.text_input import InputFile
from jobs.replication.mirror_config.values import Finding
from tests.jobs.replication.mirror_config.making import (
    SOURCE,
    TWO,
    connector,
    connectors,
    properties,
    read,
)

ONE = TWO | {"A->B.enabled": "true"}
RESOURCE = """
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaMirrorMaker2
spec:
  connectCluster: west
  clusters:
  - alias: east
    bootstrapServers: east:9092
    config: {EAST}
  - alias: west
    bootstrapServers: west:9092
    config: {WEST}
  mirrors:
  - sourceCluster: east
    targetCluster: west
    sourceConnector:
      config: {CONNECTOR}
"""


def resource(part: str, key: str, value: str = "x") -> InputFile:
    text = RESOURCE
    for one in ("EAST", "WEST", "CONNECTOR"):
        text = text.replace(f"{{{one}}}", f'{{"{key}": "{value}"}}' if one == part else "{}")
    return InputFile("mm.yaml", text.encode())


def of_keys(file: InputFile) -> list[Finding]:
    (deployment,) = read_config([file]).deployments
    return list(lint_keys(deployment))


@pytest.mark.parametrize(
    ("key", "do"),
    [
        pytest.param("A.linger.ms", "A.producer.linger.ms", id="of a cluster"),
        pytest.param("B.retries", "B.producer.retries or B.admin.retries", id="of two clients"),
        pytest.param("A.consumer.batch.size", "A.producer.batch.size", id="of another client"),
        pytest.param("A->B.max.poll.records", "A->B.consumer.max.poll.records", id="of a flow"),
        pytest.param(
            "A->B.acks",
            "B.producer.acks or A->B.producer.override.acks",
            id="a producer's of a flow",
        ),
        pytest.param("max.poll.records", "A.consumer.max.poll.records", id="at the top"),
        pytest.param(
            "source.cluster.max.poll.records",
            "A.consumer.max.poll.records",
            id="a connector's at the top",
        ),
        pytest.param(
            "A->B.target.cluster.batch.size",
            "B.producer.batch.size or A->B.producer.override.batch.size",
            id="a connector's of a flow",
        ),
    ],
)
def test_a_setting_of_clients_is_reported_with_the_key_that_reaches_them(key, do):
    (found,) = of_keys(properties(ONE | {key: "1"}))
    assert (found.code, found.key, found.do) == ("no-client", key, f"Use {do}.")


@pytest.mark.parametrize(
    ("key", "do"),
    [
        pytest.param("max.poll.records", "source.consumer.max.poll.records", id="bare"),
        pytest.param("source.cluster.client.rack", "source.consumer.client.rack", id="source"),
        pytest.param("target.cluster.acks", "producer.override.acks", id="target"),
        pytest.param(
            "source.cluster.request.timeout.ms",
            "source.consumer.request.timeout.ms or source.admin.request.timeout.ms",
            id="of all clients",
        ),
        pytest.param(
            "source.cluster.consumer.fetch.min.bytes",
            "source.consumer.fetch.min.bytes",
            id="a client behind the cluster",
        ),
        pytest.param("source.admin.acks", "producer.override.acks", id="of another client"),
    ],
)
def test_a_setting_of_clients_in_a_connector(key, do):
    (found,) = of_keys(connectors(connector(SOURCE) | {key: "1"}))
    assert (found.code, found.do) == ("no-client", f"Use {do}.")
    (found,) = of_keys(resource("CONNECTOR", key))
    assert (found.code, found.do) == ("no-client", f"Use {do}.")


@pytest.mark.parametrize(
    "key",
    [
        "source.cluster.ssl.truststore.location",
        "target.cluster.sasl.mechanism",
        "source.cluster.security.protocol",
        "source.consumer.max.poll.records",
        "consumer.max.poll.records",
        "producer.override.acks",
        "target.admin.retries",
        "admin.timeout.ms",
        "transforms.x.max.poll.records",
    ],
)
def test_a_key_of_a_connector_that_is_read_is_no_finding(key):
    assert of_keys(connectors(connector(SOURCE) | {key: "1"})) == []
    assert of_keys(properties(ONE | {f"A->B.{key}": "1"})) == []


@pytest.mark.parametrize("key", sorted(WORKER_KEYS - {"bootstrap.servers"}))
def test_every_setting_of_a_worker_is_right_where_the_worker_is(key):
    assert of_keys(resource("WEST", key)) == []
    assert of_keys(properties(ONE | {f"B.{key}": "1"})) == []


@pytest.mark.parametrize(
    ("part", "key", "code", "words"),
    [
        pytest.param(
            "EAST", "offset.storage.topic", "worker-key", "connectCluster", id="no worker"
        ),
        pytest.param(
            "CONNECTOR", "offset.storage.topic", "worker-key", "connectCluster", id="connector"
        ),
        pytest.param(
            "CONNECTOR",
            "exactly.once.source.support",
            "worker-key",
            "connectCluster",
            id="exactly once",
        ),
        pytest.param(
            "EAST",
            "consumer.max.poll.records",
            "no-client",
            "sourceConnector.config",
            id="a client",
        ),
        pytest.param("EAST", "max.poll.records", "no-client", "sourceConnector.config", id="bare"),
        pytest.param(
            "WEST", "batch.size", "no-client", "Use producer.batch.size", id="of the worker"
        ),
        pytest.param(
            "WEST", "sync.topic.acls.enabled", "cluster-key", "connector", id="a connector's"
        ),
    ],
)
def test_a_key_in_the_wrong_part_of_a_resource(part, key, code, words):
    (found,) = of_keys(resource(part, key))
    assert found.code == code
    assert words in found.do


def test_a_setting_of_a_worker_needs_a_cluster_that_is_a_target():
    settings = ONE | {"emit.heartbeats.enabled": "false", "A.offset.storage.topic": "x"}
    assert [f.code for f in of_keys(properties(settings))] == ["worker-key"]
    assert of_keys(properties(settings | {"emit.heartbeats.enabled": "true"})) == []


@pytest.mark.parametrize("key", ["admin.timeout.ms", "consumer.poll.timeout.ms", "plugin.path"])
def test_a_key_at_the_top_that_is_read_is_no_finding(key):
    assert of_keys(properties(ONE | {key: "1000"})) == []


def test_an_address_of_a_cluster_that_is_not_named_is_reported():
    (found,) = of_keys(properties(ONE | {"C.bootstrap.servers": "c:1"}))
    assert (found.code, found.key) == ("unknown-cluster", "C.bootstrap.servers")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({"A->B.source.cluster.bootstrap.servers": "x:1"}, True, id="an address"),
        pytest.param(
            {"A->B.target.cluster.ssl.protocol": "x", "ssl.protocol": "y"}, True, id="security"
        ),
        pytest.param({"A->B.target.cluster.ssl.protocol": "x"}, False, id="what no cluster has"),
    ],
)
def test_a_setting_of_a_flow_that_the_clusters_copies_override_is_reported(settings, expected):
    found = [f for f in lint(read(properties(ONE | settings))) if f.code == "no-client"]
    assert [f.key for f in found] == (list(settings)[:1] if expected else [])


KEYS = st.sampled_from(
    sorted({*CLIENTS_OF, *WORKER_KEYS, *CONNECTOR_KEYS, "x", "alias", "offsets.x"})
)
PLACES = [
    "",
    "A.",
    "B.",
    "A->B.",
    "A.consumer.",
    "B.producer.",
    "source.cluster.",
    "A->B.target.cluster.",
]
SECTIONS = ["", "source.cluster.", "target.cluster.", "source.consumer.", "producer.override."]


@given(KEYS, st.sampled_from(PLACES))
def test_a_line_has_one_finding_about_its_key_at_most(key, place):
    if f"{place}{key}" != "clusters":
        found = of_keys(properties(ONE | {f"{place}{key}": "1"}))
        assert len([f for f in found if f.key == f"{place}{key}"]) <= 1


@given(KEYS, st.sampled_from(SECTIONS), st.sampled_from(["EAST", "WEST", "CONNECTOR"]))
def test_a_line_of_a_resource_has_one_finding_about_its_key_at_most(key, place, part):
    assert len(of_keys(resource(part, f"{place}{key}"))) <= 1


VALUES = st.sampled_from(["", "x", "true ", "0", "-1", "600000", "read_committed ", " _ "])


@given(KEYS, st.sampled_from(PLACES), VALUES)
def test_a_key_that_nothing_reads_has_no_finding_about_its_value(key, place, value):
    if f"{place}{key}" != "clusters":
        file = properties(ONE | {f"{place}{key}": value})
        codes = {f.code for f in lint(read(file)) if f.key == f"{place}{key}"}
        assert not codes & UNREAD or len(codes) == 1


def test_the_worker_that_is_asked_for_exactly_once_is_not_called_misspelled():
    file = resource("WEST", "exactly.once.source.support", "enabled")
    found = [f for f in lint(read(file)) if f.key == "consumer.isolation.level"]
    assert [f.code for f in found] == ["eos-isolation"]
    assert of_keys(file) == []
