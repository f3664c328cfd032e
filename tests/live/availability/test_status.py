"""A real broker dies and comes back: the status of its partitions, with cause, within five seconds."""

import threading
from collections.abc import Callable

import pytest
from django.utils import timezone

from console.availability.collection import lag
from console.availability.status.broker_models import BrokerStatus
from console.availability.status.models import (
    AvailabilityRound,
    OutOfSyncSpan,
    PartitionStatus,
    SeveritySpan,
)
from console.clusters import actions as cluster_actions
from console.clusters.collection import collect as cluster_rounds
from console.clusters.models import CollectionRound
from console.frame.processes.threads import ThreadDependencies
from console.quorum.log.follower import ClusterFollower, Wanted
from jobs.availability.status.severity import Severity
from jobs.cluster.admin.configs import ConfigAlteration, alter_topic_configs
from jobs.cluster.admin.replica_lags import read_replica_lags
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.quorum.log.follower import follow
from tests.live.quorum.quorums import described
from tests.live.topics import new_topic
from tests.support import Clock
from tests.waiting import Deadline, Stalls

pytestmark = pytest.mark.django_db
VISIBLE_WITHIN_S = 5.0
FOLLOWED_WITHIN_S = 60.0


class Watched:
    """A registered cluster whose metadata log is followed until the database says what a test waits for."""

    def __init__(self, cluster) -> None:
        self.cluster = cluster
        values = {"alias": "watched", "bootstrap_servers": cluster.bootstrap_servers}
        self.row = cluster_actions.create_cluster(values, timezone.now())
        self.topic = new_topic(cluster, partitions=3)
        self.seen_at = timezone.now()
        self.collect()

    def collect(self) -> None:
        """Let the cluster's own rounds run: they tell settings that the log does not have."""
        CollectionRound.objects.update(claimed_until=None)
        cluster_rounds.collect_cluster(self.row.pk)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Follow the log, as the process does, until something is so; each look is at what was stored."""
        deadline = Deadline(FOLLOWED_WITHIN_S)

        def door(source, archive, stop, heard) -> None:
            def hear(one) -> None:
                heard(one)
                is_seen = is_so()
                if is_seen or deadline.is_over():
                    self.seen_at = self.seen_at if stop.is_set() else timezone.now()
                    stop.set()

            follow(source, archive, stop, hear)

        wanted = Wanted(self.row, self.row.connection())
        ClusterFollower(
            wanted, threading.Event(), door, ThreadDependencies(Clock(), renew=lambda: None)
        ).run()
        assert is_so(), list(AvailabilityRound.objects.values())

    def statuses(self):
        return PartitionStatus.objects.filter(cluster=self.row, topic=self.topic)

    def all_stand(self, severity: Severity) -> bool:
        return self.statuses().filter(source="log", severity=severity).count() == 3


@pytest.fixture
def watched(small_lab, settings, tmp_path):
    settings.CROSSLOG_ARCHIVE = tmp_path / "archive"
    racks = ("dc-a", "dc-b", "dc-c")
    return Watched(small_lab("watched", nodes=3, racks=racks).cluster("watched"))


@pytest.mark.timeout(900)
def test_a_broker_that_dies_and_comes_back_is_on_the_page_within_seconds(watched, client, admin):
    watched.until(lambda: watched.all_stand(Severity.OK))
    row = watched.statuses().get(partition=0)
    assert (row.source, row.min_insync_replicas, sorted(row.isr)) == ("log", 2, [1, 2, 3])
    # server.properties sets it; a cluster with ELR also writes it into its log, as its default.
    assert row.min_isr_origin in {"static", "cluster"}
    assert set(BrokerStatus.objects.values_list("rack", flat=True)) == {"dc-a", "dc-b", "dc-c"}

    victim = _not(described(watched.cluster).leader_id)
    watched.cluster.node(victim).kill()
    with Stalls() as stalls:
        watched.until(lambda: watched.all_stand(Severity.AT_MIN_ISR))
    _assert_told(watched, victim, VISIBLE_WITHIN_S + stalls.seconds)
    _assert_pages_tell(client, admin, watched, f"Broker {victim} was fenced")

    # It cannot be asked how far it is behind, and that is no failure.
    assert lag.ask_lags(watched.row.pk)
    asked = AvailabilityRound.objects.get(noun="lag")
    assert (asked.failing_since, asked.error_code) == (None, "partial")
    assert f"broker {victim}" in asked.error

    watched.cluster.node(victim).start()
    watched.until(lambda: watched.all_stand(Severity.OK))
    ended = SeveritySpan.objects.filter(topic=watched.topic, severity=Severity.AT_MIN_ISR)
    assert ended.filter(ended_at=None).count() == 0
    assert {one.end_cause for one in ended} <= {"isr_expand", "broker_unfenced"}
    assert not OutOfSyncSpan.objects.filter(ended_at=None).exists()
    _assert_a_lag_can_be_asked(watched)

    with ClusterClient(watched.row.connection()) as asking:
        wanted = {watched.topic: [ConfigAlteration("min.insync.replicas", "3")]}
        assert alter_topic_configs(asking, wanted) == {watched.topic: None}
    watched.until(lambda: watched.statuses().filter(min_isr_origin="topic").count() == 3)
    assert set(watched.statuses().values_list("min_insync_replicas", flat=True)) == {3}


def _not(leader_id: int) -> int:
    return next(one for one in (1, 2, 3) if one != leader_id)


def _assert_told(watched, victim: int, within_s: float) -> None:
    for row in watched.statuses():
        assert row.missing == [victim]
        assert (row.cause, row.cause_broker) == ("broker_fenced", victim)
        assert (watched.seen_at - row.since).total_seconds() <= within_s
        assert row.offset is not None
    absences = OutOfSyncSpan.objects.filter(topic=watched.topic, ended_at=None)
    assert set(absences.values_list("broker", "cause")) == {(victim, "broker_fenced")}
    assert BrokerStatus.objects.get(broker_id=victim).is_there is False


def _assert_pages_tell(client, admin, watched, words: str) -> None:
    client.force_login(admin)
    partition = f"/availability/watched/partitions/{watched.topic}/0/"
    for path in ("/availability/watched/", "/availability/watched/partitions/", partition):
        answer = client.get(path)
        assert answer.status_code == 200
        assert words in answer.content.decode(), path
    assert "Fenced" in client.get("/availability/watched/brokers/").content.decode()


def _assert_a_lag_can_be_asked(watched) -> None:
    row = watched.statuses().get(partition=0)
    where = TopicPartition(watched.topic, 0)
    followers = [one for one in row.isr if one != row.leader]
    found = read_replica_lags(
        watched.row.connection(), {one: [where] for one in followers}, {where: row.leader}
    )
    assert found.lags == {(where, one): 0 for one in followers}
    assert found.faults == {}
