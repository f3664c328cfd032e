"""Topics of a real cluster: rates, sizes, a change, and transactions that were aborted."""

import time
import uuid

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.metadata.log_history import open_history
from jobs.spark.analyses.records import topic_profile
from jobs.spark.analyses.records.profile.around import around
from jobs.spark.analyses.task import AnalysisTask
from tests.live.records import Record, write
from tests.live.replication.test_checkpoints import transactions
from tests.live.spark.analyses.conftest import Found, read
from tests.live.spark.runs import write_small_log
from tests.live.topics import delete_before, new_topic

MINUTE = 60_000
BEGIN = 1_700_000_040_000 // MINUTE * MINUTE


@pytest.fixture
def profile(spark, east, tmp_path):
    """Ask for the profile of topics of the cluster east."""

    def ask(topics, *, events=None, **arguments):
        resources = {"cluster": {"connection": east.connection.to_mapping()}}
        resources |= {"events": {"events": events}} if events is not None else {}
        folder = tmp_path / f"{time.monotonic_ns()}"
        folder.mkdir()
        task = AnalysisTask(spark, folder, folder / "tables", folder / "histories", resources)
        kind = topic_profile.ANALYSIS
        given = {"cluster": "east", "topics": topics, "bucket": "minute", **arguments}
        checked = checked_arguments(kind, given)
        answer = topic_profile.run(task, checked)
        document_of(kind, checked, answer, task.tables, 0.0)
        tables = {table.name: read(table, task) for table in kind.tables}
        return Found(dict(answer.facts), answer.notes, tables)

    return ask


def records_of(minutes, partition=0):
    """Return so many records in each minute, of 100 bytes with the key."""
    return [
        Record(partition, b"%010d" % (n % 7), b"v" * 90, None, BEGIN + minute * MINUTE + n)
        for minute, count in enumerate(minutes)
        for n in range(count)
    ]


def test_a_change_of_rate_is_found_in_its_bucket_with_what_happened_near_it(east, profile):
    topic = new_topic(east, partitions=2)
    for partition in range(2):
        write(
            east,
            topic,
            records_of([60] * 12 + [240] * 12, partition),
            **{"compression.type": "lz4"},
        )
    moment = BEGIN + 12 * MINUTE
    event = {"at_ms": moment - 5_000, "kind": "finding", "text": "A flow was started.", "where": ""}
    arguments = {"from": BEGIN, "to": BEGIN + 24 * MINUTE}
    found = profile(topic, events=[event], **arguments)
    (total,) = found["totals"]
    assert (total["records"], total["complete_buckets"]) == (7_200, 24)
    assert (total["record_bytes_p50"], total["record_bytes_max"]) == (100, 100)
    assert (total["distinct_keys"], total["null_keys"], total["out_of_order"]) == (7, 0, 0)
    assert total["compression_ratio"] > 2
    rows = [row for row in found["buckets"] if row["complete"]]
    assert [row["records_per_s"] for row in rows] == [2.0] * 12 + [8.0] * 12
    (rate,) = (row for row in found["changes"] if row["series"] == "records_per_s")
    assert (rate["at_ms"], rate["before"], rate["after"]) == (moment, 2.0, 8.0)
    assert [row["text"] for row in found["around"]] == ["A flow was started."]
    assert found["around"][0]["distance_s"] == -5


def test_records_of_aborted_transactions_are_no_part_of_it(east, profile):
    topic = new_topic(east)
    transactions(east, topic)
    found = profile(topic)
    assert found["totals"][0]["records"] == 60
    assert "15 records of aborted transactions were left out." in found.notes
    assert profile(topic, isolation="read_uncommitted")["totals"][0]["records"] == 75


def test_a_large_record_a_compacted_topic_and_an_empty_one_are_read_together(east, profile):
    large = new_topic(east, max_message_bytes=str(12 << 20))
    compacted, empty = new_topic(east, cleanup_policy="compact"), new_topic(east)
    size = 10 << 20
    write(east, large, [Record(0, b"k", b"v" * size)], **{"message.max.bytes": size + (1 << 20)})
    write(east, compacted, [*records_of([30] * 12 + [90] * 12), Record(0, b"gone", None)])
    found = profile(f"{large},{compacted},{empty}", to_offset=10_000_000)
    totals = {row["topic"]: row for row in found["totals"]}
    assert (totals[large]["large"], totals[large]["record_bytes_max"]) == (1, size + 1)
    assert totals[compacted]["tombstones"] == 1
    assert (totals[empty]["records"], totals[empty]["records_per_s"]) == (0, None)
    assert not [row for row in found["changes"] if row["topic"] == compacted]
    assert any(note.startswith(f"{compacted}: It is compacted") for note in found.notes)


def test_a_log_of_which_the_beginning_was_removed_has_complete_minutes_after_it(east, profile):
    topic = new_topic(east)
    write(east, topic, records_of([10] * 4))
    delete_before(east, topic, 0, 15)
    rows = profile(topic, to=BEGIN + 4 * MINUTE)["buckets"]
    assert [(row["records"], row["complete"]) for row in rows] == [
        (5, False),
        (10, True),
        (10, True),
    ]
    assert rows[0]["records_per_s"] is None


@pytest.mark.parametrize(
    ("topics", "why"),
    [
        pytest.param("absent", r"There is no topic absent\.", id="absent"),
        pytest.param(" , ,", "No topic of .* matches", id="only commas"),
        pytest.param("nothing-has-this-*", "No topic of .* matches", id="a pattern of nothing"),
    ],
)
def test_topics_that_are_not_there_are_refused(profile, topics, why):
    with pytest.raises(InvalidFields, match=why):
        profile(topics)


def test_a_name_that_is_too_long_is_refused(profile):
    with pytest.raises((ClusterFault, InvalidFields), match=r"(?i)topic"):
        profile("x" * 300)


def test_what_an_open_transaction_holds_back_is_noted_and_makes_buckets_incomplete(east, profile):
    topic = new_topic(east, partitions=2)
    write(east, topic, records_of([10] * 4))
    producer = Producer(
        {"bootstrap.servers": east.bootstrap_servers, "transactional.id": uuid.uuid4().hex}
    )
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=1)
    producer.flush()
    try:
        found = profile(topic)
        whole = profile(topic, isolation="read_uncommitted")
    finally:
        producer.abort_transaction()
    assert any("An open transaction holds back the end of 1 partitions" in n for n in found.notes)
    assert (found["totals"][0]["records"], found["totals"][0]["complete_buckets"]) == (40, 0)
    assert whole["totals"][0]["records"] == 41


def test_a_topic_that_has_only_control_batches_has_a_row_of_zeros(east, profile):
    topic = new_topic(east)
    producer = Producer(
        {"bootstrap.servers": east.bootstrap_servers, "transactional.id": uuid.uuid4().hex}
    )
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"aborted", partition=0)
    producer.flush()
    producer.abort_transaction()
    delete_before(east, topic, 0, 1)
    found = profile(topic)
    assert (found["totals"][0]["records"], found["buckets"], found["changes"]) == (0, [], [])


def test_hundreds_of_topics_and_times_that_no_calendar_has_are_read_together(east, profile):
    name = f"many-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": east.bootstrap_servers})
    far = {"message.timestamp.after.max.ms": str(2**63 - 1)}
    made = admin.create_topics([NewTopic(f"{name}-{n}", 1, 1, config=far) for n in range(300)])
    for one in made.values():
        one.result(60)
    times = [1, 9_999_999_999_999, 1_700_000_000_000_000, 10**18]
    write(east, f"{name}-7", [Record(0, b"k", b"v", None, at_ms) for at_ms in times])
    found = profile(f"{name}-*")
    assert len(found["totals"]) == 300
    rows = {row["bucket_ms"]: row["future"] for row in found["buckets"]}
    assert rows == {0: 0, 9_999_999_999_999 // MINUTE * MINUTE: 1, None: 2}


def test_what_the_metadata_log_says_near_a_change_is_listed_and_where_it_ends(spark, tmp_path):
    log = write_small_log(tmp_path / "__cluster_metadata-0")
    task = AnalysisTask(spark, tmp_path, tmp_path / "tables", tmp_path / "histories")
    history = open_history(task, str(log))
    change = {
        "topic": "orders",
        "series": "records_per_s",
        "at_ms": history.last_ms,
        "factor": None,
    }
    rows, notes = around(task, [change], MINUTE, str(log))
    first = next(row for row in rows if row["kind"] == "partition")
    assert (first["change"], first["text"][-1]) == ("orders: records per s from 0", ".")
    assert all(row["distance_s"] <= 0 and row["at_ms"] <= history.last_ms for row in rows)
    assert notes[-1].startswith("The metadata log is of ")
