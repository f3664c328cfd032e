"""Drift and preview of a flow between real clusters; neither changes anything."""

import json
from dataclasses import replace

from jobs.cluster.admin.topics import describe_topics, list_topic_names
from jobs.replication.flow.spec import OnExisting, PolicyName
from jobs.replication.topics.drift import read_drift
from jobs.replication.topics.preview import TopicPreview, preview_topics, read_known
from tests.live.copiers import copy_records, synced_topics
from tests.live.records import produce
from tests.live.topics import alter, configs_of, make_topic, new_topic

IDENTITY = {"policy": PolicyName.IDENTITY}


def previewed(flow) -> list[TopicPreview]:
    return preview_topics(flow.flow, read_known(flow.source, flow.target, flow.flow))


def test_the_report_tells_what_differs_and_what_happens_next(east, west):
    topic = new_topic(east, 3, segment_ms="7200000", min_insync_replicas="2")
    make_topic(west, f"east.{topic}", 1, flush_ms="777")
    with synced_topics(east.connection, west.connection, topic) as flow:
        before = configs_of(flow.target, f"east.{topic}")
        report = read_drift(flow.source, flow.target, flow.flow)
        assert configs_of(flow.target, f"east.{topic}") == before
    (found,) = report.topics
    assert (found.partitions, found.remote_partitions) == (3, 1)
    assert (found.replication_factor, found.remote_replication_factor) == (3, 1)
    told = {c.key: (c.source, c.target, c.next_sync, c.is_drift) for c in found.configs}
    assert told["segment.ms"] == ("7200000", "604800000", "set", True)
    assert told["flush.ms"] == ("9223372036854775807", "777", "keep", True)
    assert told["min.insync.replicas"] == ("2", "1", "keep", False)
    assert (
        json.loads(json.dumps(report.to_mapping()))["topics"][0]["remote_topic"]
        == found.remote_topic
    )


def test_a_synced_flow_has_no_findings(east, west):
    topic = new_topic(east, 2, segment_ms="7200000")
    with synced_topics(east.connection, west.connection, topic) as flow:
        flow.sync()
        report = read_drift(flow.source, flow.target, flow.flow)
    assert not report.has_findings
    assert report.next_changes == ()


def test_a_topic_that_two_sources_write_is_told_even_when_both_have_begun(east, west):
    topic = new_topic(east)
    produce(east, topic, 3)
    north = replace(east.connection, alias="north")
    settings = {**IDENTITY, "on_existing": OnExisting.APPEND}
    for connection in (east.connection, north):
        with synced_topics(connection, west.connection, topic, **settings) as flow:
            flow.survey()
            copy_records(flow.flow, {0: 3})
    with synced_topics(east.connection, west.connection, topic, **IDENTITY) as flow:
        report = read_drift(flow.source, flow.target, flow.flow)
    assert "by this flow and by one from north" in report.refused[topic]
    assert report.has_findings


def test_the_preview_shows_what_would_be_made(east, west):
    topic = new_topic(east, 2, segment_ms="7200000")
    with synced_topics(east.connection, west.connection, topic) as flow:
        names = set(list_topic_names(flow.target))
        found = {p.topic: p for p in previewed(flow)}
        assert set(list_topic_names(flow.target)) == names
        assert found.keys() == {t.name for t in describe_topics(flow.source)}
        creates = found[topic].creates
        flow.survey()
        made = configs_of(flow.target, f"east.{topic}")
        assert previewed(flow)[list(found).index(topic)].creates is None
    assert (creates.partitions, creates.replication_factor) == (2, 1)
    assert (
        creates.replication_factor_from == "The source has 3, but the target only 1 live brokers."
    )
    assert {key: made[key].value for key in creates.configs} == creates.configs


def test_the_preview_says_why_a_topic_is_left_alone(east, west):
    topic = new_topic(east)
    make_topic(west, topic)
    produce(west, topic, 2)
    with synced_topics(east.connection, west.connection, topic, **IDENTITY) as flow:
        found = {p.topic: p for p in previewed(flow)}
    assert "was there before" in found[topic].warnings[0]
    assert found[topic].creates is None


def test_a_setting_changed_by_hand_is_drift(east, west):
    topic = new_topic(east)
    with synced_topics(east.connection, west.connection, topic) as flow:
        flow.sync()
        alter(flow.target, f"east.{topic}", retention_ms="5000")
        report = read_drift(flow.source, flow.target, flow.flow)
    (config,) = [c for c in report.topics[0].configs if c.key == "retention.ms"]
    assert (config.target, config.next_sync, config.mm2_deletes) == ("5000", "keep", True)
    assert report.has_findings
