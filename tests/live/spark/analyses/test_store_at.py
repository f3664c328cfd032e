"""Stores at a moment, of a changelog that a real log cleaner compacted."""

import time
from functools import partial

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.records.ranges import Span, Work
from jobs.spark.analyses.records.reading import Reading
from jobs.spark.analyses.records.store_at import ANALYSIS, still_there
from jobs.spark.analyses.task import AnalysisTask
from jobs.wire.batches.hashes import partition_for_key
from tests.live.replication.test_checkpoints import transactions
from tests.live.spark.analyses.conftest import Found, read
from tests.live.topics import delete_before, new_topic
from tests.live.whole_batches import COMPACTED, NOW, make_gaps, read_placed, record, write_batches


@pytest.fixture
def store(spark, tmp_path, west):
    """Query a store of `west`."""

    def ask(topic, **arguments):
        folder = tmp_path / f"{time.monotonic_ns()}"
        folder.mkdir()
        resources = {"cluster": {"connection": west.connection.to_mapping()}}
        task = AnalysisTask(spark, folder, folder / "tables", folder / "histories", resources)
        given = checked_arguments(ANALYSIS, {"cluster": "west", "topic": topic, **arguments})
        answer = ANALYSIS.run(task, given)
        document_of(ANALYSIS, given, answer, task.tables, 0.0)
        tables = {table.name: read(table, task) for table in ANALYSIS.tables}
        return Found(dict(answer.facts), answer.notes, tables)

    return ask


@pytest.fixture(scope="module")
def compacted(west):
    """A topic of 901 records of 40 keys; what is left of them by offset."""
    topic = new_topic(west, **COMPACTED)
    make_gaps(west, topic)
    return topic, read_placed(west, topic)[0]


def test_entries_now_are_exact_and_before_the_last_cleaning_a_range(compacted, store):
    topic, left = compacted
    last = {one.key: one.value for one in left}
    live = {key: value for key, value in last.items() if value is not None}
    found = store(topic)
    facts = found.facts
    assert (facts["entries"], facts["entries_most"], facts["tombstones"]) == (
        len(live), len(live), len(last) - len(live),
    )  # fmt: skip
    assert facts["bytes"] == sum(len(key) + len(value) for key, value in live.items())
    (row,) = found["partitions"]
    assert (row["state"], row["removed"]) == ("exact", row["moment"] - len(left))
    assert any("Compaction removed" in note for note in found.notes)

    found = store(topic, at=NOW + 2_000)
    facts, (row,) = found.facts, found["partitions"]
    before = {record.key for record in left if record.offset < row["moment"]}
    assert (row["state"], facts["entries"]) == ("range", len(before))
    assert facts["entries"] < 40 <= facts["entries_most"]
    assert row["complete_since"] > row["moment"]


def test_a_key_is_exact_from_its_first_record_that_is_left_and_unknown_before(compacted, store):
    topic, left = compacted
    one = next(record for record in left if record.offset > 500)
    ask = partial(store, topic, partition=0, key=one.key.decode())
    found = ask(at_offset=one.offset, show="values")
    facts = found.facts
    assert (facts["state"], facts["offset"]) == ("value", one.offset)
    assert facts["value"] == one.value.decode()
    assert found["changes"][0]["place"] == "at"
    found = ask(at_offset=one.offset - 1)
    assert (found.facts["state"], found["changes"][0]["place"]) == ("unknown", "after")
    assert found["changes"][0]["value"] is None


def test_transactions_leave_no_gaps(west, store):
    topic = new_topic(west)
    transactions(west, topic)
    (row,) = store(topic)["partitions"]
    assert (row["state"], row["removed"], row["complete_since"]) == ("exact", 0, 0)


def test_a_key_in_another_partition_than_its_hash_says_is_found(west, store):
    topic = new_topic(west, 3)
    other = (partition_for_key(b"k", 3) + 1) % 3
    write_batches(west, topic, other, [[record(0, b"v", b"k"), record(1, None, b"gone")]])
    found = store(topic, key="6b", key_format="hex")
    assert (found.facts["state"], found.facts["partition"]) == ("value", other)
    assert any("by murmur2" in note for note in found.notes)
    assert store(topic, key="gone").facts["state"] == "deleted"
    assert store(topic, key="never").facts["state"] == "absent"


def test_a_log_that_begins_late_leaves_older_keys_unknown(west, store):
    topic = new_topic(west)
    write_batches(west, topic, 0, [[record(n, b"v", b"k%d" % n) for n in range(10)]])
    delete_before(west, topic, 0, 4)
    found = store(topic)
    assert (found.facts["entries"], found.facts["entries_most"]) == (6, 10)
    assert any("begin after offset 0" in note for note in found.notes)
    assert store(topic, key="k1").facts["state"] == "unknown"


def test_a_key_whose_record_was_removed_while_others_were_read_is_unknown(west):
    topic = new_topic(west)
    write_batches(west, topic, 0, [[record(0, b"v", b"k")]] * 2)
    delete_before(west, topic, 0, 1)
    work = Work((Span("cluster", topic, 0, 0, 2, 0, 2),))
    reading = Reading({"cluster": west.connection})
    for offset, state in ((0, "unknown"), (1, "value")):
        row = {"partition": 0, "state": "value"}
        hit = {"partition": 0, "offset": offset, "place": "at"}
        found = still_there(reading, [work], [row], [hit])
        assert (found, row["state"]) == ([hit] * (state == "value"), state)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"at_offset": 5}, "at_offset"),
        ({"at_offset": 10**6, "partition": 0}, "at_offset"),
        ({"at_offset": 5, "partition": 7}, "partition"),
        ({"key": "xyz", "key_format": "hex"}, "key"),
    ],
    ids=["without partition", "beyond the end", "no partition", "no hex"],
)
def test_questions_that_have_no_answer_are_refused(compacted, store, arguments, field):
    with pytest.raises(InvalidFields) as refused:
        store(compacted[0], **arguments)
    assert set(refused.value.errors) == {field}


def test_a_topic_that_does_not_exist_is_refused(store):
    with pytest.raises(InvalidFields):
        store("no-such-topic")


@pytest.mark.parametrize("at", [-3, -2, 1])
def test_before_the_first_record_a_store_is_empty(west, store, at):
    topic = new_topic(west)
    write_batches(west, topic, 0, [[record(n, b"v", b"k%d" % n) for n in range(3)]])
    facts = store(topic, at=at).facts
    assert (facts["entries"], facts["entries_most"]) == (0, 0)
    assert store(topic, at=at, key="k0").facts["state"] == "absent"


def test_a_time_in_the_future_is_now(west, store):
    topic = new_topic(west)
    write_batches(west, topic, 0, [[record(n, b"v", b"k%d" % n) for n in range(3)]])
    found = store(topic, at="2100-01-01T00:00:00Z")
    assert found.facts["entries"] == 3
    assert found.facts["as_of"] < "2099"
