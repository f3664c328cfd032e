"""What reaches a Kafka client is a short list of typed fields, wherever it comes from.

CVE-2023-25194 (`sasl.jaas.config`) and CVE-2025-27817 (token URLs) were free client settings.
"""

import pytest

from console.clusters.models import Cluster
from console.replication.flows.models import ReplicationFlow
from jobs.cluster.connection import Connection
from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.file import read_flow_file
from tests.console.making import make_cluster
from tests.console.safety.world import make_person

UNKNOWN = {
    "sasl.jaas.config": "com.sun.security.auth.module.JndiLoginModule required;",
    "sasl_jaas_config": "com.sun.security.auth.module.JndiLoginModule required;",
    "sasl.login.class": "evil.Login",
    "sasl.client.callback.handler.class": "evil.Handler",
    "interceptor.classes": "evil.Interceptor",
    "metric.reporters": "evil.Reporter",
    "ssl.engine.factory.class": "evil.Factory",
    "key.serializer": "evil.Serializer",
    "plugin." + "library.paths": "/tmp/evil.so",
    "ssl.ca.location": "/etc/passwd",
    "ssl.keystore.location": "/etc/passwd",
    "sasl.oauthbearer.token.endpoint.url": "file:///etc/passwd",
    "sasl.oauthbearer.jwks.endpoint.url": "http://169.254.169.254/",
    "sasl.kerberos.kinit.cmd": "touch /tmp/evil",
    "debug": "all",
    "client_config": {"a": "b"},
    "__class__": "x",
}
BAD_VALUES = {
    "sasl_mechanism": ["GSSAPI", "OAUTHBEARER", "evil.Mechanism", "PLAIN\nsasl.jaas.config=x"],
    "security_protocol": ["TLS", "evil.Protocol"],
    "sasl_password": ["hunter2", "/etc/passwd", "file:/etc/passwd", "file:../../etc/passwd", "env:PATH",
                      "env:SECRET_KEY", "file:///etc/passwd", "http://169.254.169.254/"],
    "ssl_ca": ["/etc/ssl/certs/ca.pem", "file:../x", "-----BEGIN CERTIFICATE-----"],
    "ssl_key": ["/etc/passwd", "env:HOME"],
    "bootstrap_servers": ["east:9092\nsasl.jaas.config=x", "", "east", "http://east:9092/", "east:0"],
    "sasl_username": ["a\nb"],
}  # fmt: skip
BAD = [(name, value) for name, values in BAD_VALUES.items() for value in values]
GOOD = {
    "bootstrap_servers": "east.example:9092",
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": "PLAIN",
    "sasl_username": "crosslog",
    "sasl_password": "env:CROSSLOG_SECRET_EAST",
}


@pytest.fixture
def ada(client, db):
    client.force_login(make_person("ada", "admin"))


def send(client, method, path, body):
    return getattr(client, method)(f"/api/v1/{path}", body, content_type="application/json")


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize(
    ("method", "path"),
    [("post", "clusters/"), ("patch", "clusters/west/"), ("post", "clusters/check/")],
)
def test_the_clusters_route_refuses_unknown_settings(client, ada, name, method, path):
    make_cluster("west")
    body = GOOD | {name: UNKNOWN[name]} | ({} if method == "patch" else {"alias": "east"})
    if path != "clusters/check/":
        body["save_unchecked"] = True
    answer = send(client, method, path, body)
    assert answer.status_code == 400
    assert name in answer.json()["fields"]
    assert not Cluster.objects.filter(alias="east").exists()


@pytest.mark.parametrize(("name", "value"), BAD)
def test_the_clusters_route_refuses_bad_values(client, ada, name, value):
    body = GOOD | {"alias": "east", "save_unchecked": True, name: value}
    answer = send(client, "post", "clusters/", body)
    assert answer.status_code == 400, answer.json()
    assert not Cluster.objects.exists()


@pytest.mark.parametrize("name", UNKNOWN)
def test_the_form_ignores_unknown_settings(client, ada, name):
    form = GOOD | {"alias": "east", "save_unchecked": "on", name: str(UNKNOWN[name])}
    client.post("/clusters/new/", form)
    kept = Cluster.objects.filter(alias="east").values().first() or {}
    assert str(UNKNOWN[name]) not in {str(value) for value in kept.values()} - {"all"}


@pytest.mark.parametrize(("name", "value"), BAD)
def test_the_form_refuses_bad_values(client, ada, name, value):
    client.post("/clusters/new/", GOOD | {"alias": "east", "save_unchecked": "on", name: value})
    assert not Cluster.objects.exists()


@pytest.mark.parametrize("name", UNKNOWN)
def test_the_flows_route_refuses_unknown_settings(client, ada, name):
    make_cluster("east"), make_cluster("west")
    body = {"name": "f", "source": "east", "target": "west", "topics": ["a"], name: UNKNOWN[name]}
    for path in ("flows/", "flows/preview/"):
        answer = send(client, "post", path, body)
        assert (answer.status_code, name in answer.json()["fields"]) == (400, True)
    assert not ReplicationFlow.objects.exists()


@pytest.mark.parametrize("side", ["source", "target"])
def test_the_flows_route_takes_aliases_and_no_connections(client, ada, side):
    make_cluster("east"), make_cluster("west")
    body = {"name": "f", "source": "east", "target": "west", "topics": ["a"]}
    answer = send(client, "post", "flows/", body | {side: {"alias": "x", **GOOD}})
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [side])


def flow_yaml(**more) -> str:
    import json

    sides = {
        side: {"alias": side, "bootstrap_servers": f"{side}:9092"} for side in ("source", "target")
    }
    document = {"name": "f", "topics": ["a"], **sides}
    for where, values in more.items():
        (document if where == "flow" else document[where]).update(values)
    return json.dumps(document)  # JSON is YAML


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("where", ["flow", "source", "target"])
def test_a_flow_file_refuses_unknown_settings(tmp_path, name, where):
    path = tmp_path / "flow.yaml"
    path.write_text(flow_yaml(**{where: {name: UNKNOWN[name]}}))
    with pytest.raises(InvalidFields):
        read_flow_file(path)


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_flow_file_refuses_bad_values(tmp_path, name, value):
    path = tmp_path / "flow.yaml"
    path.write_text(flow_yaml(source=GOOD | {name: value}))
    with pytest.raises(InvalidFields):
        read_flow_file(path)


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system ['touch /tmp/evil']",
        "name: !!python/name:os.system",
        "source: !!python/object/new:subprocess.Popen [['id']]",
    ],
)
def test_a_flow_file_makes_no_objects(tmp_path, text):
    path = tmp_path / "flow.yaml"
    path.write_text(text)
    with pytest.raises(InvalidFields):
        read_flow_file(path)


def test_what_reaches_the_client_library_is_a_known_list(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_EAST", "x")
    connection = Connection.from_mapping({"alias": "east", **GOOD})
    known = set(connection.to_mapping())
    assert known <= {
        "alias", "bootstrap_servers", "security_protocol", "sasl_mechanism", "sasl_username",
        "sasl_password", "ssl_ca", "ssl_certificate", "ssl_key", "ssl_check_hostname", "cluster_id",
    }  # fmt: skip
