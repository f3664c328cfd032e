"""Work that moves through topics: where slips are stuck, and dead letters that are sent again, over REST."""

import time
import uuid

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition

from console.frame.processes.demo_client import Refused
from tests.journeys.analyses import answer, ask
from tests.live.records import Record, read_all, write

pytestmark = pytest.mark.journey
STEPS = ("check", "reserve", "pay", "pack", "ship")
MINUTE = 60_000


def rows(world, run: str, table: str) -> list[dict]:
    return list(world.get(f"runs/{run}/tables/{table}/?limit=500")["rows"])


def commit(cluster, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group})
    consumer.commit(offsets=[ClientPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def slip(name: str, step: str, began: int) -> Record:
    """Return the record of a slip that waits for a step."""
    at = STEPS.index(step)
    headers = [
        ("slip-id", name.encode()),
        ("slip", ",".join(STEPS).encode()),
        ("slip-done", ",".join(STEPS[:at]).encode()),
    ]
    return Record(0, name.encode(), b"{}", headers, began + at * MINUTE)


def dead_letter(record: Record, topic: str, offset: int) -> Record:
    """Return the record as Spring for Apache Kafka writes it to a dead letter topic."""
    failure = [
        ("kafka_dlt-original-topic", topic.encode()),
        ("kafka_dlt-original-partition", (0).to_bytes(4, "big")),
        ("kafka_dlt-original-offset", offset.to_bytes(8, "big")),
        ("kafka_dlt-exception-fqcn", b"org.example.CardRefused"),
    ]
    return record._replace(headers=[*(record.headers or ()), *failure], timestamp_ms=None)


def test_stuck_slips_are_told_apart_by_what_the_service_has_read(world):
    topics = {step: world.topic(step) for step in STEPS}
    began = time.time_ns() // 1_000_000 - 60 * MINUTE
    for step in STEPS[:3]:
        records = [slip(name, step, began) for name in ("lost", "not-read")]
        write(world.east, topics[step], records)
        # Of two records at pay, its service has read the first one.
        commit(world.east, f"{step}-service", topics[step], 1 if step == "pay" else 2)
    extractor = f"orders-{uuid.uuid4().hex[:8]}"
    world.post(
        "extractors/",
        {
            "cluster": "east",
            "name": extractor,
            "definition": {
                "topics": ",".join(topics.values()),
                "fields": {
                    "id": "header:slip-id",
                    "steps": "header:slip as csv",
                    "done": "header:slip-done as csv",
                },
                "topic_steps": {topic: step for step, topic in topics.items()},
                "groups": {step: f"{step}-service" for step in STEPS},
            },
        },
    )
    run = ask(world, "slips", cluster="east", extractor=extractor, ids="shown")
    answer(world, run)
    stuck = {one["slip"]: (one["step"], one["verdict"]) for one in rows(world, run, "stuck")}
    assert stuck == {"lost": ("pay", "read_and_lost"), "not-read": ("pay", "not_read")}


def test_a_dead_letter_is_planned_confirmed_by_name_and_sent_again_once(world):
    topic, letters = world.topic("pay"), world.topic("dead-letters")
    failed = slip("lost", "pay", time.time_ns() // 1_000_000 - 60 * MINUTE)
    write(world.east, topic, [failed])
    write(world.east, letters, [dead_letter(failed, topic, 0)])
    named = {"cluster": "east", "extractor": "spring-dlt", "topics": letters}
    run = ask(world, "dead-letters", **named)
    answer(world, run)
    (group,) = rows(world, run, "groups")
    assert (group["step"], group["error"]) == (topic, "org.example.CardRefused")

    plan = ask(world, "replay-plan", **named, error=group["error"])
    assert answer(world, plan)["facts"]["send"] == 1
    redrive = world.post("redrives/", {"plan_run": plan})
    assert (redrive["state"], redrive["plan"]["tiers"]) == ("NOT_APPLIED", {"local": 1})
    path, confirmed = f"redrives/{redrive['id']}", {"confirm": redrive["name"]}
    with pytest.raises(Refused, match="confirm: Type the redrive's name") as caught:
        world.post(f"{path}/apply/", {"confirm": letters})
    assert caught.value.status == 400
    assert len(read_all(world.east, topic)) == 1

    applied = world.post(f"{path}/apply/", confirmed)
    assert answer(world, applied["run"])["facts"]["sent"] == 1
    _, sent = read_all(world.east, topic)
    replay = {
        "crosslog-replay-count": b"1",
        "crosslog-replay-of": f"{letters}/0/0".encode(),
        "crosslog-replay-plan": redrive["id"].encode(),
    }
    assert (sent.key, sent.headers) == (failed.key, [*failed.headers, *replay.items()])
    done = world.get(f"{path}/")
    assert (done["state"], done["result"]["sent"]) == ("SUCCEEDED", 1)
    with pytest.raises(Refused, match="All records of this plan were processed"):
        world.post(f"{path}/apply/", confirmed)
    assert len(read_all(world.east, topic)) == 2
