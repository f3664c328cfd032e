"""Every room serves whoever has waited longest, so that under overload nobody is left out."""

import itertools
from datetime import timedelta

import pytest

from console.availability.advice.models import PromotionRound
from console.availability.advice.round import ADVICE
from console.availability.collection import collect as availability
from console.availability.status.models import AvailabilityRound
from console.clusters.collection import collect as clusters
from console.clusters.models import CollectionRound, Noun
from console.frame.rounds import Kind, work_through_due
from console.quorum.models import QuorumStatus
from console.quorum.voters import collect as quorum
from console.replication.checkpoints.models import FlowReadiness
from console.replication.checkpoints.rounds.collect import CHECKPOINTS
from console.replication.findings.collect import FINDINGS
from console.replication.findings.models import FlowWatch
from console.replication.flows.models import FlowRound
from console.replication.measurement.collect import MEASUREMENTS
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.making import NOW, make_cluster, make_flow

pytestmark = pytest.mark.django_db


def ago(seconds):
    return NOW - timedelta(seconds=seconds)


def asked(cluster, at):
    for noun in Noun:
        CollectionRound.objects.create(cluster=cluster, noun=noun, claimed_until=at)


def measured(flow, at):
    FlowRound.objects.create(flow=flow, noun="source", claimed_until=at)


def judged(cluster, at):
    AvailabilityRound.objects.create(
        cluster=cluster, noun=AvailabilityRound.Noun.STATUS, finished_at=at
    )


def described(cluster, at):
    QuorumStatus.objects.create(log=quorum.log_of(cluster, NOW), claimed_until=at)


@pytest.mark.parametrize(
    ("due", "make", "served"),
    [
        pytest.param(clusters.due_clusters, make_cluster, asked, id="clusters"),
        pytest.param(quorum.QUORUMS.due, make_cluster, described, id="quorums"),
        pytest.param(availability.due_clusters, make_cluster, judged, id="status of partitions"),
        pytest.param(
            ADVICE.due,
            make_cluster,
            lambda row, at: PromotionRound.objects.create(cluster=row, claimed_until=at),
            id="observers",
        ),
        pytest.param(MEASUREMENTS.due, make_flow, measured, id="flows"),
        pytest.param(
            FINDINGS.due,
            make_flow,
            lambda row, at: FlowWatch.objects.create(flow=row, claimed_until=at),
            id="what fails silently",
        ),
        pytest.param(
            CHECKPOINTS.due,
            make_flow,
            lambda row, at: FlowReadiness.objects.create(
                flow=row, claimed_until=at, since=NOW, updated_at=NOW
            ),
            id="checkpoints",
        ),
    ],
)
def test_whoever_waits_longest_comes_first_and_before_all_who_never_had_a_turn(due, make, served):
    early, late, never = make("alpha"), make("beta"), make("gamma")
    served(early, ago(20))
    served(late, ago(600))
    assert due(NOW) == [never.pk, late.pk, early.pk]


def test_with_ten_times_the_work_of_one_worker_every_cluster_is_asked_in_ten_rounds(settings):
    settings.COLLECT_INTERVAL_S = 10
    for number in range(10):
        make_cluster(f"cluster-{number}")
    for tick in range(20):
        now = NOW + timedelta(seconds=10 * tick)
        one_worker_of_which_each_cluster_takes_a_whole_period(now)
    rounds = CollectionRound.objects.filter(noun=Noun.BROKERS)
    assert rounds.count() == 10
    assert all(row.finished_at >= NOW + timedelta(seconds=100) for row in rounds)


def one_worker_of_which_each_cluster_takes_a_whole_period(now):
    kafka, seconds = FakeKafka(), itertools.count(step=10)
    kind = Kind(
        clusters.due_clusters, lambda pk: clusters.collect_cluster(pk, lambda: now, kafka.open)
    )
    work_through_due(kind, lambda: now, lambda: next(seconds))
