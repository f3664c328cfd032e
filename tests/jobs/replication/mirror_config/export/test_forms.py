"""What is written back means the same as what was read."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.flow.file import parse_flow
from jobs.replication.flow.spec import CopyPath, FlowSpec, HeartbeatsTo, PolicyName, SyncsLocation
from jobs.replication.mirror_config.export.forms import ExportForm, export
from jobs.replication.mirror_config.read.configuration import read_config
from jobs.replication.mirror_config.read.text_input import InputFile
from jobs.replication.mirror_config.redaction import REDACTED
from tests.jobs.replication.mirror_config.making import (
    CHECKPOINT,
    SOURCE,
    TWO,
    connector,
    connectors,
    properties,
    read,
)
from tests.jobs.replication.mirror_config.test_forms import NEW, OLD

ONE = TWO | {"A->B.enabled": "true"}
# Keys that say how a form works and nothing about the flow.
_OF_FORM = {"name", "connector.class", "key.converter", "value.converter", "header.converter"}


def again(config, form, only=None):
    """Write a configuration and read it again."""
    text = export(config, form, only).text
    return read_config([InputFile("again", text.encode())])


def meaning(flow, kind):
    """What somebody decided for a connector, without copies that are made of it."""
    found = flow.first(kind)
    return {
        key: value.value
        for key, value in found.config.items()
        if key not in _OF_FORM and not value.rule.startswith("copied to")
    }


def find(config, name="A->B"):
    return next(flow for flow in config.flows if flow.name == name)


settings = st.dictionaries(
    st.sampled_from(
        [
            "offset.lag.max",
            "A->B.offset.lag.max",
            "A->B.topics",
            "topics.exclude",
            "A->B.groups",
            "tasks.max",
            "A.consumer.max.poll.records",
            "B.producer.batch.size",
            "A.security.protocol",
            "security.protocol",
            "B.ssl.truststore.location",
            "A->B.producer.override.acks",
            "replication.policy.separator",
            "A->B.sync.group.offsets.enabled",
            "B.offset.storage.replication.factor",
            "topics.blacklist",
            "A->B.transforms",
        ]
    ),
    st.text("abc019.,*=:#! \\äé", min_size=1, max_size=12).map(str.strip).filter(bool),
)


@given(settings)
def test_properties_to_properties_and_back_is_the_same(extra):
    config = read(properties(ONE | extra))
    other = again(config, ExportForm.PROPERTIES)
    for flow, twin in zip(config.flows, other.flows, strict=True):
        for one, two in zip(flow.connectors, twin.connectors, strict=True):
            assert {k: v.value for k, v in one.config.items()} == {
                k: v.value for k, v in two.config.items()
            }
        assert {k: v.value for k, v in flow.worker.items()} == {
            k: v.value for k, v in twin.worker.items()
        }


@given(settings)
def test_properties_to_connectors_keeps_every_effective_value(extra):
    config = read(properties(ONE | extra))
    other = again(config, ExportForm.CONNECT)
    for kind in (SOURCE, CHECKPOINT):
        assert meaning(find(other), kind).items() >= meaning(find(config), kind).items()


@given(settings)
def test_connectors_to_properties_keeps_every_effective_value(extra):
    given_config = read(properties(ONE | extra))
    config = again(given_config, ExportForm.CONNECT)
    other = again(config, ExportForm.PROPERTIES)
    for kind in (SOURCE, CHECKPOINT):
        before, after = meaning(find(config), kind), meaning(find(other), kind)
        assert {k: after.get(k) for k in before} == before


@pytest.mark.parametrize("text", [OLD, NEW], ids=["v1beta2", "v1"])
def test_strimzi_to_strimzi_keeps_every_effective_value(text):
    config = read_config([InputFile("s", text.encode())])
    other = again(config, ExportForm.STRIMZI)
    for kind in (SOURCE, CHECKPOINT):
        if find(config, "east->west").first(kind):
            one, two = (meaning(find(c, "east->west"), kind) for c in (config, other))
            assert one == two
    one, two = (find(c, "east->west").worker for c in (config, other))
    assert {k: v.value for k, v in one.items()} == {k: v.value for k, v in two.items()}


def test_properties_to_strimzi_keeps_what_a_flow_does():
    extra = {"A->B.topics": "a, b", "A->B.tasks.max": "3", "A.consumer.fetch.min.bytes": "7"}
    config = read(
        properties(ONE | extra | {"replication.factor": "3", "sync.group.offsets.enabled": "true"})
    )
    twin = find(again(config, ExportForm.STRIMZI))
    source = twin.first(SOURCE)
    assert (source.get("topics"), source.get("tasks.max"), source.get("replication.factor")) == (
        "a, b",
        "3",
        "3",
    )
    assert source.get("source.consumer.fetch.min.bytes") == "7"
    assert twin.first(CHECKPOINT).is_true("sync.group.offsets.enabled")


def test_connectors_that_differ_are_told_where_one_value_must_do():
    file = connectors(connector(SOURCE, topics="a"), connector(CHECKPOINT, topics="b"))
    notes = export(read(file), ExportForm.PROPERTIES).notes
    assert any("topics" in note for note in notes)


def test_a_flow_without_checkpoints_or_heartbeats_stays_without():
    config = read(connectors(connector(SOURCE)))
    twin = find(again(config, ExportForm.PROPERTIES))
    assert not twin.has_heartbeats
    assert not twin.first(CHECKPOINT).is_true("emit.checkpoints.enabled")
    assert [flow.name for flow in again(config, ExportForm.PROPERTIES).flows] == ["A->B"]


@pytest.mark.parametrize("form", [ExportForm.PROPERTIES, ExportForm.CONNECT])
def test_secrets_come_out_as_placeholders_and_that_is_said(form):
    config = read(properties(ONE | {"B.ssl.key.password": "hunter2"}))
    exported = export(config, form)
    assert "hunter2" not in exported.text
    assert REDACTED in exported.text
    assert any(REDACTED in note for note in exported.notes)


def test_references_stay_as_they_are():
    config = read(properties(ONE | {"A.sasl.jaas.config": "${file:/x:jaas}"}))
    assert "${file:/x:jaas}" in export(config, ExportForm.CONNECT).text


def test_nothing_enabled_writes_nothing():
    exported = export(read(properties(TWO)), ExportForm.CONNECT)
    assert (exported.text, len(exported.notes)) == ("", 1)


def test_one_flow_of_several_can_be_written():
    config = read(properties(ONE | {"B->A.enabled": "true"}))
    named = json.loads(export(config, ExportForm.CONNECT, ("B", "A")).text)
    assert {one["config"]["source.cluster.alias"] for one in named} == {"B"}


def crosslog_flow(extra):
    exported = export(read(properties(ONE | extra)), ExportForm.CROSSLOG)
    return parse_flow(exported.text), exported.notes


def test_a_flow_of_crosslog_takes_over_what_it_can():
    flow, notes = crosslog_flow(
        {
            "A->B.topics": "orders, clicks.*",
            "A->B.groups": "g",
            "tasks.max": "4",
            "replication.factor": "3",
            "sync.topic.acls.enabled": "false",
            "sync.group.offsets.enabled": "true",
            "emit.checkpoints.interval.seconds": "5",
            "A->B.transforms": "x",
            "offset.lag.max": "0",
        }
    )
    assert isinstance(flow, FlowSpec)
    assert (flow.topics, flow.groups, flow.tasks, flow.replication_factor) == (
        ("orders", "clicks.*"),
        ("g",),
        4,
        3,
    )
    assert (flow.sync_acls, flow.sync_group_offsets, flow.emit_checkpoints_interval_s) == (
        False,
        True,
        5,
    )
    assert (flow.offset_syncs, flow.heartbeats) == (SyncsLocation.SOURCE, HeartbeatsTo.BOTH)
    assert flow.path is CopyPath.AUTO
    assert any("transforms" in note for note in notes)
    assert any("offset.lag.max" in note for note in notes)


@pytest.mark.parametrize(
    ("extra", "policy"),
    [
        pytest.param({}, PolicyName.DEFAULT, id="default"),
        pytest.param({"replication.policy.separator": "_"}, PolicyName.DEFAULT, id="separator"),
        pytest.param(
            {
                "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
            },
            PolicyName.IDENTITY,
            id="identity",
        ),
        pytest.param(
            {
                "replication.policy.separator": "_",
                "replication.policy.internal.topic.separator.enabled": "false",
            },
            PolicyName.CUSTOM,
            id="dots in internal topics",
        ),
    ],
)
def test_names_stay_the_same_in_a_flow_of_crosslog(extra, policy):
    assert crosslog_flow(extra)[0].policy is policy


def test_a_flow_of_crosslog_has_the_address_that_the_clients_have():
    flow, _ = crosslog_flow(
        {
            "A->B.source.cluster.bootstrap.servers": "x:1",
            "B.bootstrap.servers": "SSL://b:9, [::1]:9",
        }
    )
    assert flow.source.bootstrap_servers == "a:9092"
    assert flow.target.bootstrap_servers == "b:9,[::1]:9"


def test_a_word_for_an_alias_becomes_the_alias_of_the_flow():
    flow, notes = crosslog_flow({"source.cluster.alias": "old", "A->B.target.cluster.alias": "new"})
    assert (flow.source.alias, flow.target.alias) == ("old", "new")
    assert sum("topics keep their names" in note for note in notes) == 2
    assert not any("names differ" in note for note in notes)


def test_a_login_becomes_references():
    jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="pw";'
    flow, _ = crosslog_flow(
        {
            "A.security.protocol": "SASL_SSL",
            "A.sasl.mechanism": "SCRAM-SHA-512",
            "A.sasl.jaas.config": jaas,
        }
    )
    assert (flow.source.sasl_username, str(flow.source.sasl_password)) == (
        "ann",
        "env:CROSSLOG_SECRET_A",
    )


def test_what_crosslog_refuses_is_reported_with_its_field():
    settings = {
        "clusters": "us.west, B",
        "us.west.bootstrap.servers": "a:1",
        "B.bootstrap.servers": "b:1",
    }
    config = read(properties(settings | {"us.west->B.enabled": "true"}))
    exported = export(config, ExportForm.CROSSLOG)
    assert any("source.alias" in note for note in exported.notes)
    assert yaml.safe_load(exported.text)["source"]["alias"] == "us.west"
