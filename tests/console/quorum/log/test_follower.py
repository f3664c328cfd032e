"""The follower of metadata logs: whom it follows, what it writes, and what it does when something breaks."""

from pathlib import Path

import pytest

from console.frame.processes.threads import REST_S, ThreadDependencies
from console.frame.signals import metadata_stored
from console.quorum.log.follower import TELL_S, WRITE_S, metadata_follower, wanted_clusters
from console.quorum.models import MetadataChange, MetadataLog
from jobs.archives import MANIFEST
from jobs.cluster.errors import NotAuthorized, Unreachable
from jobs.quorum.log.follower import Heard, Mode
from tests.console.clusters.making import make_cluster
from tests.console.quorum.voters.test_collect import described
from tests.support import METADATA_FOLDER, Clock

pytestmark = pytest.mark.django_db
AWAY = Unreachable("No broker answers.", cluster="east")
REFUSED = NotAuthorized("It needs CLUSTER_ACTION.", cluster="east")


class Door:
    """A fake of Kafka: puts files of a real log into the archive, and reports what it is given."""

    def __init__(self, *heard, files=(), error=None):
        self.heard, self.files, self.error = heard, list(files), error
        self.asked = []

    def __call__(self, source, archive, stop, heard):
        self.asked.append((source.connection.alias, archive.folder.parent.name))
        for file in self.files:
            archive.append((METADATA_FOLDER / file).read_bytes(), high_watermark=None)
            archive.note(high_watermark=archive.manifest.next_offset)
            heard(Heard(is_at_end=True))
        for one in self.heard:
            heard(one)
        if self.error is not None:
            raise self.error


class Thread:
    """Runs at once; then looks like a thread that runs, or has ended."""

    goes_on = True

    def __init__(self, run, name):
        run()

    def is_alive(self):
        return self.goes_on

    def join(self, timeout=None):
        self.goes_on = False


class Ended(Thread):
    goes_on = False


@pytest.fixture
def cluster(settings, tmp_path):
    settings.CROSSLOG_ARCHIVE = tmp_path
    return make_cluster("east")


def follower(door, clock=None, thread=Thread):
    # In a test the connection holds a transaction that must not end.
    return metadata_follower(door, ThreadDependencies(clock or Clock(), thread, renew=lambda: None))


def log_of(cluster):
    return MetadataLog.objects.get(cluster=cluster)


def test_every_enabled_cluster_is_followed_into_an_archive_of_its_own(cluster):
    make_cluster("west", is_enabled=False)
    door = Door()
    follower(door).look()
    assert door.asked == [("east", "metadata")]
    assert log_of(cluster).name == "east"


def test_what_is_appended_becomes_rows_file_by_file(cluster, settings):
    files = ["00000000000000000648.log", "00000000000000000875.log"]
    follower(Door(files=files)).look()
    log = log_of(cluster)
    assert (log.start_offset, log.source) == (648, "fetch")
    assert log.next_offset > 875
    assert log.high_watermark == log.next_offset
    assert MetadataChange.objects.filter(offset__gte=875).exists()
    assert (Path(settings.CROSSLOG_ARCHIVE) / "metadata" / str(log.pk) / MANIFEST).exists()


def test_a_follower_that_starts_again_resumes_where_the_rows_end(cluster):
    follower(Door(files=["00000000000000000648.log"])).look()
    count = MetadataChange.objects.count()
    MetadataLog.objects.update(heard_at=None)
    follower(Door(Heard(is_at_end=True))).look()
    assert MetadataChange.objects.count() == count
    assert log_of(cluster).heard_at is not None


def test_a_fault_is_reported_and_keeps_what_is_known(cluster):
    follower(Door(Heard(is_at_end=True), Heard(fault=AWAY))).look()
    log = log_of(cluster)
    assert (log.error, log.error_code) == ("No broker answers.", "unreachable")
    assert log.failing_since is not None
    assert log.heard_at is not None


def test_polling_says_what_is_lost_and_is_no_fault(cluster):
    told = Heard(Mode.POLLING, quorum=described(), fault=REFUSED)
    follower(Door(told)).look()
    log = log_of(cluster)
    assert (log.source, log.failing_since) == ("poll", None)
    assert "history is lost" in log.lost
    assert "CLUSTER_ACTION" in log.lost


def test_a_cluster_that_answers_again_is_healthy_and_nothing_is_lost_any_more(cluster):
    polled = Heard(Mode.POLLING, quorum=described(), fault=REFUSED)
    follower(Door(polled, Heard(is_at_end=True))).look()
    log = log_of(cluster)
    assert (log.source, log.lost) == ("fetch", "")


def test_others_are_reported_of_changes_for_a_while_and_not_of_ticks(cluster):
    clock, told = Clock(), []

    def ticks():
        yield Heard(is_at_end=True)
        clock.now += TELL_S / 2
        yield Heard(is_at_end=True)
        clock.now += TELL_S / 2
        yield Heard(is_at_end=True)

    def listen(cluster_id, **_):
        told.append((cluster_id, clock.now))

    door = Door()
    door.heard = ticks()
    metadata_stored.connect(listen)
    try:
        follower(door, clock).look()
    finally:
        metadata_stored.disconnect(listen)
    assert told == [(cluster.pk, 0.0), (cluster.pk, TELL_S / 2)]


def test_others_are_reported_when_something_changed(cluster):
    clock, told = Clock(), []

    def listen(cluster_id, **_):
        told.append(cluster_id)

    def later():
        clock.now += TELL_S
        yield "00000000000000000648.log"

    door = Door()
    door.files = later()
    metadata_stored.connect(listen)
    try:
        follower(door, clock).look()
    finally:
        metadata_stored.disconnect(listen)
    assert told == [cluster.pk]


def test_what_breaks_is_reported_rests_and_begins_again(cluster):
    clock, door = Clock(), Door(error=RuntimeError("boom"))
    following = follower(door, clock, Ended)
    following.look()
    following.look()
    assert len(door.asked) == 1
    assert "boom" in log_of(cluster).error
    clock.now += REST_S + WRITE_S
    following.look()
    following.look()
    assert len(door.asked) == 2


def test_a_cluster_is_followed_again_over_another_connection_and_not_at_all_when_disabled(cluster):
    before = wanted_clusters()
    assert wanted_clusters() == before
    type(cluster).objects.update(bootstrap_servers="127.0.0.1:9")
    assert wanted_clusters() != before
    type(cluster).objects.update(is_enabled=False)
    assert wanted_clusters() == {}
