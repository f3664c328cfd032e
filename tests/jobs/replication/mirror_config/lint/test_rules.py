"""What is found in a configuration, and what is left in peace."""

import pytest

from jobs.replication.mirror_config.facts import Facts
from jobs.replication.mirror_config.lint.rules import lint
from jobs.replication.mirror_config.read.text_input import InputFile
from tests.jobs.replication.mirror_config.making import (
    CHECKPOINT,
    SOURCE,
    TWO,
    bad,
    codes,
    connector,
    connectors,
    properties,
    read,
)

GOOD = TWO | {"A->B.enabled": "true", "A->B.topics": "orders, clicks\\..*"}
BOTH = {"A->B.enabled": "true", "B->A.enabled": "true"}
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
CLASS, SEPARATOR = "replication.policy.class", "replication.policy.separator"
EOS = {"A->B.enabled": "true", "B.exactly.once.source.support": "enabled"}
JSON = "org.apache.kafka.connect.json.JsonConverter"
INTERNAL = (
    *("offset-syncs.topic", "checkpoints.topic", "heartbeats.topic"),
    *("config.storage", "offset.storage", "status.storage"),
)
THREE = {
    "clusters": "A, B, C",
    "A.bootstrap.servers": "a:1",
    "B.bootstrap.servers": "b:1",
    "C.bootstrap.servers": "c:1",
}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="one flow"),
        pytest.param({"A->B.offset.lag.max": "1", "tasks.max": "8"}, id="settings of connectors"),
        pytest.param(
            {"B.producer.batch.size": "1", "A.consumer.x": "1"}, id="clients of a cluster"
        ),
        pytest.param({"A->B.producer.override.acks": "1"}, id="an override of the data producer"),
        pytest.param(
            {"offset.storage.replication.factor": "2", "worker.x": "y"}, id="the worker's"
        ),
        pytest.param(
            {"config.providers": "file", "config.providers.file.class": "x"}, id="providers"
        ),
        pytest.param({"ssl.truststore.location": "/x", "sasl.mechanism": "PLAIN"}, id="security"),
        pytest.param({"B->A.enabled": "true"}, id="both ways with the default policy"),
        pytest.param({"topics.exclude": ".*\\.internal, (a|b).*, x{2}"}, id="patterns"),
        pytest.param({"sync.group.offsets.enabled": "true"}, id="groups synced from checkpoints"),
        pytest.param({"emit.checkpoints.enabled": "false"}, id="no checkpoints, no group sync"),
        pytest.param({"refresh.topics.interval.seconds": "30"}, id="a refresh every 30 s"),
        pytest.param(
            {"refresh.topics.interval.seconds": "5", "refresh.topics.enabled": "false"},
            id="a short interval of no refresh",
        ),
        pytest.param({"checkpoints.topic.replication.factor": "-1"}, id="the broker's factor"),
        pytest.param(
            {
                "A->B.enabled": "false",
                "A->B.offset.lag.max": "0",
                "B->A.enabled": "true",
            },
            id="of a flow that copies nothing",
        ),
        pytest.param({"A->B.transforms": "x", "A->B.transforms.x.type": "y"}, id="transforms"),
        pytest.param({SEPARATOR: "_"}, id="another separator"),
        pytest.param(
            {"groups": "\\p{Alpha}+, \\Qa.b\\E, (?<n>x)"}, id="what only Java's regex knows"
        ),
    ],
)
def test_a_good_configuration_has_no_findings(settings):
    assert codes(properties(GOOD | settings)) == []


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        pytest.param({"producer.batch.size": "1"}, "top-level-prefix", id="a client's at the top"),
        pytest.param({"admin.x": "1"}, "top-level-prefix", id="admin at the top"),
        pytest.param({"A->B.producer.acks": "1"}, "producer-prefix", id="producer of a flow"),
        pytest.param({"A->B.emit.heartbeats": "false"}, "misspelled-key", id="without .enabled"),
        pytest.param({"A->B.sync.group.offsets": "true"}, "misspelled-key", id="group offsets"),
        pytest.param(
            {"replicaton.factor": "3"}, "misspelled-key", id="a letter missing at the top"
        ),
        pytest.param(
            {"A->B.refresh.topic.enabled": "true"}, "misspelled-key", id="a letter missing"
        ),
        pytest.param({"nonsense": "1"}, "unknown-key", id="nothing like it"),
        pytest.param({"A.topics": "x"}, "cluster-key", id="a flow's key at a cluster"),
        pytest.param({"A.bootstrap.server": "x:1"}, "unknown-key", id="an address misspelled"),
        pytest.param(
            {"exactly.once.source.support": "enabled"}, "unknown-key", id="worker key at the top"
        ),
        pytest.param({"A->B.exactly.once.source.support": "enabled"}, "worker-key", id="of a flow"),
        pytest.param({"A->B.offset.storage.topic": "x"}, "worker-key", id="storage of a flow"),
        pytest.param({"A->C.enabled": "true"}, "unknown-cluster", id="no such cluster"),
        pytest.param({"A->A.enabled": "true"}, "unknown-cluster", id="to itself"),
        pytest.param(
            {"transforms.x.type": "y"}, "unknown-key", id="below a connector's key at the top"
        ),
        pytest.param({"topics": "*"}, "regex-invalid", id="a star alone"),
        pytest.param({"groups": "a(b"}, "regex-invalid", id="a bracket"),
        pytest.param({"A->B.topics.exclude": "[a,b]x"}, "regex-comma", id="comma in a class"),
        pytest.param({"A->B.enabled": "yes"}, "not-a-flag", id="yes"),
        pytest.param({"A->B.enabled": "true "}, "blank-after-flag", id="a blank after true"),
        pytest.param({"offset.lag.max": "few"}, "not-a-number", id="a word for a number"),
        pytest.param({"offset.lag.max": "--5"}, "not-a-number", id="two signs"),
        pytest.param({"replication.factor": "\u00b2"}, "not-a-number", id="a raised digit"),
        pytest.param({"replication.factor": "1"}, "single-copy", id="one replica"),
        pytest.param(
            {"config.properties.exclude": "x"}, "min-insync-copied", id="min.insync copied"
        ),
        pytest.param({"key.converter": JSON}, "converter", id="a converter"),
        pytest.param({CLASS: "com.example.Mine"}, "unknown-policy", id="a custom policy"),
        pytest.param({SEPARATOR: ""}, "empty-separator", id="no separator"),
        pytest.param({"A->B.topics": "B.orders"}, "looks-like-a-cycle", id="a topic like a copy"),
        pytest.param(
            {"B.bootstrap.servers": "x:1, a:9092"}, "same-bootstrap", id="a shared broker"
        ),
        pytest.param({"clusters": "A, B, C"}, "no-bootstrap", id="no address"),
        pytest.param(
            {"emit.offset-syncs.enabled": "false"}, "no-offset-syncs", id="no offset syncs"
        ),
        pytest.param(
            BOTH | {"A->B.replication.policy.separator": "_"},
            "cycle-separators",
            id="two separators",
        ),
        pytest.param(
            BOTH | {f"A->B.{CLASS}": IDENTITY, "A->B.topics": ".*"},
            "identity-cycle",
            id="half Identity",
        ),
        pytest.param(EOS, "eos-isolation", id="exactly once without read_committed"),
        pytest.param(
            EOS | {"A.consumer.isolation.level": "read_committed"},
            "eos-internal-rest",
            id="no internal REST",
        ),
        pytest.param(
            {"A->B.exactly.once.support": "required"}, "eos-worker", id="required, not offered"
        ),
        pytest.param({"offset.lag.max": "0"}, "sync-per-record", id="a sync for every record"),
        pytest.param(
            {"sync.group.offsets.enabled": "true", "emit.checkpoints.enabled": "false"},
            "group-sync-without-checkpoints",
            id="groups synced from no checkpoints",
        ),
        pytest.param(
            {"A->B.refresh.topics.interval.seconds": "5"}, "refresh-often", id="topics every 5 s"
        ),
        pytest.param(
            {"refresh.groups.interval.seconds": "5"}, "refresh-often", id="groups every 5 s"
        ),
        *(
            pytest.param({f"{topic}.replication.factor": "1"}, "single-copy-internal", id=topic)
            for topic in INTERNAL
        ),
        pytest.param({"clusters": "A, B, A.x"}, "alias-with-separator", id="a dot in an alias"),
    ],
)
def test_one_mistake_is_found(settings, code):
    assert code in codes(properties(GOOD | settings))


def test_groups_are_synced_by_a_checkpoint_connector_only():
    settings = {"topics": "a", "sync__group__offsets__enabled": "true"}
    alone = connectors(connector(SOURCE, **settings))
    assert "group-sync-without-checkpoints" in codes(alone)
    both = connectors(connector(SOURCE, topics="a"), connector(CHECKPOINT, groups="g"))
    assert "group-sync-without-checkpoints" not in codes(both)


def test_a_finding_says_where_and_what_to_do():
    (finding,) = bad(properties(GOOD | {"A->B.producer.linger.ms": "5"}))
    assert finding.where == "mm2.properties:6"
    assert finding.key == "A->B.producer.linger.ms"
    assert "B.producer.linger.ms" in finding.do
    assert finding.flow == "A->B"


def test_a_mistake_for_all_flows_is_told_once():
    settings = THREE | BOTH | {"B->C.enabled": "true", "topics": "*"}
    found = [f for f in lint(read(properties(settings))) if f.code == "regex-invalid"]
    assert [f.flow for f in found] == [""]


def test_blanks_around_the_arrow_are_found():
    file = InputFile("mm2.properties", b"clusters = A, B\nA -> B.enabled = true\n")
    assert "broken-arrow" in codes(file)


def test_a_key_twice_is_found_with_both_lines():
    file = InputFile("mm2.properties", b"clusters = A, B\nA.bootstrap.servers=a:1\nclusters = A\n")
    text = next(f.text for f in bad(file) if f.code == "key-twice")
    assert "line 1" in text
    assert "line 3" in text


def test_letters_beyond_ascii_are_found():
    file = InputFile("mm2.properties", "clusters = A, B\n# grün\ntopics = grün\n".encode())
    assert [f.where for f in bad(file) if f.code == "not-ascii"] == ["mm2.properties:3"]


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        pytest.param(("orders", "clicks"), False, id="different names"),
        pytest.param(("orders", "orders"), True, id="the same name"),
        pytest.param(("a\\..*", "b\\..*"), False, id="different beginnings"),
        pytest.param(("a.*", "ab"), True, id="a beginning and a name"),
        pytest.param(("a|b", "b"), True, id="alternatives"),
        pytest.param((".*", "x"), True, id="everything"),
    ],
)
def test_flows_that_keep_names_get_in_each_others_way_only_where_topics_meet(topics, expected):
    both = {f"{pair}.topics": text for pair, text in zip(("A->B", "B->A"), topics, strict=True)}
    found = codes(properties(TWO | BOTH | both | {CLASS: IDENTITY}))
    assert ("identity-both-ways" in found) is expected
    into = {f"{pair}.topics": text for pair, text in zip(("A->C", "B->C"), topics, strict=True)}
    flows = {"A->C.enabled": "true", "B->C.enabled": "true", CLASS: IDENTITY}
    assert ("identity-fan-in" in codes(properties(THREE | flows | into))) is expected


def test_a_circle_over_three_clusters_with_identity_is_found():
    circle = {f"{pair}.enabled": "true" for pair in ("A->B", "B->C", "C->A")}
    assert "identity-cycle" in codes(properties(THREE | circle | {CLASS: IDENTITY}))
    assert "identity-cycle" not in codes(
        properties(THREE | {"A->B.enabled": "true", CLASS: IDENTITY})
    )


def test_replication_factors_are_compared_with_the_brokers_that_there_are():
    found = bad(properties(GOOD), facts=Facts(brokers={"A": 3, "B": 2}))
    assert {f.key for f in found} == {
        "checkpoints.topic.replication.factor",
        "heartbeats.topic.replication.factor",
    }
    assert codes(properties(GOOD), facts=Facts(brokers={"A": 3, "B": 3})) == []


def test_a_topic_that_begins_with_the_targets_alias_is_found_among_those_that_there_are():
    own = Facts(topics={"A": ["B.orders", "orders"], "B": []})
    assert "looks-like-a-cycle" in codes(properties(GOOD), facts=own)
    copied = Facts(topics={"A": ["B.orders"], "B": ["orders"]})
    assert codes(properties(GOOD), facts=copied) == []


def test_the_same_flow_in_two_files():
    one = properties(GOOD, "one.properties")
    assert codes(one, properties(GOOD, "two.properties")) == []
    assert codes(one, properties(GOOD | {"tasks.max": "2"}, "two.properties")) == ["flow-twice"]
    assert "flow-twice" in codes(one, connectors(connector(SOURCE)))


def test_connectors_of_one_flow_that_name_topics_differently():
    file = connectors(connector(SOURCE), connector(CHECKPOINT, replication__policy__separator="_"))
    assert codes(file) == ["policy-differs"]


def test_connectors_that_look_for_offset_syncs_in_different_places():
    file = connectors(
        connector(SOURCE), connector(CHECKPOINT) | {"offset-syncs.topic.location": "target"}
    )
    assert codes(file) == ["location-differs"]


def test_workers_that_would_share_their_topics():
    settings = THREE | {
        "A->C.enabled": "true",
        "B->C.enabled": "true",
        "config.storage.topic": "mine",
    }
    assert "worker-topics-shared" in codes(properties(settings))


def test_a_connector_without_source_alias_is_found():
    values = connector(SOURCE)
    del values["source.cluster.alias"]
    assert "alias-missing" in codes(connectors(values))
