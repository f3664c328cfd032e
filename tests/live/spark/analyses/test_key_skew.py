"""Keys that real producers placed: hot ones, partitioners, and topics that are joined."""

import time

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.records import key_skew
from jobs.spark.analyses.task import AnalysisTask
from tests.live.spark.analyses.conftest import Found, read
from tests.live.topics import new_topic, wait_until_known

KEYS = [f"customer-{n}" for n in range(600)]
PARTITIONERS = {
    "consistent": "crc32",
    "consistent_random": "crc32",
    "murmur2": "murmur2",
    "murmur2_random": "murmur2",
    "fnv1a": "fnv1a",
    "fnv1a_random": "fnv1a",
    "random": "sticky",
}


@pytest.fixture
def keys_of(spark, east, tmp_path):
    """Ask for the keys of topics, and look at the types of what is written."""

    def ask(*topics, **arguments):
        folder = tmp_path / f"{time.monotonic_ns()}"
        folder.mkdir()
        resources = {"cluster": {"connection": east.connection.to_mapping()}}
        task = AnalysisTask(spark, folder, folder / "tables", folder / "histories", resources)
        named = {"cluster": "east", "topics": ",".join(topics), **arguments}
        given = checked_arguments(key_skew.ANALYSIS, named)
        answer = key_skew.run(task, given)
        document_of(key_skew.ANALYSIS, given, answer, task.tables, 0.0)
        tables = {table.name: read(table, task) for table in key_skew.ANALYSIS.tables}
        return Found(dict(answer.facts), answer.notes, tables)

    return ask


def produce(cluster, topic, keys, partitioner):
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "partitioner": partitioner,
            "linger.ms": 20,
        }
    )
    for key in keys:
        producer.produce(topic, b"value", key)
    assert producer.flush(60) == 0


def test_each_partitioner_of_real_producers_is_recognised(east, keys_of):
    topics = {partitioner: new_topic(east, 6) for partitioner in PARTITIONERS}
    for partitioner, topic in topics.items():
        produce(east, topic, KEYS * 3, partitioner)
    found = keys_of(*topics.values())
    names = {row["topic"]: row["partitioner"] for row in found["topics"]}
    assert {one: names[topic] for one, topic in topics.items()} == PARTITIONERS


def test_a_hot_key_of_40_percent_is_found_and_shown_only_when_it_may_be(east, keys_of):
    topic = new_topic(east, 6)
    produce(east, topic, [*KEYS, *["hot"] * 400], "murmur2")
    hashed = keys_of(topic)
    assert hashed.facts["hottest_key_share"] == 0.4
    assert hashed["topics"][0]["cause"] == "hot_key"
    assert "Hot keys make the skew" in hashed.facts["verdict"]
    assert hashed["hot_keys"][0]["key"] != "hot"
    shown = keys_of(topic, keys="shown")
    first = shown["hot_keys"][0]
    assert (first["key"], first["records"], first["is_certain"]) == ("hot", 400, True)


def test_hot_keys_are_exact_where_there_are_more_keys_than_memory(east, keys_of):
    topic = new_topic(east, 2)
    produce(east, topic, [*(str(n) for n in range(6 * 1024)), *["hot"] * 4096], "murmur2")
    found = keys_of(topic)
    first = found["hot_keys"][0]
    assert (first["records"], first["is_certain"]) == (4096, True)
    assert found["topics"][0]["distinct_keys"] == pytest.approx(6 * 1024, rel=0.15)
    assert "keys that were not counted exactly have at most" in " ".join(found.notes)


def test_a_wrong_partitioner_makes_a_join_miss_keys(east, keys_of):
    orders, payments = new_topic(east, 6), new_topic(east, 6)
    produce(east, orders, KEYS, "murmur2")
    produce(east, payments, KEYS, "consistent_random")
    found = keys_of(orders, joined_with=payments)
    (row,) = found["joins"]
    assert (row["first_partitioner"], row["second_partitioner"]) == ("murmur2", "crc32")
    assert row["keys"] == len(KEYS)
    assert 0.7 < row["share"] < 0.95
    assert row["since_ms"] is not None
    assert "a join misses them" in found.facts["verdict"]


def test_an_empty_topic_has_no_skew(east, keys_of):
    found = keys_of(new_topic(east, 3))
    assert found["topics"][0]["cause"] == "empty"
    assert found.facts["records"] == 0


def test_a_topic_that_is_joined_with_itself_is_refused(east, keys_of):
    topic = new_topic(east, 3)
    with pytest.raises(InvalidFields) as refused:
        keys_of(topic, joined_with=topic)
    assert set(refused.value.errors) == {"joined_with"}


def test_records_without_keys_have_no_cause_in_their_keys(east, keys_of):
    topic = new_topic(east, 3)
    produce(east, topic, [None] * 50, "murmur2")
    found = keys_of(topic, keys="shown")
    assert (found["topics"][0]["cause"], found["topics"][0]["null_keys"]) == ("no_keys", 50)
    assert found["hot_keys"] == []


def test_a_topic_that_grew_shows_both_partition_counts(east, keys_of):
    topic = new_topic(east, 3)
    produce(east, topic, KEYS, "murmur2")
    admin = AdminClient({"bootstrap.servers": east.bootstrap_servers})
    for future in admin.create_partitions([NewPartitions(topic, 7)]).values():
        future.result(30)
    wait_until_known(east.connection, topic, 7)
    found = keys_of(topic)
    assert found["topics"][0]["partitioner_detail"] == "murmur2 with 3 partitions, nothing since."
    assert keys_of(topic, partitions="3")["simulation"][0]["moved_keys"] == 0
