"""Topics of real clusters: made, altered and deleted, and known to every broker.

Each broker reads the metadata log in its own time.
"""

import asyncio
import functools
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
)

from jobs.cluster.admin.configs import (
    ConfigAlteration,
    ConfigValue,
    alter_topic_configs,
    describe_topic_configs,
)
from jobs.cluster.admin.metadata_propagation import topic_everywhere
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import NewTopicSpec, create_topics, describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, UnknownTopicOrPartition
from jobs.cluster.protocol.cluster import RawCluster
from tests.waiting import PATIENCE, eventually

ANSWER_S = 30 * PATIENCE


@functools.cache  # a client that is not kept ends what it was asked
def admin_of(connection) -> AdminClient:
    """Return the client library's admin client, for what crosslog itself never asks."""
    return AdminClient({**connection.client_config(), "log_level": 0})


def wait_until_known(connection, name: str, partitions: int | None = None) -> None:
    """Wait until all brokers that answer know a topic, its leaders and, when told, its partitions."""
    # In a thread of its own, because a test may be running in a loop already.
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(
            eventually, lambda: asyncio.run(_is_known(connection, name, partitions)), 30
        )
        found.result()


async def _is_known(connection, name: str, partitions: int | None) -> bool:
    async with RawCluster(connection, client_id="live-test") as cluster:
        try:
            found = (await topic_everywhere(cluster, name)).values()
        except ClusterFault:
            return False
    return bool(found) and all(_has_leaders(topic, partitions) for topic in found)


def _has_leaders(topic, partitions: int | None) -> bool:
    known = topic.partitions.values()
    return (
        topic.error is None
        and (len(known) == partitions if partitions else bool(known))
        and all(partition.leader is not None for partition in known)
    )


def new_topic(cluster, partitions: int = 1, **configs: str) -> str:
    """Create a topic with a name of its own; setting names have `_` for `.`."""
    name = f"t-{uuid.uuid4().hex[:10]}"
    make_topic(cluster, name, partitions, **configs)
    return name


def make_topic(cluster, name: str, partitions: int = 1, **configs: str) -> None:
    """Create a topic and wait until every broker knows its leaders."""
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    with ClusterClient(cluster.connection, timeout_s=60) as client:

        def is_made() -> bool:
            fault = create_topics(client, {name: NewTopicSpec(partitions, None, settings)})[name]
            # A broker that a busy machine held back for its session is fenced, and back in a moment.
            assert fault is None or fault.retriable or "INVALID_REPLICATION_FACTOR" in fault.message
            return fault is None

        eventually(is_made, 30, every=0.5)
    wait_until_known(cluster.connection, name, partitions)


def new_topic_on(cluster, replicas: list[list[int]], **configs: str) -> str:
    """Create a topic whose partitions have these replicas; setting names have `_` for `.`."""
    name = f"s-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    new = NewTopic(name, num_partitions=len(replicas), config=settings, replica_assignment=replicas)
    for made in admin.create_topics([new]).values():
        made.result(30 * PATIENCE)
    wait_until_known(cluster.connection, name, len(replicas))
    return name


def partitions_of(cluster, topic: str) -> int:
    with ClusterClient(cluster.connection, timeout_s=60) as client:
        described = describe_topics(client, [topic])[0]
    assert described.error is None or is_missing(described), described.error
    return len(described.partitions)


def ends_of(cluster, topic: str) -> dict[int, int]:
    """Return where every partition ends now."""
    wanted = [TopicPartition(topic, p) for p in range(partitions_of(cluster, topic))]
    ends: dict[int, int] = {}

    def are_read() -> bool:
        ranges = read_offset_ranges(client, wanted, with_timestamps=False)
        ends.update({where.partition: one.end_offset or 0 for where, one in ranges.items()})
        return all(one.error is None for one in ranges.values())

    with ClusterClient(cluster.connection) as client:
        eventually(are_read, 60)  # a leader that did not answer in time has not ended at 0
    return ends


def set_config(cluster, topic: str, name: str, value: str) -> None:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    resource.add_incremental_config(
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    )
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(ANSWER_S)


def delete_before(cluster, topic: str, partition: int, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for future in admin.delete_records([ClientPartition(topic, partition, offset)]).values():
        future.result(ANSWER_S)


def delete_topic(cluster, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for future in admin.delete_topics([topic]).values():
        future.result(ANSWER_S)


def alter(client: ClusterClient, topic: str, **settings: str | None) -> None:
    """Set and delete settings of a topic, `_` for `.`, and wait until every broker knows.

    Any broker may be asked, and one may be behind: so many answers in a row that it is none.
    """
    wanted = {key.replace("_", "."): value for key, value in settings.items()}
    alterations = [ConfigAlteration(key, value) for key, value in wanted.items()]
    eventually(lambda: _altered(client, topic, alterations), 20)
    eventually(lambda: all(_is(configs_of(client, topic), wanted) for _ in range(10)), 20)


def _altered(client: ClusterClient, topic: str, alterations: list[ConfigAlteration]) -> bool:
    """Return whether it was done; now and then a controller does not know a new topic for a moment."""
    fault = alter_topic_configs(client, {topic: alterations})[topic]
    assert fault is None or isinstance(fault, UnknownTopicOrPartition), fault
    return fault is None


def configs_of(client: ClusterClient, topic: str) -> dict[str, ConfigValue]:
    found = describe_topic_configs(client, [topic])[topic]
    return found if isinstance(found, dict) else {}


def value_of(client: ClusterClient, topic: str, key: str) -> tuple[str | None, bool]:
    """Return the value of a setting, and whether the topic itself sets it."""
    found = configs_of(client, topic)[key]
    return found.value, found.is_override


def _is(found: Mapping[str, ConfigValue], wanted: Mapping[str, str | None]) -> bool:
    return all(
        key in found
        and (not found[key].is_override if value is None else found[key].value == value)
        for key, value in wanted.items()
    )
