"""What holds the last stable offset, beside Kafka's tools (reported/open_transaction_hides_lag)."""

import asyncio
import shlex
import uuid
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Producer

from console.clusters.collection import collect
from console.clusters.models import Cluster, CollectionRound, GroupOffset, Noun, Partition, Topic
from console.clusters.trouble.stuck import trouble_of
from console.clusters.trouble.told import troubles_of
from jobs.cluster.admin.groups import alter_group_offsets
from jobs.cluster.admin.offsets import read_offset_ranges, read_open_transactions
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.protocol.data.produce import encode_produce
from jobs.cluster.protocol.data.transactions import init_producer_id
from jobs.cluster.protocol.transport.apis import PRODUCE
from jobs.cluster.protocol.transport.connection_pool import PRODUCE as LANE
from tests.jobs.cluster.protocol.batches import claimed
from tests.live.groups import new_group
from tests.live.kafka_tools import run
from tests.live.records import produce
from tests.live.topics import new_topic
from tests.live.whole_batches import fetch_all, opened
from tests.waiting import PATIENCE, eventually

pytestmark = pytest.mark.django_db

CONFIGS = "kafka.admin.ConfigCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
# The last version in which brokers, asked so, do not look whether a transaction has the partition.
UNVERIFIED = 11


@pytest.fixture
def client(east):
    with ClusterClient(east.connection, timeout_s=30 * PATIENCE) as client:
        yield client


@pytest.fixture
def where(east) -> TopicPartition:
    return TopicPartition(new_topic(east, 1), 0)


@pytest.fixture
def unverified(east):
    """Brokers as they were before KIP-890, which takes what makes transactions hang."""
    change = ["--alter", "--entity-type", "brokers", "--entity-default"]
    key = "transaction.partition.verification.enable"
    run(east, CONFIGS, *change, "--add-config", f"{key}=false")
    yield
    run(east, CONFIGS, *change, "--delete-config", key)


def ends(client, where):
    one = read_offset_ranges(client, [where], with_timestamps=False)[where]
    return one.end_offset, one.high_watermark


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]


def open_transaction(east, topic: str, count: int, begin: str = "tx") -> tuple[Producer, str]:
    name = f"{begin}-{uuid.uuid4().hex[:8]}"
    producer = Producer(
        {
            "bootstrap.servers": east.bootstrap_servers,
            "transactional.id": name,
            "transaction.timeout.ms": 600_000,
        }
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    for _ in range(count):
        producer.produce(topic, b"x", partition=0)
    producer.flush(60)
    return producer, name


async def hang(east, where: TopicPartition) -> str:
    """Write the batch of a transaction that its coordinator never had."""
    name = f"tx-{uuid.uuid4().hex[:8]}"
    model = TopicPartition(new_topic(east, 1), 0)
    produce(east, model.topic, 10, 0)
    async with opened(east.connection) as cluster:
        batch = (await fetch_all(cluster, model))[0]
        me = await init_producer_id(cluster, name)
        body = encode_produce(
            UNVERIFIED, {where: claimed(batch, me, 0, is_transactional=True)}, name, 10_000
        )
        leader = (await cluster.metadata([where.topic])).leader(where)
        connection = await cluster.connection_to(leader or 0, LANE)
        answer = await connection.ask(PRODUCE.call_with(body, UNVERIFIED))
        assert int(answer.responses[0].partition_responses[0].error_code) == 0
    return name


def test_lag_to_the_high_watermark_is_that_of_kafkas_tool(east, client, where, registered):
    producer, name = open_transaction(east, where.topic, 5)
    group = new_group()
    alter_group_offsets(client, group, {where: CommittedOffset(0)})
    eventually(lambda: ends(client, where) == (0, 5), 30)
    registered()
    row = GroupOffset.objects.get(group__group_id=group)
    told = next(
        one for one in rows(run(east, GROUPS, "--describe", "--group", group)) if one[0] == group
    )
    assert (row.high_watermark, row.lag_to_high_watermark) == (int(told[4]), int(told[5])) == (5, 5)
    assert (row.end_offset, row.lag) == (0, 0)
    one = read_open_transactions(client, [where])[where]
    assert (one.transactional_id, one.state, one.is_known) == (name, "Ongoing", True)
    assert one.timeout_ms == 600_000
    producer.abort_transaction(60)
    eventually(lambda: read_open_transactions(client, [where])[where] is None, 30)


@pytest.mark.parametrize("begin", ["--help", 'it\'s "mine" $(x) größe'])
def test_a_transaction_of_any_id_is_ended_by_the_command(east, client, where, begin):
    open_transaction(east, where.topic, 1, begin)
    eventually(lambda: read_open_transactions(client, [where])[where] is not None, 30)
    told = asdict(read_open_transactions(client, [where])[where])
    row = Partition(
        cluster=Cluster(alias="east", bootstrap_servers=east.bootstrap_servers), partition=0,
        topic=Topic(name=where.topic), open_transaction={**told, "offset": 0, "seen_ms": 0, "is_cut": False},
    )  # fmt: skip
    command = trouble_of(row).next
    run(east, TRANSACTIONS, *shlex.split(command)[3:])
    eventually(lambda: ends(client, where)[0] == ends(client, where)[1], 30)


@pytest.fixture
def registered(east):
    """Run the rounds of the cluster at a time after now; returns the cluster."""

    def go(later_min: float = 0.0) -> Cluster:
        begun = {"bootstrap_servers": east.bootstrap_servers, "created_at": datetime.now(UTC)}
        cluster, _ = Cluster.objects.get_or_create(alias="east", defaults=begun)
        now = datetime.now(UTC) + timedelta(minutes=later_min)
        CollectionRound.objects.filter(cluster=cluster).update(claimed_until=None)
        collect.collect_cluster(cluster.pk, lambda: now)
        failed = CollectionRound.objects.exclude(failing_since=None)
        assert not failed.filter(noun__in=[Noun.OFFSETS, Noun.GROUPS]).exists()
        return cluster

    return go


def test_a_hanging_transaction_is_found_and_ended_as_by_kafkas_tool(
    east, client, where, unverified, registered
):
    name = asyncio.run(hang(east, where))
    eventually(lambda: ends(client, where) == (0, 10), 30)
    find = ("find-hanging", "--topic", where.topic, "--max-transaction-timeout", "0")
    theirs = rows(run(east, TRANSACTIONS, *find))[1]
    ours = read_open_transactions(client, [where])[where]
    assert theirs[:6] == [
        where.topic,
        "0",
        *map(
            str, (ours.producer_id, ours.producer_epoch, ours.coordinator_epoch, ours.start_offset)
        ),
    ]
    assert (ours.transactional_id, ours.is_known) == (name, False)

    registered()
    registered(2)
    cluster = registered(3)
    (told,) = [
        one for one in troubles_of([cluster.pk], datetime.now(UTC)) if str(where) in one.what
    ]
    assert told.word == "Hanging transaction"
    assert f"{name} (producer id {ours.producer_id}, epoch {ours.producer_epoch})" in told.why

    words = told.next.split()[3:]
    run(east, TRANSACTIONS, *words)
    eventually(lambda: ends(client, where)[0] == ends(client, where)[1], 30)
    registered(4)
    assert [
        one for one in troubles_of([cluster.pk], datetime.now(UTC)) if str(where) in one.what
    ] == []
    assert len(rows(run(east, TRANSACTIONS, *find))) <= 1
