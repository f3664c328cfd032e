"""The follower: which flows it follows, what it writes of them, and what it does when something breaks."""

from datetime import UTC, datetime

import pytest

from console.frame.processes.threads import REST_S, ThreadDependencies
from console.replication.flows import queries
from console.replication.flows.models import FlowRound, ReplicationFlow
from console.replication.translation.follower import WRITE_S, syncs_follower, wanted_flows
from console.replication.translation.translator import subject_of
from console.runs.models import RunState
from jobs.archives import MANIFEST
from jobs.cluster.errors import UnknownTopicOrPartition, Unreachable
from jobs.replication.offset_syncs.archive_manifest import Source
from jobs.replication.offset_syncs.archive_writer import Increment, SyncArchive
from jobs.replication.offset_syncs.follower import Heard
from jobs.replication.offset_syncs.sync_rows import SyncRows
from tests.console.making import make_flow, make_run
from tests.support import Clock

pytestmark = pytest.mark.django_db
AWAY = Unreachable("No broker answers.", cluster="west")
MISSING = UnknownTopicOrPartition("There is no such topic.", cluster="west")


class Door:
    """A fake of Kafka: yields what it is given, and records what to follow."""

    def __init__(self, *heard, error=None):
        self.heard = heard
        self.error = error
        self.asked = []

    def __call__(self, place, archive, stop, heard):
        self.asked.append((place.connection.alias, place.topic, archive.folder.name))
        for one in self.heard:
            heard(one)
        if self.error is not None:
            raise self.error


class Thread:
    """Runs at once; then acts as a thread that is alive, or has ended."""

    goes_on = True

    def __init__(self, run, name):
        run()

    def is_alive(self):
        return self.goes_on

    def join(self, timeout=None):
        self.goes_on = False


@pytest.fixture
def archives(settings, tmp_path):
    settings.CROSSLOG_ARCHIVE = tmp_path
    return tmp_path


@pytest.fixture
def flow(archives):
    return make_flow()


def follower(door, clock=None, thread=Thread):
    # In a test the connection holds a transaction that must not end.
    return syncs_follower(door, ThreadDependencies(clock or Clock(), thread, renew=lambda: None))


def round_of(flow):
    return FlowRound.objects.filter(flow=flow, noun=FlowRound.Noun.SYNCS).first()


def begin_archive(folder):
    with SyncArchive(folder) as archive:
        archive.append(Increment(Source("west", "t"), [], SyncRows.empty(), 1))


@pytest.mark.parametrize(
    ("location", "cluster", "topic"),
    [
        pytest.param("target", "west", "mm2-offset-syncs.east.internal", id="on the target"),
        pytest.param("source", "east", "mm2-offset-syncs.west.internal", id="on the source"),
    ],
)
def test_a_flow_is_followed_where_its_offset_syncs_are(flow, location, cluster, topic):
    ReplicationFlow.objects.update(offset_syncs=location)
    door = Door()
    follower(door).look()
    assert door.asked == [(cluster, topic, str(flow.pk))]


def test_a_flow_without_offset_syncs_is_not_followed(flow):
    ReplicationFlow.objects.update(offset_syncs="none")
    door = Door()
    follower(door).look()
    assert door.asked == []
    flow.refresh_from_db()
    assert "Offset syncs" not in [one.noun for one in queries.freshness_of(flow)]


def test_a_flow_is_followed_anew_when_its_offset_syncs_stand_elsewhere(flow):
    before = wanted_flows()
    ReplicationFlow.objects.update(commit_interval_ms=1234)
    assert wanted_flows() == before
    ReplicationFlow.objects.update(offset_syncs="source")
    assert wanted_flows() != before


def test_a_flow_that_is_to_be_deleted_is_not_followed(flow):
    ReplicationFlow.objects.update(deletion_asked_at=datetime.now(UTC))
    assert wanted_flows() == {}


@pytest.mark.parametrize(
    ("fields", "is_followed"),
    [
        pytest.param({"kind": "backfill", "state": RunState.RUNNING}, False, id="it runs"),
        pytest.param({"kind": "backfill", "state": RunState.QUEUED}, True, id="it waits"),
        pytest.param({"kind": "backfill", "state": RunState.SUCCEEDED}, True, id="it has ended"),
        pytest.param({"kind": "translate", "state": RunState.RUNNING}, True, id="another kind"),
    ],
)
def test_a_flow_is_not_followed_while_a_backfill_fills_its_archive(flow, fields, is_followed):
    make_flow("beside")
    make_run(subject=subject_of(flow), **fields)
    assert (flow.pk in wanted_flows()) == is_followed
    assert len(wanted_flows()) == 1 + is_followed


def test_how_it_goes_is_the_freshness_of_the_flows_offset_syncs(flow):
    follower(Door(Heard(is_at_end=True))).look()
    assert round_of(flow).succeeded_at is not None
    assert "Offset syncs" in [one.noun for one in queries.freshness_of(flow)]


def test_a_fault_is_written_and_the_next_success_clears_it(flow):
    follower(Door(Heard(fault=AWAY))).look()
    failing = round_of(flow)
    assert (failing.error_code, failing.failing_since is None) == ("unreachable", False)
    follower(Door(Heard(is_at_end=True))).look()
    assert (round_of(flow).error, round_of(flow).failing_since) == ("", None)


def test_a_topic_that_is_not_there_before_the_flow_began_is_no_failure(flow, archives):
    follower(Door(Heard(fault=MISSING))).look()
    assert round_of(flow) is None
    begin_archive(archives / "syncs" / str(flow.pk))
    follower(Door(Heard(fault=MISSING))).look()
    assert round_of(flow).error_code == "unknown_topic_or_partition"


def test_the_same_news_is_written_only_now_and_then(flow, django_assert_num_queries):
    clock = Clock()
    heard = Heard(is_at_end=True)

    class Often(Door):
        def __call__(self, place, archive, stop, tell):
            tell(heard)
            with django_assert_num_queries(0):
                tell(heard)
            clock.now += WRITE_S
            FlowRound.objects.all().delete()
            tell(heard)

    follower(Often(), clock).look()
    assert round_of(flow) is not None


class Ended(Thread):
    goes_on = False


def test_what_broke_is_told_and_begins_again_after_a_rest(flow, archives):
    clock, door = Clock(), Door(error=OSError("The disk is full."))
    following = follower(door, clock, Ended)
    following.look()
    following.look()
    assert len(door.asked) == 1
    assert "The disk is full." in round_of(flow).error
    clock.now += REST_S
    following.look()
    following.look()
    assert len(door.asked) == 2


def test_a_damaged_archive_is_told_by_its_file(flow, archives):
    folder = archives / "syncs" / str(flow.pk)
    folder.mkdir(parents=True)
    (folder / MANIFEST).write_text("{", encoding="utf-8")
    follower(Door(), thread=Ended).look()
    assert MANIFEST in round_of(flow).error


def test_an_archive_that_another_process_has_is_told(flow, archives):
    with SyncArchive(archives / "syncs" / str(flow.pk)):
        follower(Door(), thread=Ended).look()
    assert "another process" in round_of(flow).error
