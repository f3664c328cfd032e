"""What is in topics: a change of rate, a hot key, each fault of a copy, and a store at a time, over REST."""

import random
import uuid
from collections import Counter
from datetime import UTC, datetime

import pytest
from confluent_kafka import TopicPartition as ClientPartition

from jobs.wire.batches.hashes import partition_for_key
from tests.journeys.analyses import answer, ask
from tests.live.records import Record, write
from tests.live.topics import admin_of, make_topic

pytestmark = pytest.mark.journey
PARTITIONS, MINUTES, STEP = 3, 60, 30
FIRST_MS = 1_790_000_040_000 // 60_000 * 60_000
HOT = b"customer-hot"


def orders() -> list[Record]:
    """Records of an hour: ten a minute, from half past on a hundred; one key has 40 % of them."""
    draw = random.Random(57)
    records = []
    for minute in range(MINUTES):
        for number in range(10 if minute < STEP else 100):
            key = HOT if draw.random() < 0.4 else b"customer-%03d" % draw.randrange(200)
            value = b'{"order":%d,"minute":%d}' % (number, minute)
            at_ms = FIRST_MS + minute * 60_000 + number * 100
            partition = partition_for_key(key, PARTITIONS)
            records.append(Record(partition, key, value, None, at_ms))
    return records


def in_partition(records: list[Record], partition: int) -> list[Record]:
    return [one for one in records if one.partition == partition]


@pytest.fixture
def copied(world):
    """A topic of east and a copy on west with one fault of each kind; yields both names and the records."""
    topic, copy = world.topic("orders", PARTITIONS), f"copy-{uuid.uuid4().hex[:8]}"
    make_topic(world.west, copy, PARTITIONS)
    records = orders()
    write(world.east, topic, records)
    for partition in range(PARTITIONS):
        kept = in_partition(records, partition)
        if partition == 0:
            kept[20] = kept[20]._replace(value=b"altered")
            kept[30], kept[31] = kept[31], kept[30]
            kept.insert(41, kept[40])
            del kept[61]
        write(world.west, copy, kept)
    removed = admin_of(world.west.connection).delete_records([ClientPartition(copy, 1, 7)])
    for one in removed.values():
        one.result()
    return topic, copy, records


def rows(world, run: str, table: str) -> list[dict]:
    return list(world.get(f"runs/{run}/tables/{table}/?limit=500")["rows"])


def test_a_profile_finds_the_change_of_rate_and_skew_the_hot_key_and_the_partitioner(world, copied):
    topic, _, records = copied
    run = ask(world, "topic-profile", cluster="east", topics=topic, bucket="minute")
    answer(world, run)
    counts = Counter(one.timestamp_ms // 60_000 * 60_000 for one in records)
    told = {at_ms_of(one["bucket_ms"]): one["records"] for one in rows(world, run, "buckets")}
    assert told == counts
    changes = [one for one in rows(world, run, "changes") if one["series"] == "records_per_s"]
    factors = {at_ms_of(one["at_ms"]): one["factor"] for one in changes}
    assert 8 < factors.pop(FIRST_MS + STEP * 60_000) < 12
    # The other one is that nothing was written since.
    assert set(factors) <= {FIRST_MS + MINUTES * 60_000}

    run = ask(world, "key-skew", cluster="east", topics=topic)
    answer(world, run)
    hot = rows(world, run, "hot_keys")[0]
    assert hot["records"] == sum(one.key == HOT for one in records)
    assert HOT.decode() not in str(hot)
    (told,) = rows(world, run, "topics")
    assert (told["cause"], told["partitioner"]) == ("hot_key", "murmur2")


def test_an_audit_finds_each_fault_of_a_copy_and_the_next_one_reads_only_what_is_new(world, copied):
    topic, copy, records = copied
    named = {"source": "east", "source_topic": topic, "target": "west", "target_topic": copy}
    run = ask(world, "copy-audit", **named)
    facts = answer(world, run)["facts"]
    assert facts["verdict"] == "differs"
    found = {(one["what"], one["partition"]): one for one in rows(world, run, "findings")}
    assert found["altered", 0]["source_offset"] == found["altered", 0]["target_offset"] == 20
    assert found["reordered", 0]["source_offset"] in {30, 31}
    assert found["duplicated", 0]["target_offset"] == 41
    assert found["missing", 0]["source_offset"] == 60
    assert found["deleted_on_target", 1]["source_to"] == 7
    assert set(found) == {
        ("altered", 0),
        ("reordered", 0),
        ("duplicated", 0),
        ("missing", 0),
        ("deleted_on_target", 1),
    }

    more = in_partition(records, 2)[:5]
    for cluster, name in ((world.east, topic), (world.west, copy)):
        write(cluster, name, more)
    again = answer(world, ask(world, "copy-audit", **named))["facts"]
    assert again["verdict"] == "differs"
    assert again["proven_before"] == facts["records_compared"]
    assert again["records_compared"] == facts["records_compared"] + len(more)


def test_a_store_is_told_as_it_was_at_a_time(world, copied):
    topic, _, records = copied
    at_ms = FIRST_MS + STEP * 60_000
    before = {one.key: one for one in records if one.timestamp_ms < at_ms}
    at = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()
    run = ask(world, "store-at", cluster="east", topic=topic, at=at)
    facts = answer(world, run)["facts"]
    assert facts["entries"] == len(before)

    asked = {"cluster": "east", "topic": topic, "at": at, "key": HOT.decode()}
    run = ask(world, "store-at", **asked, show="values")
    assert before[HOT].value.decode() in str(answer(world, run))


def at_ms_of(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)
