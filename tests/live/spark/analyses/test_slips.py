"""Slips of five steps in a real cluster: where they are, and which group read them."""

import time

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ClientPartition

from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.task import AnalysisTask
from jobs.spark.analyses.tracing import slips
from tests.live.records import Record, write
from tests.live.spark.analyses.conftest import Found, read
from tests.live.topics import new_topic

STEPS = ("check", "reserve", "pay", "pack", "ship")
MINUTE = 60_000


def commit(cluster, group, topic, offset):
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group})
    consumer.commit(offsets=[ClientPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def in_transaction(cluster, topic, slip):
    """Return a producer with an open transaction that has a record of a slip."""
    servers = cluster.bootstrap_servers
    producer = Producer({"bootstrap.servers": servers, "transactional.id": f"of-{topic}"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"v", b"k", headers=[("id", slip.encode())])
    assert producer.flush(60) == 0
    return producer


def run(spark, folder, resources):
    task = AnalysisTask(spark, folder, folder / "tables", folder / "histories", resources)
    kind = slips.ANALYSIS
    given = {"cluster": "east", "extractor": "orders", "ids": "shown", "slip": "lost"}
    checked = checked_arguments(kind, given)
    answer = slips.run(task, checked)
    document_of(kind, checked, answer, task.tables, 0.0)
    rows = {one.name: read(one, task) for one in kind.tables}
    return Found(dict(answer.facts), answer.notes, rows)


def test_stuck_slips_are_told_apart_by_the_committed_offsets_of_their_step(spark, east, tmp_path):
    topics = {step: new_topic(east) for step in (*STEPS, "end")}
    began = time.time_ns() // 1_000_000 - 60 * MINUTE
    paths = {
        "complete": (*STEPS, "end"),
        "lost": STEPS[:3],
        "not-read": STEPS[:3],
        "skipped": ("check", "pay", "pack", "ship", "end"),
    }
    for step, topic in topics.items():
        rows = [
            Record(0, b"k", b"v", [("id", slip.encode())], began + path.index(step) * MINUTE)
            for slip, path in paths.items()
            if step in path
        ]
        write(east, topic, rows)
    # The topic of "pay" has complete, lost, not-read and skipped, in this order.
    for step in STEPS:
        commit(east, f"{topics[step]}-service", topics[step], 2 if step == "pay" else 4)
    in_transaction(east, topics["pack"], "lost").abort_transaction(60)
    extractor = {
        "name": "orders",
        "topics": ",".join(topics.values()),
        "fields": {"id": "header:id"},
        "steps": list(STEPS),
        "topic_steps": {topics[step]: step for step in STEPS},
        "end_topics": [topics["end"]],
    }
    resources = {
        "cluster": {"connection": east.connection.to_mapping()},
        "extractor": {"extractor": extractor, "registry": None},
    }
    found = run(spark, tmp_path / "closed", resources)
    assert {row["slip"]: (row["step"], row["verdict"]) for row in found["stuck"]} == {
        "lost": ("pay", "read_and_lost"),
        "not-read": ("pay", "not_read"),
    }
    assert found["stuck"][0]["group"] == f"{topics['pay']}-service"
    violations = [(row["slip"], row["what"], row["step"]) for row in found["violations"]]
    assert violations == [("skipped", "incomplete", "reserve")]
    assert (found.facts["slips"], found.facts["complete"]) == (4, 2)
    assert [row["step"] for row in found["timeline"]] == list(STEPS[:3])
    assert [(row["step"], row["entered"], row["waiting"]) for row in found["funnel"]] == [
        ("check", 4, 0),
        ("reserve", 3, 0),
        ("pay", 4, 2),
        ("pack", 2, 0),
        ("ship", 2, 0),
    ]
    assert {row["p50_ms"] for row in found["dwell"]} == {MINUTE}
    # Its record may be what "lost" lacks.
    producer = in_transaction(east, topics["pack"], "lost")
    held = run(spark, tmp_path / "open", resources)
    producer.abort_transaction(60)
    assert {row["slip"]: row["verdict"] for row in held["stuck"]} == {
        "lost": "unknown",
        "not-read": "not_read",
    }
    hidden = f"An open transaction hides the newest records: {topics['pack']}."
    assert any(note.startswith(hidden) for note in held.notes)
