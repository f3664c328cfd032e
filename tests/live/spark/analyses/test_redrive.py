"""Dead letters of a real cluster: planned, sent again once, quarantined, stopped and continued."""

import time
import uuid
from multiprocessing import get_context

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import KafkaException, Producer

from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.cluster.read_only import VARIABLE, ReadOnly
from jobs.spark import contract
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.task import AnalysisTask, Stopped
from jobs.spark.analyses.tracing import dead_letters, redrive, replay_plan
from jobs.tracing.extractors.extractor import preset_extractor
from tests.live.records import Record, read_all, write
from tests.live.spark.analyses.conftest import Found, read
from tests.live.topics import delete_before, new_topic
from tests.waiting import eventually


class StoppedHalfway(AnalysisTask):
    """A task that somebody stops when it has done 20 records."""

    def report(self, message, *, done=None, total=None, unit=""):
        if done and done >= 20:
            (self.run_dir / contract.STOP).touch()
        AnalysisTask.report(self, message, done=done, total=total, unit=unit)


class Asker:
    """Runs kinds against the cluster east; `folder` has the tables of the last one."""

    def __init__(self, spark, cluster, tmp_path):
        self._spark, self.cluster, self._tmp = spark, cluster, tmp_path
        self.folder = None

    def task(self, made=AnalysisTask, **resources):
        folder = self._tmp / f"{time.monotonic_ns()}"
        folder.mkdir()
        self.folder = folder
        resources |= {"cluster": {"connection": self.cluster.connection.to_mapping()}}
        return made(self._spark, folder, folder / "tables", folder / "histories", resources)

    def ask(self, module, task, **arguments):
        kind = module.ANALYSIS
        checked = checked_arguments(kind, {"cluster": "east", **arguments})
        answer = module.run(task, checked)
        document_of(kind, checked, answer, task.tables, 0.0)
        tables = {table.name: read(table, task) for table in kind.tables}
        return Found(dict(answer.facts), answer.notes, tables)

    def letters(self, module, topics, **arguments):
        extractor = preset_extractor("spring-dlt").to_mapping()
        task = self.task(extractor={"extractor": extractor, "registry": None})
        return self.ask(module, task, topics=topics, extractor="spring-dlt", **arguments)

    def plan(self, topics, **arguments):
        """Make a plan; returns it and the path of its table."""
        found = self.letters(replay_plan, topics, **arguments)
        return found, str(self.folder / "tables" / "records" / "part-0.parquet")

    def redrive(self, path, plan_id, **arguments):
        task = self.task(plan={"path": path})
        return self.ask(redrive, task, plan=path, plan_id=plan_id, **arguments)


@pytest.fixture
def asker(spark, east, tmp_path):
    return Asker(spark, east, tmp_path)


@pytest.fixture
def plan_id():
    return uuid.uuid4().hex[:8]


def spring(topic, partition, offset, key, *more):
    """Return a dead letter as Spring for Apache Kafka writes it."""
    return Record(
        0,
        key,
        b"value of %d" % offset,
        [
            ("id", b"%d" % offset),
            ("kafka_dlt-original-topic", topic.encode()),
            ("kafka_dlt-original-partition", partition.to_bytes(4, "big")),
            ("kafka_dlt-original-offset", offset.to_bytes(8, "big")),
            ("kafka_dlt-exception-fqcn", b"java.io.IOException"),
            ("retry_topic-attempts", (4).to_bytes(4, "big")),
            *more,
        ],
    )


def orders(east, count=3, partitions=2):
    """Return a topic with records in its last partition."""
    topic = new_topic(east, partitions=partitions)
    originals = [Record(partitions - 1, b"k%d" % n, b"original %d" % n) for n in range(count)]
    write(east, topic, originals)
    return topic


def values_of(east, topic):
    return [one.value for one in read_all(east, topic)]


def test_dead_letters_are_sent_once_to_their_original_partition_as_replays(east, asker, plan_id):
    topic, dlt = orders(east), new_topic(east)
    write(
        east, dlt, [Record(0, b"k", b"no letter"), *(spring(topic, 1, n, b"k") for n in range(2))]
    )
    found = asker.letters(dead_letters, dlt)
    assert (found.facts["records"], found.facts["letters"]) == (3, 2)
    (group,) = found["groups"]
    assert (group["step"], group["letters"], group["attempts"]) == (topic, 2, 4)
    plan, path = asker.plan(dlt, error="java.io.IOException")
    assert (plan.facts["records"], plan.facts["send"], plan.facts["targets"]) == (2, 2, [topic])
    assert {row["tier"] for row in plan["records"]} == {"local"}
    done = asker.redrive(path, plan_id)
    assert (done.facts["sent"], done.facts["gone"], done["topics"][0]["records"]) == (2, 0, 2)
    *_, first, second = read_all(east, topic)
    assert (first.partition, first.key, first.value) == (1, b"k", b"value of 0")
    assert first.headers == [
        ("id", b"0"),
        ("crosslog-replay-count", b"1"),
        ("crosslog-replay-of", f"{dlt}/0/1".encode()),
        ("crosslog-replay-plan", plan_id.encode()),
    ]
    assert second.value == b"value of 1"
    again = asker.redrive(path, plan_id)
    assert (again.facts["sent"], again.facts["already_done"]) == (0, 2)
    assert len(values_of(east, topic)) == 5


def test_originals_are_sent_from_their_own_topic(east, asker, plan_id):
    topic, dlt, target = orders(east), new_topic(east), new_topic(east)
    write(east, dlt, [spring(topic, 1, n, b"k") for n in (2, 0, 2, 9)])
    plan, path = asker.plan(dlt, content="original", target=target)
    reasons = [row["reason"] for row in plan["records"]]
    assert reasons == [None, None, "duplicate", "behind_log_end"]
    assert any("re-created" in note for note in plan.notes)
    asker.redrive(path, plan_id)
    assert values_of(east, target) == [b"original 2", b"original 0"]


def test_the_loop_guard_quarantines_what_was_replayed_too_often(east, asker, plan_id):
    topic, dlt, parked = orders(east), new_topic(east), new_topic(east)
    counts = (b"1", b"2", b"x")
    given = [spring(topic, 1, n, b"k", ("crosslog-replay-count", c)) for n, c in enumerate(counts)]
    write(east, dlt, given)
    plan, path = asker.plan(dlt, max_replays=2, quarantine_topic=parked)
    assert (plan.facts["send"], plan.facts["quarantine"]) == (1, 2)
    done = asker.redrive(path, plan_id)
    assert (done.facts["sent"], done.facts["quarantined"]) == (1, 2)
    assert dict(read_all(east, topic)[-1].headers)["crosslog-replay-count"] == b"2"
    kept, _ = read_all(east, parked)
    names = dict(kept.headers)
    assert names["crosslog-replay-count"] == b"2"
    assert names["kafka_dlt-exception-fqcn"] == b"java.io.IOException"


def test_a_stopped_redrive_continues_after_its_last_transaction(east, asker, plan_id):
    topic, dlt = orders(east), new_topic(east)
    write(east, dlt, [spring(topic, 1, n, b"k") for n in range(40)])
    _, path = asker.plan(dlt)
    task = asker.task(StoppedHalfway, plan={"path": path})
    with pytest.raises(Stopped):
        asker.ask(redrive, task, plan=path, plan_id=plan_id, records_per_s=20)
    assert values_of(east, topic)[3:] == [b"value of %d" % n for n in range(20)]
    done = asker.redrive(path, plan_id)
    assert (done.facts["already_done"], done.facts["sent"]) == (20, 20)
    assert values_of(east, topic)[3:] == [b"value of %d" % n for n in range(40)]


def test_a_redrive_that_was_killed_continues_without_a_loss_and_without_a_duplicate(
    east, asker, plan_id, tmp_path
):
    topic, dlt = orders(east, count=0), new_topic(east)
    write(east, dlt, [spring(topic, 1, n, b"k") for n in range(400)])
    _, path = asker.plan(dlt)
    given = (east.connection.to_mapping(), tmp_path / "killed", path, plan_id)
    process = get_context("spawn").Process(target=apply_slowly, args=given)
    process.start()
    try:
        eventually(lambda: len(values_of(east, topic)) >= 20, 60)
    finally:
        process.kill()
        process.join()
    done = asker.redrive(path, plan_id, records_per_s=1000)
    assert 20 <= done.facts["already_done"] < 400
    assert done.facts["already_done"] + done.facts["sent"] == 400
    assert values_of(east, topic) == [b"value of %d" % n for n in range(400)]


def apply_slowly(connection, folder, path, plan_id):
    """Apply a plan in a process of its own."""
    folder.mkdir()
    resources = {"cluster": {"connection": connection}, "plan": {"path": path}}
    task = AnalysisTask(None, folder, folder / "tables", folder / "histories", resources)
    redrive.run(task, {"plan_id": plan_id, "records_per_s": 20})


def test_a_transaction_that_a_killed_run_left_is_aborted(east, asker, plan_id):
    topic, dlt = orders(east, count=0), new_topic(east)
    write(east, dlt, [spring(topic, 1, n, b"k") for n in range(6)])
    _, path = asker.plan(dlt)
    killed = Producer(
        {
            "bootstrap.servers": east.bootstrap_servers,
            "transactional.id": f"crosslog-redrive-{plan_id}",
        }
    )
    killed.init_transactions()
    killed.begin_transaction()
    killed.produce(topic, b"half of a transaction", partition=1)
    killed.flush()
    assert asker.redrive(path, plan_id).facts["sent"] == 6
    assert values_of(east, topic) == [b"value of %d" % n for n in range(6)]
    with pytest.raises(KafkaException):
        killed.commit_transaction()


def test_a_record_that_is_gone_when_the_plan_is_applied_is_listed(east, asker, plan_id):
    topic, dlt = orders(east, count=0), new_topic(east)
    write(east, dlt, [spring(topic, 1, n, b"k") for n in range(3)])
    _, path = asker.plan(dlt)
    delete_before(east, dlt, 0, 1)
    done = asker.redrive(path, plan_id)
    assert (done.facts["sent"], done.facts["gone"]) == (2, 1)
    (problem,) = done["problems"]
    assert (problem["offset"], problem["reason"]) == (0, "It was removed from the log.")


def test_a_record_that_the_target_refuses_ends_the_run_with_its_place(east, asker, plan_id):
    topic, dlt = new_topic(east, max_message_bytes="1000"), new_topic(east)
    large = Record(
        0, b"k", b"".join(uuid.uuid4().bytes for _ in range(200)), spring(topic, 0, 1, b"k").headers
    )
    write(east, dlt, [spring(topic, 0, 0, b"k"), large])
    _, path = asker.plan(dlt)
    with pytest.raises(ClusterFault, match=rf"Sending {dlt}/0/1 to {topic}.*MESSAGE_TOO_LARGE"):
        asker.redrive(path, plan_id)
    assert values_of(east, topic) == []


def test_a_large_record_is_a_transaction_of_its_own(east, asker, plan_id):
    size = {"max_message_bytes": str(12 << 20)}
    topic, dlt = new_topic(east, **size), new_topic(east, **size)
    value = bytes(10 << 20)
    large = Record(0, b"k", value, spring(topic, 0, 1, b"k").headers)
    write(east, dlt, [spring(topic, 0, 0, b"k"), large], **{"message.max.bytes": 11 << 20})
    _, path = asker.plan(dlt)
    assert asker.redrive(path, plan_id).facts["sent"] == 2
    assert len(values_of(east, topic)[1]) == len(value)


def test_another_plan_with_the_same_id_is_refused(east, asker, plan_id):
    topic, dlt = orders(east), new_topic(east)
    write(east, dlt, [spring(topic, 1, n, b"k") for n in range(2)])
    _, path = asker.plan(dlt)
    asker.redrive(path, plan_id)
    _, other = asker.plan(dlt, to_offset=1)
    with pytest.raises(InvalidFields, match="Another plan was applied with this ID"):
        asker.redrive(other, plan_id)


def test_a_target_that_cannot_be_one_is_a_reason_to_skip(east, asker):
    dlt = new_topic(east)
    names = ["absent", "__consumer_offsets", dlt, "no name/\u00e4", "", "x" * 300]
    write(east, dlt, [spring(name, 0, n, b"k") for n, name in enumerate(names)])
    plan, _ = asker.plan(dlt)
    reasons = [row["reason"] for row in plan["records"]]
    assert reasons[0] == "no_target"
    # A cluster may hide its internal topics.
    assert reasons[1] in {"internal_target", "no_target"}
    assert reasons[2:4] == ["target_is_source", "no_target"]
    assert set(reasons[4:]) <= {"no_target", "no_original"}


def test_a_file_that_is_no_plan_is_refused(asker, plan_id, tmp_path):
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"topic": ["a"]}), other)
    text = tmp_path / "text.parquet"
    text.write_text("no Parquet")
    for path in (other, text):
        with pytest.raises(InvalidFields, match="It is no replay plan"):
            asker.redrive(str(path), plan_id)


def test_nothing_is_sent_while_crosslog_is_read_only(asker, plan_id, monkeypatch):
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(ReadOnly):
        asker.redrive("nowhere", plan_id)
