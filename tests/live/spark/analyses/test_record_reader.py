"""The reader of records beside real logs: what it reads, what it leaves out, and what ends it."""

import asyncio
import os
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from jobs.cluster.admin.acls import AclBinding, create_acls
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields, NotAuthorized
from jobs.cluster.protocol.data.produce import BatchBytes, produce
from jobs.spark import contract
from jobs.spark.analyses.records.ranges import newest, pieces, spans_of, topics_named
from jobs.spark.analyses.records.reading import Clusters, Reading, SpanReader
from jobs.spark.analyses.records.running import notes_of, reduce_records
from jobs.spark.analyses.task import AnalysisTask, Stopped
from jobs.wire.batches.record_batch import HEADER_BYTES
from jobs.wire.batches.records import encode_batch
from tests.live.batches.test_quotas import set_quota
from tests.live.conftest import NO_RETENTION
from tests.live.topics import delete_before, delete_topic, make_topic, new_topic
from tests.live.whole_batches import (
    COMPACTED,
    NOW,
    Transactions,
    make_gaps,
    numbered,
    opened,
    read_placed,
    record,
    settle,
    write_batches,
)
from tests.waiting import PATIENCE, eventually, eventually_async

pytestmark = pytest.mark.timeout(600)
ALL = {"from": None, "to": None, "from_offset": None, "to_offset": None}
ARGUMENTS = {**ALL, "isolation": "read_committed"}
PARTITIONS, WRITTEN = 5_000, 1_000


def planned(cluster, topics, **arguments):
    """Return the spans of topics that arguments of a range name."""
    with ClusterClient(cluster.connection, timeout_s=30 * PATIENCE) as client:
        found = topics_named(client, topics)
        return spans_of(client, found, {**ARGUMENTS, **arguments})


@contextmanager
def reading(cluster, span, **settings):
    with Clusters(Reading({"cluster": cluster.connection}, **settings)) as clusters:
        yield SpanReader(clusters, span)


def offsets_of(chunks):
    """Return the offsets of the records of chunks."""
    return [int(offset) for chunk in chunks for offset in chunk.records.offsets]


def read(cluster, span, **settings):
    """Return the offsets that are read of a span, and its outcome."""
    with reading(cluster, span, **settings) as reader:
        return offsets_of(reader), reader.outcome


def large(cluster, *, batches=14, topic=""):
    """Write more than two answers of a broker: batches of one record of 900 kB each."""
    name = topic or new_topic(cluster)
    write_batches(cluster, name, 0, [[record(0, os.urandom(900_000))] for _ in range(batches)])
    return name


@pytest.fixture(scope="module")
def rows(west):
    """A topic of two partitions with 300 and 30 records, one of each 10 ms, and one of none."""
    topic = new_topic(west, 3)
    for partition, count in enumerate((30, 3)):
        batches = [
            [record(n, timestamp=NOW + 100 * turn + 10 * n) for n in range(10)]
            for turn in range(count)
        ]
        write_batches(west, topic, partition, batches)
    return topic


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        pytest.param({}, [(0, 300), (0, 30), (0, 0)], id="everything"),
        pytest.param({"from_offset": 5, "to_offset": 25}, [(5, 25)] * 2 + [(0, 0)], id="offsets"),
        pytest.param({"from_offset": 50}, [(50, 300), (30, 30), (0, 0)], id="beyond-one-end"),
        pytest.param({"to_offset": 10**9}, [(0, 300), (0, 30), (0, 0)], id="to-beyond-the-end"),
        pytest.param(
            {"from": NOW + 205, "to": NOW + 1000}, [(21, 100), (21, 30), (0, 0)], id="times"
        ),
        pytest.param({"from": NOW + 10**9}, [(300, 300), (30, 30), (0, 0)], id="after-all"),
    ],
)
def test_a_range_is_cut_to_what_each_log_has_and_read_exactly(west, rows, arguments, wanted):
    spans = planned(west, rows, **arguments)
    assert [(one.start, one.end) for one in spans] == wanted
    for span, (start, end) in zip(spans, wanted, strict=True):
        found, outcome = read(west, span)
        assert (found, outcome.fault) == ([*range(start, end)], "")


def test_of_more_records_than_allowed_the_newest_of_each_partition_are_read(west, rows):
    spans = newest(planned(west, rows), 50)
    assert [(one.start, one.is_cut) for one in spans] == [(275, True), (5, True), (0, False)]
    assert read(west, spans[0])[0] == [*range(275, 300)]


def test_pieces_of_a_partition_have_every_record_once(west, rows):
    works = pieces(planned(west, rows)[:1], most=37)
    assert [n for work in works for n in read(west, work.spans[0])[0]] == [*range(300)]


def test_what_is_written_after_the_beginning_is_not_read(west):
    topic = new_topic(west)
    write_batches(west, topic, 0, [numbered(10)])
    (span,) = planned(west, topic)
    write_batches(west, topic, 0, [numbered(10)])
    assert read(west, span)[0] == [*range(10)]


def test_a_name_that_does_not_exist_is_refused(west):
    with pytest.raises(InvalidFields):
        planned(west, "t-nowhere")


def test_without_the_right_to_read_the_plan_is_refused(secure):
    topic = new_topic(secure.cluster)
    with ClusterClient(secure.cluster.connection, timeout_s=30 * PATIENCE) as client:
        create_acls(
            client,
            [AclBinding("TOPIC", "LITERAL", topic, "User:limited", "*", "DESCRIBE", "ALLOW")],
        )
    limited = secure.connection(
        "SASL_PLAINTEXT", "PLAIN", user="limited", password="CROSSLOG_SECRET_LAB_LIMITED"
    )
    with ClusterClient(limited, timeout_s=30 * PATIENCE) as client:
        # Brokers hear of the right to describe it a moment later.
        found = eventually(lambda: described(client, topic))
        with pytest.raises(NotAuthorized, match=topic):
            spans_of(client, found, ARGUMENTS)


def described(client, topic):
    try:
        return topics_named(client, topic)
    except (ClusterFault, InvalidFields):
        return None


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_aborted_records_are_left_out_and_counted_and_an_open_transaction_is_the_end(
    west, isolation
):
    topic = new_topic(west)
    writer, other = Transactions(west, topic), Transactions(west, topic)
    for is_committed in (True, False, True):
        writer.begin()
        writer.write(20)
        writer.end(commit=is_committed)
    asyncio.run(settled(west, topic))
    other.begin()
    other.write(7)
    is_committed = isolation == "read_committed"
    (span,) = planned(west, topic, isolation=isolation)
    assert (span.end, span.log_end) == ((63, 63) if is_committed else (70, 70))
    seen = [*range(20), *range(21, 41), *range(42, 62), *range(63, 70)]
    wanted = [*range(20), *range(42, 62)] if is_committed else seen
    found, outcome = read(west, span, read_committed=is_committed)
    assert (found, outcome.aborted) == (wanted, 20 if is_committed else 0)
    works = pieces([span], most=9)
    counts = [read(west, one.spans[0], read_committed=is_committed)[1].aborted for one in works]
    assert sum(counts) == outcome.aborted
    other.end(commit=False)


async def settled(cluster, topic):
    async with opened(cluster.connection) as door:
        await settle(door, TopicPartition(topic, 0))


def test_a_record_of_10_megabytes_is_read(west):
    topic = new_topic(west, max_message_bytes=str(11 << 20))
    value = os.urandom(10 << 20)
    write_batches(west, topic, 0, [numbered(3), [record(0, value)], numbered(3)])
    (span,) = planned(west, topic)
    with reading(west, span) as reader:
        sizes = [int(size) for chunk in reader for size in chunk.records.value_bytes]
    assert (len(sizes), sizes[3]) == (7, 10 << 20)


def test_a_compacted_topic_has_the_records_that_are_left(west):
    topic = new_topic(west, **COMPACTED)
    make_gaps(west, topic)
    (span,) = planned(west, topic)
    found, outcome = read(west, span)
    assert found == [one.offset for one in read_placed(west, topic)[0]]
    assert (outcome.position, outcome.removed, outcome.fault) == (span.end, 0, "")


@pytest.mark.parametrize(
    ("before", "removed"), [pytest.param(12, 4, id="some"), pytest.param(14, 6, id="all-left")]
)
def test_what_is_removed_while_it_is_read_is_counted(west, before, removed):
    topic = large(west)
    (span,) = planned(west, topic)
    with reading(west, span) as reader:
        found = offsets_of([next(iter(reader))])
        # One answer more was fetched meanwhile: eight records came in all.
        eventually(lambda: reader.outcome.bytes > 7 * 900_000)
        delete_before(west, topic, 0, before)
        found += offsets_of(reader)
    assert found == [*range(8), *range(before, 14)]
    assert (reader.outcome.removed, reader.outcome.position) == (removed, 14)


@pytest.mark.parametrize("is_created", [False, True])
def test_a_topic_that_is_deleted_or_re_created_in_the_middle_ends_its_span_with_the_reason(
    west, is_created
):
    topic = large(west)
    (span,) = planned(west, topic)
    with reading(west, span) as reader:
        found = offsets_of([next(iter(reader))])
        eventually(lambda: reader.outcome.bytes > 7 * 900_000)
        delete_topic(west, topic)
        if is_created:
            eventually(lambda: is_made(west, topic), 30)
            large(west, topic=topic)
        found += offsets_of(reader)
    assert found == [*range(8)]
    assert reader.outcome.position == 8
    assert ("re-created" if is_created else "deleted") in reader.outcome.fault


def is_made(cluster, topic):
    try:
        make_topic(cluster, topic)
    except AssertionError:  # the broker has not removed the old one yet
        return False
    return True


def test_a_broker_with_a_quota_is_given_its_time(small_lab):
    quick = small_lab("slow", overrides=NO_RETENTION).cluster("slow")
    topic = large(quick, batches=10)
    (span,) = planned(quick, topic)
    set_quota(quick, "analysis", "consumer_byte_rate", value=5e5)

    def is_held_back():
        began = time.monotonic()
        found, outcome = read(quick, span)
        assert (found, outcome.fault) == ([*range(10)], "")
        return time.monotonic() - began > 2

    # A broker hears of its quota a moment later.
    eventually(is_held_back, 60)


def test_no_more_is_read_in_a_second_than_allowed(west):
    topic = large(west)
    (span,) = planned(west, topic)
    began = time.monotonic()
    assert read(west, span, bytes_per_s=4e6)[0] == [*range(14)]
    # The last answer is not waited for.
    assert time.monotonic() - began > 2


def test_five_thousand_partitions_are_planned_and_read(small_lab, spark, tmp_path):
    many = small_lab("many", overrides=NO_RETENTION).cluster("many")
    topic = "many-partitions"
    make_topic(many, topic, PARTITIONS)
    asyncio.run(write_everywhere(many, topic))
    spans = planned(many, topic)
    assert len(spans) == PARTITIONS
    assert sum(one.offsets for one in spans) == 2 * WRITTEN
    task, told = task_of(spark, tmp_path), Reading({"cluster": many.connection})
    found = list(
        reduce_records(task, {"kind": "many"}, told, lambda: pieces(spans), count_records, {})
    )
    assert len(found) == WRITTEN
    assert sum(one.tables["counts"]["records"][0].as_py() for one in found) == 2 * WRITTEN
    assert notes_of(found) == []


async def write_everywhere(cluster, topic):
    made = encode_batch(numbered(2))
    batch = BatchBytes(made[:HEADER_BYTES], made[HEADER_BYTES:])
    left = {TopicPartition(topic, number): batch for number in range(WRITTEN)}
    async with opened(cluster.connection) as door:

        async def are_written():
            answer = await produce(door, 1, left, transactional_id=None, timeout_ms=60_000)
            for where, one in answer.partitions.items():
                if one.error is None:
                    del left[where]
            return not left

        # The broker does not lead all of them at once.
        await eventually_async(are_written, 60)


def task_of(spark, folder):
    return AnalysisTask(spark, folder, folder / "tables", folder / "histories")


def count_records(readers, work, options):
    """Count the records of each span, and note that it was read."""
    if options:
        with Path(options["log"]).open("a", encoding="utf-8") as log:
            log.write(f"{work.spans[0].start}\n")
    counts = [sum(len(chunk.records) for chunk in reader) for reader in readers]
    return {"counts": pa.table({"records": np.array(counts, np.int64)})}


def test_a_run_that_was_stopped_reads_only_what_is_left(west, spark, tmp_path):
    topic = new_topic(west)
    write_batches(west, topic, 0, [numbered(100)] * 10)
    (span,) = planned(west, topic)
    log = tmp_path / f"{uuid.uuid4().hex}.log"
    task, told = task_of(spark, tmp_path), Reading({"cluster": west.connection})
    asked = ({"kind": "counts"}, told, lambda: pieces([span], most=2), count_records)
    begun = reduce_records(task, *asked, {"log": str(log)})
    done = {next(begun).work.spans[0].start}
    (tmp_path / contract.STOP).touch()
    with pytest.raises(Stopped):
        done |= {one.work.spans[0].start for one in begun}
    (tmp_path / contract.STOP).unlink()
    found = list(reduce_records(task, *asked, {"log": str(log)}))
    assert [one.work.spans[0].start for one in found] == [*range(0, 1000, 2)]
    assert sum(one.tables["counts"]["records"][0].as_py() for one in found) == 1000
    read_starts = [int(line) for line in log.read_text().split()]
    assert all(read_starts.count(start) == 1 for start in done)
    assert not [one for one in (task.histories / "records").iterdir() if one.is_dir()]


def test_the_same_question_at_the_same_time_is_read_for_each(west, rows, spark, tmp_path):
    (span, *_) = planned(west, rows)
    task, told = task_of(spark, tmp_path), Reading({"cluster": west.connection})
    asked = (task, {"kind": "twice"}, told, lambda: pieces([span], most=1), count_records, {})
    one, other = reduce_records(*asked), reduce_records(*asked)
    pairs = list(zip(one, other, strict=True))
    assert len(pairs) == span.offsets
    assert all(a.tables["counts"] == b.tables["counts"] for a, b in pairs)
