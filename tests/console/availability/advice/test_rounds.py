"""Rounds that advise, beside a promoter that checks the same cluster."""

from dataclasses import dataclass, field, replace

import pytest

from console.availability.acting.promoter import PromoterDependencies, PromotionCycle
from console.availability.advice.models import PromotionRound
from console.availability.advice.round import ADVICE, advise_cluster, take_round
from console.availability.promotion.models import Mode
from console.frame.processes.threads import THREADS
from jobs.cluster.errors import Unreachable
from tests.console.availability.promotion_world import Clock, PaperDoor, make_policy, make_short

pytestmark = pytest.mark.django_db
STILL = replace(THREADS, renew=lambda: None)


@dataclass
class Beside(PaperDoor):
    """A cluster that lets a scheduled round try while it is queried."""

    seen: list[object] = field(default_factory=list)

    def look(self, cluster, topics, is_interesting):
        self.seen += [ADVICE.due(self.clock()), advise_cluster(cluster.pk, self.clock, self)]
        return super().look(cluster, topics, is_interesting)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cluster():
    return make_short()


def test_scheduled_rounds_keep_away_while_a_promoter_checks(cluster, clock):
    make_policy(cluster, mode=Mode.ACT)
    door = Beside(clock)
    ADVICE.row_of(cluster)
    ways = PromoterDependencies(door=door, clock=clock, threads=STILL)
    PromotionCycle(cluster, "here:1", ways).tick()
    assert door.seen
    assert not any(door.seen)
    assert PromotionRound.objects.get().succeeded_at == clock()


def test_a_promoter_takes_a_cluster_whose_round_is_not_due(cluster, clock):
    make_policy(cluster, mode=Mode.ACT)
    door = PaperDoor(clock)
    assert advise_cluster(cluster.pk, clock, door)
    assert not advise_cluster(cluster.pk, clock, door)
    ways = PromoterDependencies(door=door, clock=clock, threads=STILL)
    assert PromotionCycle(cluster, "here:1", ways).tick() == 1


def test_a_failed_check_of_a_promoter_is_written_as_a_failed_round(cluster, clock):
    door = PaperDoor(clock, look_fault=Unreachable("no broker answered", cluster="east"))
    assert take_round(cluster, clock, door, polled=["orders"]) is None
    row = PromotionRound.objects.get()
    assert (row.error, row.failing_since, row.succeeded_at) == ("no broker answered", clock(), None)
