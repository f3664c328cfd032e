"""Values that are checked: addresses, numbers, flags, choices, and flags with blanks."""

import pytest

from jobs.replication.mirror_config.lint.rules import lint
from jobs.replication.mirror_config.values import Severity, address_problem
from tests.jobs.replication.mirror_config.making import (
    SOURCE,
    TWO,
    bad,
    codes,
    connector,
    connectors,
    flow_of,
    properties,
    read,
)

ONE = TWO | {"A->B.enabled": "true"}


@pytest.mark.parametrize(
    "address",
    ["p1:9092", "PLAINTEXT://p1:9092", "[::1]:9092", "::1:9092", "[fe80::1]:65535", "a_b-c.d:1"],
)
def test_an_address_that_kafka_takes(address):
    assert address_problem(address) is None


@pytest.mark.parametrize(
    ("address", "words"),
    [
        pytest.param("=p1:9092", "host:port", id="an equals sign"),
        pytest.param("p1", "no port", id="no port"),
        pytest.param("", "comma", id="an empty entry"),
        pytest.param("p1:65536", "1 to 65535", id="a large port"),
        pytest.param("p1:0", "1 to 65535", id="port 0"),
        pytest.param("p1:99999999999999999999", "1 to 65535", id="a huge port"),
        pytest.param("p1:port", "host:port", id="a word for a port"),
        pytest.param("p1:-1", "host:port", id="a negative port"),
        pytest.param(":9092", "no host", id="no host"),
        pytest.param("fe80::1", "[IPv6]:port", id="IPv6 without a port"),
        pytest.param("p1:00000", "1 to 65535", id="zeros"),
        pytest.param("[::1]", "host:port", id="IPv6 in brackets without a port"),
        pytest.param("SSL:p1:9093", "LISTENER://", id="a listener without slashes"),
        pytest.param("p1:9092;p2:9092", "host:port", id="semicolons"),
        pytest.param("p1:9092/", "host:port", id="a path"),
        pytest.param("${HOST}:9092", "placeholder", id="a variable"),
        pytest.param("p1:\u0669", "host:port", id="another digit"),
    ],
)
def test_an_address_that_kafka_refuses(address, words):
    assert words in address_problem(address)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({"A.bootstrap.servers": "=a:1,a"}, 2, id="each of a cluster"),
        pytest.param({"A.bootstrap.servers": ""}, 1, id="none at all"),
        pytest.param({"A.bootstrap.servers": "a:1,,b2:1"}, 1, id="an empty entry"),
        pytest.param({"A.consumer.bootstrap.servers": "a"}, 1, id="of one client"),
        pytest.param({"A.bootstrap.servers": "${file:/x:servers}"}, 0, id="a reference"),
        pytest.param({"A.bootstrap.servers": "a:009092"}, 0, id="zeros before a port"),
        pytest.param({"A.bootstrap.servers": " a:1 , a2:1 "}, 0, id="blanks"),
    ],
)
def test_each_address_that_is_none_is_found_once(settings, expected):
    found = [f for f in lint(read(properties(ONE | settings))) if f.code == "not-an-address"]
    assert len(found) == expected
    assert all(f.severity is Severity.ERROR and f.where for f in found)


@pytest.mark.parametrize(
    ("clusters", "expected"),
    [
        pytest.param("A,,B", True, id="two commas"),
        pytest.param("A, B,", True, id="at the end"),
        pytest.param("A , B ", False, id="blanks"),
    ],
)
def test_an_empty_entry_of_clusters_is_reported(clusters, expected):
    assert ("empty-cluster" in codes(properties(ONE | {"clusters": clusters}))) is expected


def test_addresses_of_connectors_are_checked():
    file = connectors(connector(SOURCE) | {"target.cluster.bootstrap.servers": "b"})
    assert "not-an-address" in codes(file)


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        pytest.param("refresh.topics.interval.seconds", "600000", "interval-unit", id="600 s"),
        pytest.param("emit.checkpoints.interval.seconds", "86400000", "interval-unit", id="a day"),
        pytest.param("sync.topic.acls.interval.seconds", "60000", "interval-unit", id="a minute"),
        pytest.param("A->B.topics", " ", "selects-nothing", id="no topic"),
        pytest.param("A->B.groups", "", "selects-nothing", id="no group"),
        pytest.param("admin.timeout.ms", "60", "interval-unit", id="seconds for milliseconds"),
        pytest.param("B.offset.flush.interval.ms", "10", "interval-unit", id="of the worker"),
        pytest.param("A.consumer.max.poll.interval.ms", "300", "interval-unit", id="of a client"),
        pytest.param("refresh.topics.interval.seconds", "0", "number-out-of-range", id="none"),
        pytest.param("refresh.groups.interval.seconds", "-5", "number-out-of-range", id="negative"),
        pytest.param("emit.heartbeats.interval.seconds", "0", "number-out-of-range", id="no pause"),
        pytest.param("replication.factor", "0", "number-out-of-range", id="no replica"),
        pytest.param("checkpoints.topic.replication.factor", "-2", "number-out-of-range", id="-2"),
        pytest.param("tasks.max", "0", "number-out-of-range", id="no task"),
        pytest.param("consumer.poll.timeout.ms", "-1", "number-out-of-range", id="a negative wait"),
        pytest.param("B.rest.advertised.port", "70000", "number-out-of-range", id="a port"),
        pytest.param("offset.lag.max", "-1", "sync-per-record", id="a negative lag"),
        pytest.param("tasks.max", "3000000000", "not-a-number", id="too large for an int"),
        pytest.param(
            "offset-syncs.topic.replication.factor", "40000", "not-a-number", id="a short"
        ),
        pytest.param("sync.topic.acls.interval.seconds", "10m", "not-a-number", id="a unit"),
        pytest.param("A.consumer.max.poll.records", "1e3", "not-a-number", id="a client's number"),
        pytest.param("offset.lag.max", "", "not-a-number", id="an empty number"),
        pytest.param("refresh.topics.enabled", "", "not-a-flag", id="an empty flag"),
        pytest.param("refresh.topics.enabled", "true\u00a0", "not-a-flag", id="a no-break space"),
        pytest.param("errors.log.enable", "on", "not-a-flag", id="a flag of Connect"),
        pytest.param("offset-syncs.topic.location", "src", "not-a-choice", id="a choice"),
        pytest.param("A.consumer.isolation.level", "READ_COMMITTED", "not-a-choice", id="its case"),
        pytest.param("B.security.protocol", "TLS", "not-a-choice", id="a protocol"),
    ],
)
def test_a_value_that_does_not_do_what_it_seems_to_is_found(key, value, code):
    found = [f for f in bad(properties(ONE | {key: value})) if f.code == code]
    assert [f.key for f in found] == [key]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("refresh.topics.interval.seconds", "86400", id="a day"),
        pytest.param("refresh.topics.interval.seconds", "604800", id="a week"),
        pytest.param("refresh.topics.interval.seconds", "864000", id="ten days"),
        pytest.param("refresh.topics.interval.seconds", "36000", id="ten hours"),
        pytest.param("refresh.topics.interval.seconds", "90061", id="no round number"),
        pytest.param("sync.group.offsets.interval.seconds", "0", id="of what is switched off"),
        pytest.param("B.scheduled.rebalance.max.delay.ms", "0", id="no delay"),
        pytest.param("A.consumer.fetch.max.wait.ms", "100", id="a short wait"),
        pytest.param("B.security.protocol", "ssl", id="another case that Kafka takes"),
        pytest.param("A->B.transforms.x.size", "large", id="of a transformation"),
    ],
)
def test_a_value_that_does_what_it_says_is_no_finding(key, value):
    assert codes(properties(ONE | {key: value})) == []


PROVIDERS = {"config.providers": "file, env", "config.providers.env.class": "x"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, ["no-provider"], id="without providers"),
        pytest.param({"config.providers": "file"}, ["no-provider"], id="with another one"),
        pytest.param(PROVIDERS, [], id="with its provider"),
    ],
)
def test_a_reference_needs_its_config_provider(settings, expected):
    values = {"A.consumer.max.poll.records": "${env:RECORDS}", "tasks.max": "${env:x:TASKS}"}
    assert set(codes(properties(ONE | values | settings))) == set(expected)


BLANK = {"A->B.enabled": "true "}
OFF = {"emit.heartbeats.enabled": "false"}


@pytest.mark.parametrize(
    ("settings", "runs", "severity"),
    [
        pytest.param(BLANK, True, Severity.WARNING, id="started for its heartbeats"),
        pytest.param(BLANK | OFF, False, Severity.ERROR, id="not started"),
        pytest.param(
            {"A->B.enabled": "true", "emit.heartbeats.enabled": "true "},
            True,
            Severity.ERROR,
            id="heartbeats of the way back",
        ),
    ],
)
def test_a_flag_with_a_blank_is_false_where_flows_are_started(settings, runs, severity):
    config = read(properties(TWO | settings))
    assert any(flow.is_enabled for flow in config.flows) is runs
    found = [f for f in lint(config) if f.code == "blank-after-flag"]
    assert [f.severity for f in found] == [severity]


def test_enabled_at_the_top_enables_every_flow_that_is_started():
    config = read(properties(TWO | {"enabled": "true"}))
    assert [(f.name, f.is_enabled) for f in config.flows] == [("A->B", True), ("B->A", True)]
    assert "enabled-for-all" in codes(properties(TWO | {"enabled": "true"}))
    assert not flow_of(TWO | {"enabled": "true"} | OFF).is_enabled


@pytest.mark.parametrize(
    ("settings", "severity"),
    [
        pytest.param({}, Severity.WARNING, id="heartbeats only"),
        pytest.param(OFF, Severity.ERROR, id="nothing to start"),
        pytest.param({"A->B.enabled": "true"}, None, id="a flow"),
    ],
)
def test_a_file_that_copies_nothing_is_reported(settings, severity):
    found = [f for f in lint(read(properties(TWO | settings))) if f.code == "nothing-enabled"]
    assert [f.severity for f in found] == ([severity] if severity else [])


def test_connectors_that_are_all_disabled_copy_nothing():
    assert "nothing-enabled" in codes(connectors(connector(SOURCE, enabled="false")))


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        pytest.param("read_committed", False, id="exact"),
        pytest.param("read_committed ", True, id="a blank, which only the consumer trims"),
    ],
)
def test_exactly_once_compares_the_isolation_level_as_it_is_written(level, expected):
    settings = {"B.exactly.once.source.support": "enabled", "A.consumer.isolation.level": level}
    assert ("eos-isolation" in codes(properties(ONE | settings))) is expected
