"""Remote topics on real clusters follow their source topics, and keep what is their own."""

import pytest

from jobs.cluster.admin.topics import describe_topics
from jobs.replication.topics.config_sync import ConfigDifference, Reason
from jobs.replication.topics.plan import TopicPlan
from jobs.replication.topics.sync import apply_plan
from tests.jobs.replication.topics.making import default, override
from tests.live.copiers import synced_topics
from tests.live.topics import alter, configs_of, make_topic, new_topic, value_of
from tests.waiting import eventually

DAY = "86400000"


@pytest.fixture
def topic(east) -> str:
    return new_topic(east, 2, retention_ms="3600000")


def done(sync):
    assert sync.failures == ()
    return [(change.key, change.before, change.after) for change in sync.changes]


def test_a_setting_changed_on_the_source_arrives_and_the_next_sync_has_nothing_to_do(
    east, west, topic
):
    with synced_topics(east.connection, west.connection, topic) as flow:
        assert done(flow.sync()) == []
        alter(flow.source, topic, retention_ms=DAY, segment_ms="7200000")
        assert done(flow.sync()) == [
            ("retention.ms", "3600000", DAY),
            ("segment.ms", "604800000", "7200000"),
        ]
        eventually(lambda: value_of(flow.target, f"east.{topic}", "retention.ms") == (DAY, True))
        assert done(flow.sync()) == []


def test_an_override_of_the_remote_topic_survives_and_is_named(east, west, topic):
    remote = f"east.{topic}"
    with synced_topics(east.connection, west.connection, topic) as flow:
        flow.sync()
        alter(flow.target, remote, segment_ms="1234567")
        sync = flow.sync()
        assert done(sync) == []
        (note,) = [note for note in sync.notes if note.key == "segment.ms"]
        assert note.topic == remote
        assert "1234567 (604800000 on the source)" in note.text
        assert "MirrorMaker 2 would delete it" in note.text
        assert value_of(flow.target, remote, "segment.ms") == ("1234567", True)


def test_an_override_of_the_remote_topic_is_deleted_when_the_flow_says_so(east, west, topic):
    remote = f"east.{topic}"
    settings = {"delete_target_overrides": True}
    with synced_topics(east.connection, west.connection, topic, **settings) as flow:
        flow.sync()
        alter(flow.target, remote, segment_ms="1234567")
        assert done(flow.sync()) == [("segment.ms", "1234567", None)]
        eventually(lambda: not value_of(flow.target, remote, "segment.ms")[1])


def test_a_setting_that_the_source_took_back_is_taken_back(east, west, topic):
    remote = f"east.{topic}"
    with synced_topics(east.connection, west.connection, topic) as flow:
        alter(flow.source, topic, segment_ms="1234567")
        last = flow.sync()
        eventually(lambda: value_of(flow.target, remote, "segment.ms") == ("1234567", True))
        alter(flow.source, topic, segment_ms=None)
        assert done(flow.sync(last)) == [("segment.ms", "1234567", None)]
        eventually(lambda: not value_of(flow.target, remote, "segment.ms")[1])


def test_copies_keep_the_compression_of_their_records(east, west, topic):
    remote = f"east.{topic}"
    with synced_topics(east.connection, west.connection, topic) as flow:
        flow.sync()
        alter(flow.source, topic, compression_type="gzip", message_timestamp_type="LogAppendTime")
        assert done(flow.sync()) == []
        assert value_of(flow.target, remote, "compression.type") == ("producer", True)
        assert value_of(flow.target, remote, "message.timestamp.type") == ("CreateTime", True)


def test_a_setting_that_the_target_refuses_holds_no_other_back(east, west, topic):
    remote = f"east.{topic}"
    with synced_topics(east.connection, west.connection, topic) as flow:
        flow.sync()
        alter(flow.target, remote, flush_ms="777")
        differences = tuple(
            ConfigDifference(key, override(value), default("1"), Reason.CHANGED)
            for key, value in {"no.such.setting": "7", "segment.ms": DAY}.items()
        )
        changes, failures = apply_plan(flow.target, TopicPlan(configs={remote: differences}))
        assert [(c.topic, c.key) for c in changes] == [(remote, "segment.ms")]
        assert [(f.topic, f.key) for f in failures] == [(remote, "no.such.setting")]
        assert "Unknown topic config name" in failures[0].text


def test_a_topic_that_vanished_holds_no_other_back(east, west, topic):
    with synced_topics(east.connection, west.connection, topic) as flow:
        flow.sync()
        alter(flow.target, f"east.{topic}", flush_ms="777")
        alter(flow.source, topic, segment_ms=DAY)
        gone = ConfigDifference("segment.ms", override("7"), default("1"), Reason.CHANGED)
        plan = flow.plan([topic])
        changes, failures = apply_plan(
            flow.target, TopicPlan(configs={**plan.configs, "east.never-there": (gone,)})
        )
        assert [change.topic for change in changes] == [f"east.{topic}"]
        assert [failure.topic for failure in failures] == ["east.never-there"]


def test_a_dry_run_changes_nothing(east, west):
    topic = new_topic(east, 3, segment_ms="7200000")
    remote = f"east.{topic}"
    make_topic(west, remote, 1, flush_ms="777")
    settings = {"sync_acls": True, "delete_target_overrides": True}
    with synced_topics(east.connection, west.connection, topic, **settings) as flow:
        before = describe_topics(flow.target, [remote]), configs_of(flow.target, remote)
        plan = flow.plan([topic])
        after = describe_topics(flow.target, [remote]), configs_of(flow.target, remote)
    assert before == after
    assert {change.key for change in plan.changes()} == {"partitions", "segment.ms", "flush.ms"}
    assert (
        f"{remote} partitions: 1 -> 3 (The source topic {topic} has 3 partitions.)" in plan.lines()
    )


def test_what_was_planned_is_what_is_done(east, west):
    topic = new_topic(east, 3, segment_ms="7200000")
    make_topic(west, f"east.{topic}", 1, flush_ms="777")
    with synced_topics(east.connection, west.connection, topic, grow_partitions=True) as flow:
        plan = flow.plan([topic])
        changes, failures = apply_plan(flow.target, plan)
        assert (changes, failures) == (plan.changes(), [])
        eventually(lambda: flow.plan([topic]).lines()[0] == "No changes.", 20)
