"""A flow goes on where a real MirrorMaker 2 stopped, and MirrorMaker 2 where the flow stopped."""

from collections.abc import Callable, Iterator

import pytest

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.lab.cluster import Cluster
from jobs.lab.lab import Lab
from jobs.lab.mirror_maker import MirrorMaker, mirror_properties
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.replication.copy.positions import read_positions
from jobs.replication.flow.spec import FlowSpec
from tests.live.copiers import BatchCopying
from tests.live.mirror_maker.mirrored import records_on
from tests.live.records import produce, read_all
from tests.live.spark.hosted import HostedFlow, hosted
from tests.live.topics import make_topic
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)

PARTITIONS = 3
SLOW_S = 120


@pytest.fixture(scope="module")
def pair(kafka, tmp_path_factory) -> Iterator[Lab]:
    def plans(base: int) -> list[ClusterPlan]:
        return [ClusterPlan("east", 1, base), ClusterPlan("west", 1, base + 100)]

    lab = Lab(tmp_path_factory.mktemp("pair"), plans(find_base_port(plans)), jvm=kafka)
    lab.start()
    yield lab
    lab.kill()


@pytest.fixture
def mirror_maker(pair, kafka, tmp_path) -> Iterator[Callable[..., MirrorMaker]]:
    made: list[MirrorMaker] = []

    def make(topic: str, **settings: str) -> MirrorMaker:
        source, target = (pair.cluster(alias).bootstrap_servers for alias in ("east", "west"))
        extra = {
            "east->west.topics": topic,
            "refresh.topics.interval.seconds": "5",
            "west.offset.flush.interval.ms": "1000",
            **settings,
        }
        properties = mirror_properties(("east", source), ("west", target), extra)
        made.append(MirrorMaker(tmp_path / f"mm2-{len(made)}", kafka, properties))
        return made[-1]

    yield make
    for one in made:
        one.kill()


def write(cluster: Cluster, topic: str, count: int) -> None:
    for partition in range(PARTITIONS):
        produce(cluster, topic, count, partition)


def copied_by(mirror: MirrorMaker, west: Cluster, topic: str, count: int) -> None:
    """Run MirrorMaker 2 until so many records and its positions are on the target, then stop it in order.

    Connect gives its tasks five seconds to write their positions at their end: short on a busy machine.
    """
    positions = dict.fromkeys(range(PARTITIONS), count // PARTITIONS)
    mirror.start()
    try:
        eventually(lambda: mirror.check() or records_on(west, f"east.{topic}") >= count, SLOW_S)
        eventually(lambda: mirror.check() or positions_on(west, topic) == positions, SLOW_S)
    finally:
        mirror.stop()


def positions_on(west: Cluster, topic: str) -> dict[int, int]:
    with ClusterClient(west.connection) as client:
        found = read_positions(client, "east")
    return {p: found.get(TopicPartition(topic, p), -1) for p in range(PARTITIONS)}


def flow_of(pair: Lab, topic: str) -> FlowSpec:
    east, west = pair.cluster("east"), pair.cluster("west")
    return FlowSpec(f"take over {topic}", east.connection, west.connection, (topic,))


@pytest.mark.campaign("mirror-maker")
def test_a_flow_goes_on_where_mirror_maker_stopped_and_hands_back(pair, mirror_maker):
    east, west = pair.cluster("east"), pair.cluster("west")
    make_topic(east, "orders", PARTITIONS)
    write(east, "orders", 400)
    copied_by(mirror_maker("orders"), west, "orders", 400 * PARTITIONS)
    assert positions_on(west, "orders") == dict.fromkeys(range(PARTITIONS), 400)

    write(east, "orders", 300)
    with BatchCopying(flow_of(pair, "orders")) as copying:
        copying.wait_for_positions(dict.fromkeys(range(PARTITIONS), 700))
    assert read_all(west, "east.orders") == read_all(east, "orders")
    assert positions_on(west, "orders") == dict.fromkeys(range(PARTITIONS), 700)

    write(east, "orders", 200)
    copied_by(mirror_maker("orders"), west, "orders", 900 * PARTITIONS)
    assert read_all(west, "east.orders") == read_all(east, "orders")
    assert positions_on(west, "orders") == dict.fromkeys(range(PARTITIONS), 900)


@pytest.mark.campaign("mirror-maker")
def test_flows_of_one_engine_continue_where_mirror_maker_stopped(pair, mirror_maker, tmp_path):
    east, west = pair.cluster("east"), pair.cluster("west")
    topics = ("invoices", "payments")
    for topic in topics:
        make_topic(east, topic, PARTITIONS)
        write(east, topic, 200)
    mirror = mirror_maker("invoices,payments")
    mirror.start()
    try:
        copied = dict.fromkeys(range(PARTITIONS), 200)
        eventually(
            lambda: mirror.check() or all(positions_on(west, one) == copied for one in topics),
            SLOW_S,
        )
    finally:
        mirror.stop()

    runs = (tmp_path / "runs").resolve()
    flows = [HostedFlow(east, west, runs, topic=topic) for topic in topics]
    for topic in topics:
        write(east, topic, 100)
    with hosted(flows):
        for one in flows:
            one.wait_for_positions(dict.fromkeys(range(PARTITIONS), 300))
            assert {row["records"] for row in one.rows().values()} == {100}
            one.stop()
    for one in flows:
        one.assert_equal()
