"""How far replicas are behind: asked of their brokers, kept with the absence."""

from datetime import timedelta

import pytest

from console.availability.collection import collect, lag
from console.availability.status.models import AvailabilityRound, OutOfSyncSpan, PartitionStatus
from jobs.cluster.admin.replica_lags import ReplicaLags
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import Unreachable
from tests.console.availability.making import Story
from tests.console.making import NOW

pytestmark = pytest.mark.django_db
ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def story():
    found = Story()
    found.brokers()
    found.topic(partitions=2)
    found.partition("orders", 0, 60, 1, cause="isr_shrink")
    collect.take_in(found.cluster.pk, lambda: found.now)
    return found


class Brokers:
    """Brokers that tell what a test wants."""

    def __init__(self, lags=None, faults=None):
        self.found = ReplicaLags(lags or {}, faults or {})
        self.asked = None

    def __call__(self, connection, behind, leaders):
        self.asked = ({b: list(where) for b, where in behind.items()}, dict(leaders))
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def ask(story, brokers, now=NOW):
    assert lag.ask_lags(story.cluster.pk, lambda: now, brokers)


def test_only_replicas_out_of_sync_are_asked_for_and_their_leaders(story):
    brokers = Brokers()
    ask(story, brokers)
    assert brokers.asked == ({2: [ORDERS], 3: [ORDERS]}, {ORDERS: 1})


def test_lags_stand_with_the_absences_and_the_worst_with_the_partition(story):
    ask(story, Brokers({(ORDERS, 2): 5, (ORDERS, 3): 70}))
    told = dict(OutOfSyncSpan.objects.values_list("broker", "lag"))
    assert told == {2: 5, 3: 70}
    assert PartitionStatus.objects.get(partition=0).worst_lag == 70
    assert PartitionStatus.objects.get(partition=1).worst_lag is None


def test_what_is_no_longer_told_is_no_longer_known(story):
    ask(story, Brokers({(ORDERS, 2): 5}))
    gone = Unreachable("no broker answered", cluster="east")
    ask(story, Brokers(faults={2: gone, 3: gone}), NOW + timedelta(seconds=20))
    assert set(OutOfSyncSpan.objects.values_list("lag", "lag_at")) == {(None, None)}
    row = AvailabilityRound.objects.get(noun="lag")
    assert row.failing_since is None
    assert "broker 2, 3" in row.error


def test_a_cluster_that_does_not_answer_keeps_what_was_known(story):
    ask(story, Brokers({(ORDERS, 2): 5}))
    silent = Brokers()
    silent.found = Unreachable("no broker answered", cluster="east")
    then = NOW + timedelta(seconds=20)
    ask(story, silent, then)
    row = AvailabilityRound.objects.get(noun="lag")
    assert (row.failing_since, row.error) == (then, "no broker answered")
    assert OutOfSyncSpan.objects.get(broker=2).lag == 5


def test_a_lag_is_kept_while_other_things_change(story):
    ask(story, Brokers({(ORDERS, 2): 5, (ORDERS, 3): 70}))
    story.partition("orders", 0, 30, 1, leader_epoch=9, cause="leader_epoch_bumped")
    collect.take_in(story.cluster.pk, lambda: story.now)
    assert PartitionStatus.objects.get(partition=0).worst_lag == 70


def test_a_cluster_is_due_while_something_is_missing(story):
    assert lag.LAGS.due(NOW) == [story.cluster.pk]
    ask(story, Brokers())
    assert lag.LAGS.due(NOW + timedelta(seconds=3)) == []
    assert lag.LAGS.due(NOW + timedelta(seconds=16)) == [story.cluster.pk]
    story.partition("orders", 0, 10, 1, 2, 3, cause="isr_expand")
    collect.take_in(story.cluster.pk, lambda: story.now)
    assert lag.LAGS.due(NOW + timedelta(seconds=60)) == []
