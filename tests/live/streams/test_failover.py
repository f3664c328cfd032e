"""An application and its state on the target of a flow: the answer of the console, and what happens there."""

from functools import partial

import pytest
from django.utils import timezone

from console.clusters import actions as cluster_actions
from console.clusters.collection.collect import collect_cluster
from console.clusters.models import CollectionRound
from console.replication.checkpoints.queries import answers_for_flows
from console.replication.checkpoints.rounds.collect import collect_readiness
from console.replication.flows import actions
from console.replication.flows.models import FlowReadiness, ReplicationFlow
from console.replication.measurement.collect import collect_flow
from console.replication.translation.translator import archive_of
from console.streams.collection.collect import collect_applications
from console.streams.models import StreamsApplication, StreamsRound
from jobs.cluster.check import check_connection
from jobs.lab.install.program import CompilerMissing
from jobs.lab.lab import Lab
from jobs.lab.plan import BLOCK, ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.lab.streams.application import StreamsApplication as LabApplication
from jobs.lab.streams.application import StreamsSettings, make_topics
from jobs.lab.streams.orders import OrderWriter
from jobs.lab.streams.settled import KEYS
from jobs.replication.offset_syncs.archive_writer import SyncArchive
from jobs.replication.offset_syncs.follower import catch_up, place_of
from jobs.streams.assembly import application_of
from jobs.streams.lag import input_lags
from tests.live.conftest import NO_RETENTION
from tests.live.copiers import BatchCopying
from tests.live.groups import Rounds, wait_until_inactive
from tests.live.streams.applications import wait_until_settled
from tests.live.streams.outside import seen
from tests.waiting import eventually

pytestmark = [pytest.mark.timeout(900), pytest.mark.django_db]

SHOP = "shop"
SESSION_MS = 6_000
WITHIN_S = 60
SOURCES = ["orders", "customers"]


@pytest.fixture
def clusters(kafka, tmp_path):
    """`south`, where the application runs, and `north`."""

    def plans(base_port):
        places = {"south": base_port, "north": base_port + BLOCK}
        return [ClusterPlan(name, 1, port, overrides=NO_RETENTION) for name, port in places.items()]

    lab = Lab(tmp_path / "lab", plans(find_base_port(plans)), jvm=kafka)
    try:
        lab.start()
        yield lab.cluster("south"), lab.cluster("north")
    finally:
        lab.kill()


@pytest.fixture
def start(kafka, tmp_path):
    """Start the only instance of the application on a cluster."""
    made = []

    def start_on(cluster):
        name = cluster.plan.alias
        wanted = StreamsSettings(SHOP, cluster.bootstrap_servers, standbys=0, session_ms=SESSION_MS)
        try:
            application = LabApplication(tmp_path / name, kafka, wanted)
        except CompilerMissing as error:
            pytest.skip(str(error))
        made.append(application)
        make_topics(cluster.connection)
        application.start(name, "h1.example:7141")
        return application

    yield start_on
    for one in made:
        one.kill()


def totals(application):
    """The totals of all customers, which only this instance has."""
    (inside,) = application.inside(KEYS).values()
    return inside["localGet"]


def has_read_everything(cluster, application) -> bool:
    outside = seen(cluster, application)
    lags = input_lags(application_of(outside), outside.facts)
    found = [one.records for own in lags.values() for one in own]
    return bool(found) and not any(one != 0 for one in found)


def register(cluster):
    values = {"alias": cluster.plan.alias, "bootstrap_servers": cluster.bootstrap_servers}
    check = partial(check_connection, timeout_s=60)
    return cluster_actions.create_cluster(values, timezone.now(), check=check)


def collect(source) -> None:
    StreamsRound.objects.update(claimed_until=None)
    assert collect_applications(source.pk)


def make_flow(name: str, **values) -> ReplicationFlow:
    settings = {"source": "south", "target": "north", "groups": [SHOP], "commit_interval_ms": 200}
    return actions.create_flow({"name": name} | settings | values, None, timezone.now())


def measure(flow) -> None:
    CollectionRound.objects.update(claimed_until=None)
    flow.rounds.update(claimed_until=None)
    for cluster in (flow.source, flow.target):
        collect_cluster(cluster.pk)
    assert collect_flow(flow.pk)


def copy(flow, *, sync_groups: bool) -> None:
    """Copy everything, translate the offsets, and let the console look at both."""

    def is_copied() -> bool:
        measure(flow)
        return {one.lag for one in flow.partitions.all()} == {0}

    with BatchCopying(flow.spec()):
        eventually(is_copied, WITHIN_S, every=0.5)
    place = place_of(flow.spec())
    with SyncArchive(archive_of(flow)) as archive:
        catch_up(place, archive)
    with Rounds(flow.spec()) as rounds:
        rounds.run(sync_groups=sync_groups)
    measure(flow)
    FlowReadiness.objects.update(claimed_until=None)
    assert collect_readiness(flow.pk)


def answer_of(flow):
    (one,) = answers_for_flows([flow], timezone.now())[flow.pk]
    return one.failover.ready, {reason.code for reason in one.failover.reasons}


@pytest.fixture
def of_the_source(clusters, start, settings, tmp_path):
    """What the application knew when it ended: it had read everything, and the console saw it whole."""
    settings.CROSSLOG_ARCHIVE = tmp_path / "archive"
    south, north = clusters
    application = start(south)
    with OrderWriter(south.connection):
        wait_until_settled(application)
    eventually(lambda: has_read_everything(south, application), WITHIN_S)
    known = totals(application)
    source = register(south)
    register(north)
    collect(source)
    application.close()
    wait_until_inactive(south, SHOP)
    collect(source)
    assert StreamsApplication.objects.get().state == "Empty"
    return known


def test_an_application_that_is_ready_has_the_same_totals_on_the_target(
    of_the_source, clusters, start
):
    topics = [*SOURCES, f"{SHOP}-.*-changelog"]
    flow = make_flow("whole", topics=topics, policy="identity")
    assert answer_of(flow)[0] is not True
    copy(flow, sync_groups=True)
    assert answer_of(flow) == (True, set())
    _, north = clusters
    resumed = start(north)
    wait_until_settled(resumed)
    eventually(lambda: has_read_everything(north, resumed), WITHIN_S)
    assert totals(resumed) == of_the_source


def test_a_flow_that_renames_and_copies_what_it_must_not_is_not_ready(of_the_source):
    flow = make_flow("all", topics=[*SOURCES, f"{SHOP}-.*"])
    copy(flow, sync_groups=False)
    assert answer_of(flow) == (False, {"renamed", "repartition_copied"})


def test_a_flow_without_the_changelogs_and_the_group_is_not_ready(of_the_source):
    flow = make_flow("sources", topics=SOURCES, groups=["others"], policy="identity")
    copy(flow, sync_groups=False)
    assert answer_of(flow) == (False, {"changelog_not_copied", "offsets_not_translated"})
