"""What a what-if counts on: crosslog's own promotions, only where it would really act."""

import pytest
from django.utils import timezone

from console.availability.placements.placements import rules_of
from console.availability.promotion.acted_topics import acted_topics_of
from console.availability.promotion.models import Actor, Mode, PromotionStop
from console.availability.what_if.cluster_snapshots import (
    ClusterSnapshot,
    PartitionClass,
    TopicFacts,
)
from console.availability.what_if.matrices import matrix_digest
from console.availability.what_if.simulation import simulate_snapshot
from jobs.availability.what_if.model.cluster import BrokerModel
from jobs.availability.what_if.steps import Loss
from tests.console.availability.promotion_world import STANDBY, make_policy
from tests.console.making import make_cluster

pytestmark = pytest.mark.django_db

BROKERS = (
    BrokerModel(1, "west"),
    BrokerModel(2, "west"),
    BrokerModel(STANDBY, "east", is_standby=True),
)
# min.insync.replicas 2, two brokers in sync, and a standby that has everything.
PICTURE = ClusterSnapshot(
    BROKERS,
    (),
    False,
    [PartitionClass((1, 2, STANDBY), (1, 2), 1)],
    [TopicFacts("orders", 2, False, "", [0], [0])],
)


@pytest.fixture
def cluster():
    return make_cluster("east")


def outcome_of(cluster):
    """What the loss of broker 1 leaves of the only partition."""
    answer = simulate_snapshot(
        PICTURE,
        rules_of(cluster),
        [Loss(brokers=frozenset({1}))],
        acted=acted_topics_of(cluster),
    )
    return answer.overall[0].after


def act(cluster, **fields):
    return make_policy(cluster, **{"mode": Mode.ACT, **fields})


def test_a_standby_that_crosslog_promotes_keeps_a_partition_writable(cluster):
    act(cluster)
    after = outcome_of(cluster)
    assert after.is_writable
    assert {*after.isr} == {2, STANDBY}


def test_when_it_is_promoted_is_what_the_policy_says(cluster):
    act(cluster, policy="leader-is-observer")
    assert not outcome_of(cluster).is_writable


def test_of_several_policies_the_one_for_the_topic_counts(cluster):
    act(cluster, pattern=".*", kind="regex")
    make_policy(cluster, mode=Mode.ADVISE)
    assert not outcome_of(cluster).is_writable


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"mode": Mode.ADVISE}, id="advice only"),
        pytest.param({"opted_in_at": None}, id="no user opted in"),
        pytest.param({"actor": Actor.REASSIGN_TO_SPARE}, id="acts by a reassignment"),
        pytest.param({"allowed_brokers": [1]}, id="the standby is not on the allow-list"),
        pytest.param({"pattern": "clicks"}, id="another topic"),
    ],
)
def test_nobody_is_promoted_where_crosslog_would_not_act(cluster, fields):
    act(cluster, **fields)
    assert not outcome_of(cluster).is_writable


@pytest.mark.parametrize("scope", ["all", "own"])
def test_nobody_is_promoted_while_a_stop_switch_is_on(cluster, scope):
    act(cluster)
    own = {"scope": str(cluster.pk), "cluster": cluster}
    where = {"scope": PromotionStop.ALL} if scope == "all" else own
    PromotionStop.objects.create(is_on=True, at=timezone.now(), **where)
    assert not outcome_of(cluster).is_writable


def test_nobody_is_promoted_in_read_only_mode(cluster, settings):
    act(cluster)
    settings.CROSSLOG_READ_ONLY = True
    assert not outcome_of(cluster).is_writable


def test_the_matrix_is_made_again_when_crosslog_begins_to_act(cluster):
    policy = make_policy(cluster, mode=Mode.ADVISE)
    before = matrix_digest(cluster, "picture")
    policy.mode, policy.opted_in_at = Mode.ACT, timezone.now()
    policy.save()
    acting = matrix_digest(cluster, "picture")
    assert before != acting
    PromotionStop.objects.create(scope=PromotionStop.ALL, is_on=True, at=timezone.now())
    assert matrix_digest(cluster, "picture") == before
