"""Topics that are tables are read to their end, and later what was added."""

import uuid

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import TimedOut
from jobs.cluster.topic_reader import TopicFollower, read_whole_topic
from tests.live.records import SteadyProducer, produce
from tests.live.topics import make_topic, new_topic
from tests.live.whole_batches import Transactions
from tests.waiting import Stalls, eventually


class Reader:
    """Keeps what is read, as a table would."""

    def __init__(self, client, topic: str, **settings) -> None:
        self.values: list[bytes] = []
        self.forgotten = 0
        self._client = client
        self._follower = TopicFollower(topic, **settings)

    def read(self) -> bool:
        return self._follower.follow(
            self._client, lambda record: self.values.append(record.value), self._forget
        )

    def _forget(self) -> None:
        self.values.clear()
        self.forgotten += 1


@pytest.fixture
def client(west):
    with ClusterClient(west.connection, timeout_s=15) as client:
        yield client


def test_later_only_what_was_added_is_read(west, client):
    topic = new_topic(west, 2)
    first = produce(west, topic, 5, 0)
    reader = Reader(client, topic)
    assert reader.read()
    assert reader.values == [record.value for record in first]
    second = produce(west, topic, 3, 1)
    assert reader.read()
    assert reader.read()
    assert reader.values == [record.value for record in first + second]
    assert reader.forgotten == 1


def test_another_topic_of_the_same_name_is_read_from_its_beginning(west, client):
    topic = new_topic(west)
    produce(west, topic, 5)
    reader = Reader(client, topic)
    reader.read()
    admin = AdminClient({"bootstrap.servers": west.bootstrap_servers})
    admin.delete_topics([topic])[topic].result(30)
    eventually(lambda: not reader.read(), 30)
    assert reader.values == []
    eventually(lambda: topic not in admin.list_topics(timeout=10).topics, 30)
    make_topic(west, topic)
    again = produce(west, topic, 7)
    eventually(lambda: reader.read() and len(reader.values) == len(again), 30)
    assert reader.values == [record.value for record in again]


def test_of_one_partition_only_that_one_is_read(west, client):
    topic = new_topic(west, 2)
    produce(west, topic, 5, 0)
    wanted = produce(west, topic, 3, 1)
    found: list[bytes] = []
    ends = read_whole_topic(client, topic, lambda one: found.append(one.value), only_partition=1)
    assert (ends, found) == ({1: 3}, [record.value for record in wanted])


def test_a_topic_that_is_not_there_has_no_end(client):
    assert read_whole_topic(client, "nobody-made-this", lambda _: None) is None


def test_what_an_open_transaction_holds_back_is_waited_for_or_left_for_the_next_time(west, client):
    topic = new_topic(west)
    produce(west, topic, 2)
    producer = Producer(
        {
            "bootstrap.servers": west.bootstrap_servers,
            "transactional.id": uuid.uuid4().hex,
            "transaction.timeout.ms": 600_000,
        }
    )
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(90) == 0
    with pytest.raises(TimedOut, match="a transaction is open"):
        read_whole_topic(client, topic, lambda _: None)
    patient = Reader(client, topic, is_complete=False)
    assert patient.read()
    assert len(patient.values) == 2
    producer.commit_transaction()
    eventually(lambda: patient.read() and patient.values[2:] == [b"open"], 30)


def test_of_a_topic_that_is_written_without_a_pause_each_record_is_taken_once_and_soon(
    west, client
):
    topic = new_topic(west)
    reader = Reader(client, topic, is_complete=False)
    times = []
    with SteadyProducer(west, topic, per_s=400):
        eventually(lambda: reader.read() and len(reader.values) > 100)
        for _ in range(50):
            with Stalls() as stalls:
                reader.read()
            times.append(stalls.took_s)
    reader.read()
    assert reader.values == [b"%d" % number for number in range(len(reader.values))]
    assert sorted(times)[25] < 0.5, times
    assert reader.forgotten == 1


def test_what_is_written_while_a_topic_is_read_is_not_in_what_was_read(west, client):
    topic = new_topic(west)
    first = produce(west, topic, 3)
    found: list[bytes] = []

    def take(record) -> None:
        if not found:
            produce(west, topic, 3)
        found.append(record.value)

    assert read_whole_topic(client, topic, take) == {0: 3}
    assert found == [record.value for record in first]


def test_records_behind_the_last_committed_one_do_not_hold_up_a_reader(west, client):
    topic = new_topic(west)
    writer = Transactions(west, topic)
    for is_kept in (True, False, False):
        writer.begin()
        writer.write(2)
        writer.end(commit=is_kept)
    reader = Reader(client, topic)
    eventually(reader.read, 30)  # markers may be late
    assert reader.read()
    assert len(reader.values) == 2
