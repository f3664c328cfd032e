"""Configurations that people reported, each with what it means."""

import pytest

from jobs.replication.mirror_config.export.forms import ExportForm, export
from jobs.replication.mirror_config.lint.rules import lint
from jobs.replication.mirror_config.read.configuration import MirrorConfig, read_config
from jobs.replication.mirror_config.read.text_input import BadInput, InputFile
from jobs.replication.mirror_config.report import names_of
from jobs.replication.mirror_config.values import Severity
from tests.support import REPORTED


def reported(path: str) -> MirrorConfig:
    file = REPORTED / path
    return read_config([InputFile(file.name, file.read_bytes())])


def asked(path: str) -> list[tuple[str, str]]:
    """Code and place of every finding that asks for something."""
    found = [f for f in lint(reported(path)) if f.severity is not Severity.INFO]
    return [(f.code, f.where.partition(":")[2].partition(" ")[0] or f.key) for f in found]


def test_topics_follow_an_empty_alias_at_the_top():
    flow = next(f for f in reported("alias_overridden/empty.properties").flows if f.is_enabled)
    assert names_of(flow) == {
        "remote_topic_of_orders": "orders",
        "offset_syncs": "mm2-offset-syncsinternal",
        "offset_syncs_on": "hall",
        "checkpoints": "checkpointsinternal",
        "heartbeats": "heartbeats",
    }
    assert asked("alias_overridden/empty.properties") == [
        ("alias-overridden", "7"),
        ("alias-overridden", "8"),
        ("empty-separator", "6"),
    ]


def test_topics_follow_an_alias_in_a_connector_of_a_resource():
    config = reported("alias_overridden/strimzi.yaml")
    assert [flow.name for flow in config.flows] == ["paris->lyon", "lyon->paris"]
    assert {alias for d in config.deployments for alias in d.clusters} == {"paris", "lyon"}
    for flow in config.flows:
        names = names_of(flow)
        assert names["remote_topic_of_orders"] == "orders"
        assert names["checkpoints"] == f"{flow.source}.checkpoints.internal"
    codes = {code for code, _ in asked("alias_overridden/strimzi.yaml")}
    assert {
        "alias-overridden",
        "alias-differs",
        "policy-differs",
        "identity-both-ways",
    } <= codes
    assert "same-bootstrap" not in codes


@pytest.mark.parametrize(
    "path", ["alias_overridden/empty.properties", "alias_overridden/strimzi.yaml"]
)
@pytest.mark.parametrize("form", [ExportForm.PROPERTIES, ExportForm.CONNECT, ExportForm.STRIMZI])
def test_an_export_keeps_the_names_that_an_alias_gives(path, form):
    config = reported(path)
    text = export(config, form).text
    again = read_config([InputFile("again", text.encode())])
    ours, theirs = ({f.name: names_of(f) for f in c.flows if f.is_enabled} for c in (config, again))
    remote = {name: names["remote_topic_of_orders"] for name, names in ours.items()}
    assert set(remote.values()) == {"orders"}
    # A connector with an empty alias goes by the alias of another one of the same cluster, or by its address.
    assert {names["remote_topic_of_orders"] for names in theirs.values()} == {"orders"}
    assert len(theirs) == len(ours)


def test_a_flow_of_crosslog_keeps_names_and_names_the_internal_topics_that_differ():
    exported = export(reported("alias_overridden/empty.properties"), ExportForm.CROSSLOG)
    assert "policy: identity" in exported.text
    assert [note for note in exported.notes if "names differ" in note] == [
        "hall->barn: names differ: MirrorMaker 2 has mm2-offset-syncsinternal, this flow "
        "mm2-offset-syncs.barn.internal.",
        "hall->barn: names differ: MirrorMaker 2 has checkpointsinternal, this flow "
        "hall.checkpoints.internal.",
    ]


def test_settings_of_the_worker_are_right_in_the_section_of_its_cluster():
    assert asked("strimzi_worker_keys/mm.yaml") == [("interval-unit", "31")]


def test_each_address_that_is_none_is_an_error():
    config = reported("address_not_an_address/mm2.properties")
    found = [f for f in lint(config) if f.severity is Severity.ERROR]
    assert [(f.code, f.key) for f in found] == [
        ("not-an-address", "paris.bootstrap.servers"),
        ("not-an-address", "lyon.bootstrap.servers"),
    ]


@pytest.mark.parametrize("form", ExportForm)
def test_every_export_warns_of_an_address_that_is_none(form):
    notes = export(reported("address_not_an_address/mm2.properties"), form).notes
    assert "paris: the address '=p1:9092' is not of the form host:port." in notes
    assert "lyon: the address 'l1' has no port." in notes


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        pytest.param(
            "mm2.properties",
            {
                "A.max.poll.records": "Use A.consumer.max.poll.records.",
                "A.max.partition.fetch.bytes": "Use A.consumer.max.partition.fetch.bytes.",
                "B.max.request.size": "Use B.producer.max.request.size.",
                "B.compression.type": "Use B.producer.compression.type.",
                "B.batch.size": "Use B.producer.batch.size.",
            },
            id="of clusters",
        ),
        pytest.param(
            "source.json",
            {
                "source.cluster.max.poll.records": "Use source.consumer.max.poll.records.",
                "source.cluster.max.partition.fetch.bytes": "Use source.consumer.max.partition.fetch.bytes.",
                "target.cluster.max.request.size": "Use producer.override.max.request.size.",
                "target.cluster.compression.type": "Use producer.override.compression.type.",
                "target.cluster.batch.size": "Use producer.override.batch.size.",
            },
            id="of a connector",
        ),
    ],
)
def test_a_key_that_reaches_no_client_is_reported_with_the_one_that_does(file, expected):
    found = lint(reported(f"keys_that_reach_no_client/{file}"))
    assert {f.key: f.do for f in found if f.severity is not Severity.INFO} == expected


def test_milliseconds_in_place_of_seconds_are_reported():
    assert sorted(asked("interval_in_the_wrong_unit/mm2.properties")) == [
        ("interval-unit", "5"),
        ("interval-unit", "6"),
        ("interval-unit", "7"),
    ]


def test_a_template_is_refused_at_its_first_line():
    with pytest.raises(BadInput, match=r"^Line 4 holds \{\{: .* Render it first"):
        reported("helm_template_as_yaml/mm.yaml")
