"""Real Kafka Streams applications on a cluster of their own: each started once per run, when first asked for.

They read the same topics, which are written all the time; `fresh_pair` is the one that a test may break.
"""

import uuid
from collections.abc import Callable, Iterator

import pytest

from jobs.lab.cluster import Cluster
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.install.program import CompilerMissing
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.lab.streams.application import STREAMS, StreamsApplication, StreamsSettings, make_topics
from jobs.lab.streams.orders import OrderWriter
from tests.live.conftest import FOLDER as LIVE
from tests.live.conftest import NO_RETENTION
from tests.live.shared_labs import SHARED
from tests.live.streams.applications import wait_until_settled

FOLDER = LIVE / "streams"
SESSION_MS = 6_000
ORDERS_PER_S = 10.0
# A lost member is noticed after 6 s in both protocols.
QUICK = {
    "group.streams.min.session.timeout.ms": str(SESSION_MS),
    "group.streams.session.timeout.ms": str(SESSION_MS),
    "group.streams.min.heartbeat.interval.ms": "1000",
    "group.streams.heartbeat.interval.ms": "1000",
    "group.streams.initial.rebalance.delay.ms": "500",
}
Start = Callable[..., StreamsApplication]


@pytest.fixture(scope="session")
def streams_lab(kafka: KafkaJvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One node with the topics of the shop, into which orders are written all the time."""

    def plans(base_port: int) -> list[ClusterPlan]:
        return [ClusterPlan("streams", 1, base_port, overrides=NO_RETENTION | QUICK)]

    lab = Lab(tmp_path_factory.mktemp("streams-lab"), plans(find_base_port(plans)), jvm=kafka)
    SHARED.append((FOLDER, lab.kill))
    lab.start()
    cluster = lab.cluster("streams")
    make_topics(cluster.connection)
    # Few: several applications process each of them while tests run.
    writer = OrderWriter(cluster.connection, rate=ORDERS_PER_S)
    # The last ones end first: who writes or reads does not miss its cluster.
    SHARED.insert(0, (FOLDER, writer.stop))
    writer.start()
    yield lab
    writer.stop()
    lab.kill()


@pytest.fixture(scope="session")
def streams_cluster(streams_lab: Lab) -> Cluster:
    """The only cluster of that lab."""
    return streams_lab.cluster("streams")


@pytest.fixture(scope="session")
def start_application(
    kafka: KafkaJvm, streams_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Start]:
    """Make an application without instances; all are killed when the last test with Streams is over."""
    made: list[StreamsApplication] = []

    def make(application_id: str, **settings: object) -> StreamsApplication:
        wanted = StreamsSettings(
            application_id,
            streams_cluster.bootstrap_servers,
            session_ms=SESSION_MS,
            **settings,  # type: ignore[arg-type]
        )
        try:
            application = StreamsApplication(tmp_path_factory.mktemp(application_id), kafka, wanted)
        except CompilerMissing as error:
            pytest.skip(str(error))
        made.append(application)
        SHARED.insert(0, (FOLDER, application.kill))
        return application

    yield make
    for application in made:
        application.kill()


@pytest.fixture(scope="session")
def classic_two_instances(start_application: Start) -> StreamsApplication:
    """`A1` and `A2`, classic, two threads each, one standby, with a global table; settled."""
    application = start_application("orders-app", threads=2, with_regions=True)
    application.start("A1", "h1.example:7071")
    application.start("A2", "h2.example:7072")
    wait_until_settled(application)
    return application


@pytest.fixture(scope="session")
def one_without_endpoint(start_application: Start) -> StreamsApplication:
    """`B1`, alone at first and without an application.server, then `B2` with one: its keys go wrong."""
    application = start_application("orders-app-eu")
    application.start("B1", None)
    application.wait_until_running()
    application.start("B2", "h2.example:7082")
    wait_until_settled(application)
    return application


@pytest.fixture(scope="session")
def streams_two_threads(start_application: Start) -> StreamsApplication:
    """`C1` and `C2` in a streams group (KIP-1071), two threads each: KAFKA-20782 in their own answers."""
    application = start_application("orders-app-streams", threads=2, protocol=STREAMS)
    application.start("C1", "h1.example:7091")
    application.start("C2", "h2.example:7092")
    wait_until_settled(application)
    return application


@pytest.fixture
def fresh_pair(start_application: Start) -> Iterator[StreamsApplication]:
    """`D1` and `D2`, classic, one thread each, one standby: for one test, which may kill them."""
    application = start_application(f"fresh-{uuid.uuid4().hex[:8]}")
    application.start("D1", "h1.example:7101")
    application.start("D2", "h2.example:7102")
    wait_until_settled(application)
    yield application
    application.kill()
