"""Every form in which MirrorMaker 2 is configured is read, and anything else is refused with a reason."""

import codecs
import contextlib
import json
import random

import pytest

from jobs.replication.mirror_config.export.forms import FORMS, ExportForm, export
from jobs.replication.mirror_config.lint.rules import lint
from jobs.replication.mirror_config.naming import naming_of
from jobs.replication.mirror_config.read.configuration import read_config
from jobs.replication.mirror_config.read.text_input import MOST_BYTES, BadInput, InputFile
from jobs.replication.mirror_config.report import names_of, report
from jobs.replication.mirror_config.values import ConnectorClass, Form
from tests.jobs.replication.mirror_config.making import (
    CHECKPOINT,
    SOURCE,
    TWO,
    connector,
    flow_of,
    properties,
)
from tests.jobs.wire.mutations import TEXT_EDGES, damaged

OLD = """
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaMirrorMaker2
metadata: {name: mine}
spec:
  connectCluster: west
  clusters:
  - alias: east
    bootstrapServers: east:9093
    tls: {trustedCertificates: [{secretName: ca, certificate: ca.crt}]}
    authentication:
      type: scram-sha-512
      username: ann
      passwordSecret: {secretName: ann, password: password}
  - alias: west
    bootstrapServers: west:9092
    config: {offset.storage.replication.factor: -1, group.id: mine}
  mirrors:
  - sourceCluster: east
    targetCluster: west
    topicsPattern: "orders|clicks"
    groupsPattern: "g.*"
    topicsBlacklistPattern: "x.*"
    sourceConnector:
      tasksMax: 3
      config: {replication.factor: -1, sync.topic.acls.enabled: "false"}
    checkpointConnector:
      config: {sync.group.offsets.enabled: true}
    heartbeatConnector: {}
"""
NEW = """
apiVersion: kafka.strimzi.io/v1
kind: KafkaMirrorMaker2
metadata: {name: mine}
spec:
  target:
    alias: west
    bootstrapServers: west:9092
    groupId: mine
    configStorageTopic: c
    offsetStorageTopic: o
    statusStorageTopic: s
  mirrors:
  - source: {alias: east, bootstrapServers: "east:9092"}
    topicsPattern: orders
    sourceConnector: {config: {replication.policy.class: CLASS}}
"""
PROPERTIES = """
clusters = east, west
east.bootstrap.servers = east:9092
west.bootstrap.servers = west:9092
east->west.enabled = true
east->west.topics = orders, pay.{1,3}
replication.factor = 3
refresh.topics.interval.seconds = 600
west.ssl.truststore.password = x\\u0041
"""
WHOLE = [
    PROPERTIES.encode(),
    json.dumps(connector(SOURCE, topics="a,b{2,}")).encode(),
    OLD.encode(),
]
STRIMZIS_CLASS = "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy"


def only_flow(content: str | bytes):
    raw = content.encode() if isinstance(content, str) else content
    (flow,) = read_config([InputFile("file", raw)]).flows
    return flow


def test_a_strimzi_resource_with_clusters():
    flow = only_flow(OLD)
    source, checkpoint = flow.first(SOURCE), flow.first(CHECKPOINT)
    assert (flow.name, flow.form, flow.is_enabled) == ("east->west", Form.STRIMZI, True)
    assert flow.has_heartbeats
    assert source.name == "east->west.MirrorSourceConnector"
    assert {k: source.get(k) for k in ("topics", "topics.exclude", "groups", "tasks.max")} == {
        "topics": "orders|clicks",
        "topics.exclude": "x.*",
        "groups": "g.*",
        "tasks.max": "3",
    }
    assert source.get("source.cluster.security.protocol") == "SASL_SSL"
    assert source.get("source.cluster.sasl.mechanism") == "SCRAM-SHA-512"
    assert "${secret:ann:password}" in source.get("source.cluster.sasl.jaas.config")
    assert source.get("target.cluster.security.protocol") == "PLAINTEXT"
    assert source.config["replication.factor"].entry.line == 26
    assert checkpoint.is_true("sync.group.offsets.enabled")


def test_the_worker_of_a_strimzi_resource_has_strimzis_names():
    worker = only_flow(OLD).worker
    assert worker["group.id"].value == "mine"
    assert worker["offset.storage.topic"].value == "mirrormaker2-cluster-offsets"


def test_a_strimzi_resource_with_a_target():
    flow = only_flow(NEW.replace("CLASS", STRIMZIS_CLASS))
    assert flow.name == "east->west"
    assert [
        flow.worker[f"{what}.storage.topic"].value for what in ("config", "offset", "status")
    ] == [
        "c",
        "o",
        "s",
    ]
    assert naming_of(flow.connectors[0]).is_identity


def test_other_kinds_in_a_file_are_passed_by():
    assert only_flow(f"kind: Kafka\nspec: {{}}\n---\n{OLD}").name == "east->west"


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda c: {"name": "x", "config": c}, id="one connector"),
        pytest.param(lambda c: c, id="its configuration alone"),
        pytest.param(lambda c: [{"name": "x", "config": c}], id="a list"),
        pytest.param(
            lambda c: {"x": {"info": {"name": "x", "config": c, "tasks": []}}}, id="expand=info"
        ),
        pytest.param(
            lambda c: {"x": {"status": {}, "info": {"name": "x", "config": c, "type": "source"}}},
            id="expand=info and status",
        ),
    ],
)
def test_connectors_in_every_shape_of_connect(wrap):
    flow = only_flow(json.dumps(wrap(connector(SOURCE, tasks__max="4"))))
    assert (flow.name, flow.form, flow.is_enabled) == ("A->B", Form.CONNECT, True)
    assert flow.first(SOURCE).get("tasks.max") == "4"
    assert flow.worker is None


def test_a_connector_in_properties_for_a_standalone_worker():
    content = "\n".join(f"{key} = {value}" for key, value in connector(SOURCE).items())
    assert only_flow(f"name = mine\n{content}").first(SOURCE).name == "mine"


def test_values_of_json_become_text_as_connect_makes_it():
    values = {**connector(SOURCE), "tasks.max": 3, "refresh.topics.enabled": False, "groups": None}
    source = only_flow(json.dumps(values)).first(SOURCE)
    assert (source.get("tasks.max"), source.get("refresh.topics.enabled")) == ("3", "false")
    assert source.config["groups"].entry is None if "groups" in source.config else True


def test_a_disabled_connector_copies_nothing():
    assert not only_flow(json.dumps(connector(SOURCE, enabled="false"))).is_enabled


def test_other_connectors_are_left_out_and_told():
    config = read_config(
        [
            InputFile(
                "c.json", json.dumps([connector(SOURCE), {"connector.class": "x.Sink"}]).encode()
            )
        ]
    )
    assert len(config.flows) == 1
    assert [f.code for f in config.findings] == ["other-connector"]


def test_an_old_name_counts_where_the_new_one_is_missing():
    source = flow_of(TWO | {"topics.blacklist": "x"}).first(SOURCE)
    assert source.config["topics.exclude"].value == "x"
    assert source.config["topics.exclude"].provenance == "topics.blacklist"
    both = flow_of(TWO | {"topics.blacklist": "x", "A->B.topics.exclude": "y"}).first(SOURCE)
    assert both.get("topics.exclude") == "y"


def test_security_at_the_top_is_for_every_cluster_that_says_nothing_else():
    settings = TWO | {"security.protocol": "SSL", "A.security.protocol": "PLAINTEXT"}
    source = flow_of(settings).first(SOURCE)
    assert source.get("source.cluster.security.protocol") == "PLAINTEXT"
    assert source.get("source.consumer.security.protocol") == "PLAINTEXT"
    assert source.get("target.cluster.security.protocol") == "SSL"
    assert source.get("target.producer.security.protocol") == "SSL"
    assert flow_of(settings).worker["security.protocol"].value == "SSL"


def test_the_topics_of_a_flow_are_named():
    assert names_of(flow_of(TWO | {"replication.policy.separator": "_"})) == {
        "remote_topic_of_orders": "A_orders",
        "offset_syncs": "mm2-offset-syncs_B_internal",
        "offset_syncs_on": "A",
        "checkpoints": "A_checkpoints_internal",
        "heartbeats": "heartbeats",
    }


def test_the_graph_tells_copies_from_heartbeats():
    config = read_config([properties(TWO | {"A->B.enabled": "true"})])
    assert report(config, [])["topology"] == {
        "clusters": ["A", "B"],
        "flows": [
            {"source": "A", "target": "B", "copies": True, "heartbeats": True},
            {"source": "B", "target": "A", "copies": False, "heartbeats": True},
        ],
    }


MANY = ", ".join(f"c{number}" for number in range(40))


def test_of_many_clusters_only_the_enabled_flows_are_worked_out():
    config = read_config([properties({"clusters": MANY, "c1->c2.enabled": "true"})])
    assert [flow.name for flow in config.flows] == ["c1->c2"]
    assert len(config.deployments[0].pairs) == 40 * 39


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "empty", id="nothing"),
        pytest.param(b" \n ", "empty", id="blanks"),
        pytest.param(b"\x00\x01\x02garbage", "not a text file", id="bytes"),
        pytest.param(codecs.BOM_UTF16_LE + "clusters=a".encode("utf-16-le"), "UTF-16", id="UTF-16"),
        pytest.param(b"x" * (MOST_BYTES + 1), "larger than", id="too large"),
        pytest.param(b"hello world", "clusters", id="words"),
        pytest.param(b"clusters = A\nx = \\uXX", "hexadecimal", id="a bad escape"),
        pytest.param(b'{"a": ', "ends too early", id="half JSON"),
        pytest.param(b'{"a": "\xff"}', "not UTF-8", id="JSON in another encoding"),
        pytest.param(b"[" * 100_000, "nested too deeply", id="deep JSON"),
        pytest.param(b"[1]", "A connector is", id="JSON of something else"),
        pytest.param(b'{"x": {"y": 1}}', "A connector is", id="objects of something else"),
        pytest.param(b'{"connector.class": "x.Sink"}', "None of its 1 connectors", id="no mirror"),
        pytest.param(b'{"name": "x", "name": "y"}', "twice", id="a JSON key twice"),
        pytest.param(b'{"connector.class": {"a": 1}}', "one value", id="a setting with levels"),
        pytest.param(b"apiVersion: v1\nkind: Pod\n", "KafkaMirrorMaker2", id="another resource"),
        pytest.param(
            b"apiVersion: v1\nkind: KafkaMirrorMaker2\nspec: 1\n", "spec.mirrors", id="no spec"
        ),
        pytest.param(b"apiVersion: v1\n  x: [\n", "Line", id="broken YAML"),
        pytest.param(b"apiVersion: &a v1\nkind: *a\n", "aliases", id="YAML aliases"),
        pytest.param(b"apiVersion: 1\napiVersion: 2\n", "given twice", id="a YAML key twice"),
        pytest.param(
            OLD.replace("sourceCluster: east", "sourceCluster: x").encode(), "'x'", id="no cluster"
        ),
        pytest.param(OLD.replace("alias: east", "name: east").encode(), "no alias", id="no alias"),
        pytest.param(
            f"clusters = {MANY}, {MANY.replace('c', 'd')}".encode(), "80 clusters", id="clusters"
        ),
        pytest.param(b"clusters=a\n" + b"x=1\n" * 5001, "5000 settings", id="settings"),
        pytest.param(
            b"clusters=a,b,c,d,e,f\n" + b"".join(b"x%d=1\n" % n for n in range(4900)),
            "Split the file",
            id="values",
        ),
    ],
)
def test_what_is_no_configuration_is_refused_with_a_reason(content, words):
    with pytest.raises(BadInput, match=words) as caught:
        read_config([InputFile("upload", content)])
    assert caught.value.file == "upload"


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("content", WHOLE, ids=["properties", "connect", "strimzi"])
def test_a_damaged_file_is_read_or_refused(content, seed):
    chance = random.Random(seed)
    for _ in range(40):
        file = InputFile("f", damaged(content, chance, edges=TEXT_EDGES))
        with contextlib.suppress(BadInput):
            config = read_config([file])
            report(config, lint(config), None)
            for form in FORMS:
                export(config, ExportForm(form.value), None)


def test_half_of_a_surrogate_pair_is_refused():
    name = '{"name": "\\ud800", "config": {"connector.class": "MirrorSourceConnector"}}'
    with pytest.raises(BadInput, match="surrogate"):
        read_config([InputFile("f", name.encode())])


def test_utf8s_mark_is_passed_by():
    assert only_flow(
        codecs.BOM_UTF8 + b"clusters = A, B\nA->B.enabled = true\nemit.heartbeats.enabled=false"
    )


def test_every_class_of_connector_is_known_by_its_short_names():
    for name in ("MirrorHeartbeatConnector", "MirrorHeartbeat"):
        flow = only_flow(json.dumps(connector(SOURCE) | {"connector.class": name}))
        assert [c.kind for c in flow.connectors] == [ConnectorClass.HEARTBEAT]
