"""A real quorum in the console: what is kept of its log is what happened, and what the admin tools say."""

import threading
from functools import partial

import pytest
from django.utils import timezone

from console.clusters import actions as cluster_actions
from console.findings.models import Finding
from console.frame.processes.threads import ThreadDependencies
from console.quorum.history import queries as history
from console.quorum.history.queries import Moment
from console.quorum.log.follower import ClusterFollower, Wanted
from console.quorum.models import (
    Election,
    Kind,
    MetadataChange,
    MetadataLog,
    QuorumStatus,
    VoterSetEntry,
)
from console.quorum.voters import collect
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.check import check_connection
from jobs.cluster.client import ClusterClient
from jobs.quorum.log.follower import Heard, catch_up
from tests.live.quorum.quorums import described, leader
from tests.live.topics import new_topic
from tests.support import Clock
from tests.waiting import eventually

pytestmark = pytest.mark.django_db


class Kept:
    """A registered cluster, whose quorum is described and whose log is read when a test says so."""

    def __init__(self, cluster) -> None:
        self.cluster = cluster
        values = {"alias": "quorum", "bootstrap_servers": cluster.bootstrap_servers}
        check = partial(check_connection, timeout_s=60)
        self.row = cluster_actions.create_cluster(values, timezone.now(), check=check)

    def look(self) -> MetadataLog:
        """Describe the quorum and read all that is committed; return the row of the log."""
        QuorumStatus.objects.update(claimed_until=None)
        collect.collect_quorum(self.row.pk)
        wanted = Wanted(self.row, self.row.connection())
        ClusterFollower(
            wanted, threading.Event(), self._read, ThreadDependencies(Clock(), renew=lambda: None)
        ).run()
        log = MetadataLog.objects.select_related("status").get(cluster=self.row)
        assert log.error == ""
        return log

    @staticmethod
    def _read(source, archive, stop, heard) -> None:
        catch_up(source, archive)
        heard(Heard(is_at_end=True))

    def isr_of(self, topic: str, partition: int = 0) -> list[int]:
        """Ask the admin API."""
        with ClusterClient(self.row.connection()) as client:
            found = next(one for one in describe_topics(client) if one.name == topic)
        return sorted(found.partitions[partition].isr)


@pytest.fixture
def kept(small_lab, settings, tmp_path):
    settings.CROSSLOG_ARCHIVE = tmp_path / "archive"
    return Kept(small_lab("quorum", nodes=3).cluster("quorum"))


def look_between_elections(kept: Kept):
    """Look and describe again when a stalled machine made the quorum elect between the two."""
    for _ in range(10):
        before, log, after = described(kept.cluster), kept.look(), described(kept.cluster)
        if before.leader_epoch == after.leader_epoch:
            break
    return log, after


@pytest.mark.timeout(900)
def test_what_is_kept_is_what_happened(kept, client, admin):
    cluster = kept.cluster
    topic = new_topic(cluster)
    log, told = look_between_elections(kept)
    assert (log.status.leader_id, log.status.leader_epoch) == (told.leader_id, told.leader_epoch)
    newest = VoterSetEntry.objects.order_by("-offset").first()
    assert {(v["id"], v["directory_id"]) for v in newest.voters} == {
        (one.id, one.directory_id) for one in told.voters
    }
    assert Election.objects.order_by("-offset").first().leader_id == told.leader_id
    before = Moment(log.next_offset - 1)

    victim = cluster.node(next(i for i in (1, 2, 3) if i != told.leader_id))
    number = victim.plan.node_id
    victim.kill()
    eventually(lambda: number not in kept.isr_of(topic), 60, every=0.5)
    log = kept.look()
    shrunk = MetadataChange.objects.filter(topic=topic, kind=Kind.PARTITION).order_by("-offset")
    assert sorted(shrunk[0].state["isr"]) == kept.isr_of(topic)
    assert (shrunk[0].cause, shrunk[0].broker) == ("broker_fenced", number)

    victim.start()
    eventually(lambda: kept.isr_of(topic) == [1, 2, 3], 60, every=0.5)
    leader(cluster)
    log = kept.look()
    there = list(history.states_at(log, Moment(log.next_offset - 1), Kind.PARTITION))
    history.with_states(there, Moment(log.next_offset - 1))
    found = next(row for row in there if row.topic == topic and row.partition == 0)
    assert sorted(found.state["isr"]) == kept.isr_of(topic) == [1, 2, 3]
    differs = history.differences(log, before, Moment(log.next_offset - 1))
    assert f"broker {number}" in {one.subject.name for one in differs}

    assert_pages_show(client, admin, topic, shrunk[0].offset)


def assert_pages_show(client, admin, topic: str, offset: int) -> None:
    client.force_login(admin)
    for path in ("", "voters/", "brokers/", f"partitions/?topic={topic}&partition=0", "log/"):
        assert client.get(f"/quorum/quorum/{path}").status_code == 200
    page = client.get(f"/quorum/quorum/records/{offset}/").content.decode()
    assert "PARTITION_CHANGE_RECORD" in page
    assert "topicId" in page


@pytest.mark.timeout(900)
def test_an_election_makes_no_false_finding_and_a_voter_that_was_killed_is_one(kept, settings):
    settings.QUORUM_INTERVAL_S = 1
    kept.look()
    for _ in range(2):
        victim = leader(kept.cluster)
        number = victim.plan.node_id
        victim.kill()
        killed = {("voter_silent", str(number)), ("bare_majority", "")}
        eventually(lambda killed=killed: found_of(kept, killed) == killed, 60, every=1)
        victim.start()
        eventually(lambda killed=killed: found_of(kept, killed) == set(), 60, every=1)


def found_of(kept: Kept, true: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Look, and return the open findings of the voters; no other than these may ever open."""
    log = kept.look()
    rows = Finding.objects.filter(log=log, severity__in=("critical", "critical"))
    found = set(rows.filter(closed_at=None).values_list("code", "subject"))
    assert found <= true
    return found
