"""Remote topics of real clusters: made, grown with their source, refused when they are somebody else's."""

import threading
import uuid
from dataclasses import replace

from confluent_kafka import Producer

from jobs.cluster.admin.topics import create_partitions, describe_topics
from jobs.cluster.client import ClusterClient
from jobs.replication.flow.spec import OnExisting, PolicyName
from jobs.replication.topics.changes import Creation
from jobs.replication.topics.remote_topics import create_remote_topics
from tests.live.copiers import RecordCopying, copy_records, synced_topics
from tests.live.records import produce, read_all
from tests.live.topics import configs_of, make_topic, new_topic, wait_until_known
from tests.waiting import PATIENCE, eventually

IDENTITY = {"policy": PolicyName.IDENTITY}


class Writing:
    """A producer that goes on writing keyed records until the block ends, whatever the topic becomes."""

    def __init__(self, cluster, topic: str) -> None:
        self._topic = topic
        self._stop = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "topic.metadata.refresh.interval.ms": 200,
                "linger.ms": 5,
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Writing":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60 * PATIENCE) == 0

    def _run(self) -> None:
        number = 0
        while not self._stop.wait(0.005):
            self._producer.produce(self._topic, value=b"%d" % number, key=b"k%d" % (number % 97))
            self._producer.poll(0)
            number += 1


def grow(client: ClusterClient, topic: str, count: int) -> None:
    assert create_partitions(client, {topic: count}) == {topic: None}
    # Any broker may be asked, and one may be behind.
    wait_until_known(client.connection, topic, count)


def by_partition(cluster, topic: str) -> dict[int, list[bytes | None]]:
    found: dict[int, list[bytes | None]] = {}
    for record in read_all(cluster, topic):
        found.setdefault(record.partition, []).append(record.value)
    return found


def ends_now(flow) -> dict[int, int]:
    return {where.partition: one.end_offset or 0 for where, one in flow.survey().ranges.items()}


def test_a_remote_topic_grows_while_a_producer_writes(east, west):
    topic = new_topic(east)
    with synced_topics(east.connection, west.connection, topic) as flow, Writing(east, topic):
        first = flow.survey()
        assert [start.partition for start in first.plan.starts] == [0]
        with RecordCopying(flow.flow, first.plan.starts) as copying:
            copying.wait_for_position(50)
        grow(flow.source, topic, 3)
        survey = flow.survey()
        assert (survey.plan.refused, len(survey.plan.starts)) == ((), 3)
        (change,) = survey.remotes[0].changes
        assert (change.key, change.before, change.after) == ("partitions", "1", "3")
        # The producer hears of the new partitions and fills them.
        eventually(lambda: min(ends_now(flow).values()) > 0, 20)
    ends = ends_now(flow)
    copy_records(flow.flow, ends)
    assert by_partition(west, f"east.{topic}") == by_partition(east, topic)


def test_a_remote_topic_never_shrinks(east, west):
    topic = new_topic(east, 2)
    make_topic(west, f"east.{topic}", 5)
    with synced_topics(east.connection, west.connection, topic) as flow:
        survey = flow.survey()
    assert (survey.places[topic].partitions, survey.remotes[0].changes) == (5, ())


def test_growth_is_refused_with_a_command_when_the_flow_may_not(east, west):
    topic = new_topic(east, 3)
    make_topic(west, f"east.{topic}", 1)
    with synced_topics(east.connection, west.connection, topic, grow_partitions=False) as flow:
        survey = flow.survey()
    assert [row.partition for row in survey.plan.refused] == [1, 2]
    assert f"--alter --topic east.{topic} --partitions 3" in survey.plan.refused[0].reason


def test_growth_of_a_topic_that_keeps_its_name_is_a_finding(east, west):
    topic = new_topic(east, 1, cleanup_policy="compact")
    with synced_topics(east.connection, west.connection, topic, **IDENTITY) as flow:
        flow.survey()
        grow(flow.source, topic, 2)
        findings = flow.survey().remotes[0].findings
    assert "sends keys to other partitions" in findings[0]
    assert "is compacted" in findings[1]


def test_a_new_remote_topic_has_the_settings_of_its_source(east, west):
    topic = new_topic(east, 2, segment_ms="7200000", compression_type="gzip")
    with synced_topics(east.connection, west.connection, topic) as flow:
        (remote,) = flow.survey().remotes
        configs = configs_of(flow.target, f"east.{topic}")
    assert remote.changes[0].after == "2 partitions, replication factor 1"
    assert configs["segment.ms"].value == "7200000"
    assert configs["compression.type"].value == "producer"


def test_a_setting_that_the_target_does_not_know_keeps_no_topic_from_being_made(west):
    names = [f"east.t-{uuid.uuid4().hex[:8]}" for _ in range(2)]
    needed = {"retention.ms": "7200000"}
    unknown = {"no.such.setting": "1"}
    creations = [
        Creation("t", names[0], 2, 1, "", {**needed, **unknown}, needed),
        Creation("t", names[1], 2, 1, "", needed, {**needed, **unknown}),
    ]
    with ClusterClient(west.connection, timeout_s=60) as client:
        made, faults = create_remote_topics(client, creations)
        assert (made.keys(), faults) == (set(names), {})
        eventually(lambda: configs_of(client, names[0]))
        assert configs_of(client, names[0])["retention.ms"].value == "7200000"


def test_a_topic_that_cannot_be_made_holds_no_other_back(west):
    good, bad = f"east.t-{uuid.uuid4().hex[:8]}", "east.no/slash"
    creations = [Creation("t", name, 1, 1, "", {}, {}) for name in (bad, good)]
    with ClusterClient(west.connection, timeout_s=60) as client:
        made, faults = create_remote_topics(client, creations)
    assert (list(made), list(faults)) == ([good], [bad])


def test_a_topic_of_somebody_else_is_not_written(east, west):
    topic = new_topic(east, 3)
    make_topic(west, topic)
    local = produce(west, topic, 5)
    produce(east, topic, 5)
    with synced_topics(east.connection, west.connection, topic, **IDENTITY) as flow:
        survey = flow.survey()
        assert survey.plan.starts == ()
        assert "was written up to offset 5" in survey.plan.refused[0].reason
        assert len(describe_topics(flow.target, [topic])[0].partitions) == 1
        assert survey.copied_topics() == []
    assert [r.value for r in read_all(west, topic)] == [r.value for r in local]


def test_a_person_may_want_to_append(east, west):
    topic = new_topic(east)
    make_topic(west, topic)
    produce(west, topic, 5)
    settings = {**IDENTITY, "on_existing": OnExisting.APPEND}
    with synced_topics(east.connection, west.connection, topic, **settings) as flow:
        assert len(flow.survey().plan.starts) == 1


def test_a_second_source_with_the_same_names_is_refused_and_told_which_one_was_first(east, west):
    topic = new_topic(east)
    produce(east, topic, 5)
    with synced_topics(east.connection, west.connection, topic, **IDENTITY) as flow:
        flow.survey()
        copy_records(flow.flow, {0: 5})
        assert flow.survey().plan.refused == ()
    north = replace(east.connection, alias="north")
    with synced_topics(north, west.connection, topic, **IDENTITY) as flow:
        (refused,) = flow.survey().plan.refused
    assert "is written by a flow from east (see mm2-offsets.east.internal)" in refused.reason


def test_an_empty_topic_that_is_there_is_taken(east, west):
    topic = new_topic(east)
    make_topic(west, topic)
    with synced_topics(east.connection, west.connection, topic, **IDENTITY) as flow:
        assert len(flow.survey().plan.starts) == 1
