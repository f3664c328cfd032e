"""The database keeps promotions as every store does."""

import pytest
from django.db import OperationalError
from django.utils import timezone

from console.availability.acting.models import StandbyEvent
from console.availability.acting.store import DatabaseStore
from console.availability.promotion.models import PromotionStop
from jobs.availability.acting.standby.promotions import PromotionEvent, StoreAway
from tests.console.making import make_cluster
from tests.jobs.availability.acting.store_contract import NOW_MS, ONE, StoreContract

pytestmark = pytest.mark.django_db


def nothing() -> None:
    """The connection of a test is not to be closed."""


@pytest.fixture
def cluster():
    return make_cluster("east")


@pytest.fixture
def store(cluster):
    return DatabaseStore(cluster.pk, renew=nothing)


@pytest.fixture
def other(cluster):
    return DatabaseStore(cluster.pk, renew=nothing)


@pytest.fixture
def turn(cluster):
    def turn(*, is_on: bool) -> None:
        PromotionStop.objects.update_or_create(
            scope=str(cluster.pk),
            defaults={"cluster": cluster, "is_on": is_on, "at": timezone.now()},
        )

    return turn


class TestTheDatabaseIsAStore(StoreContract):
    """The contract of `tests/jobs/availability/acting`."""


def test_a_stop_switch_of_all_clusters_holds_everywhere(store):
    PromotionStop.objects.create(scope=PromotionStop.ALL, is_on=True, at=timezone.now())
    assert store.read().is_stopped
    assert not store.begin(ONE)


def test_clusters_do_not_share_promotions(store):
    store.begin(ONE)
    assert DatabaseStore(make_cluster("west").pk, renew=nothing).begin(ONE)


def test_events_stay_for_the_audit(store):
    store.record(PromotionEvent(NOW_MS, "loop-1", 4, "unfenced", "by a heartbeat", "promotion-1"))
    row = StandbyEvent.objects.get()
    assert (row.broker, row.kind, row.detail, row.promotion_id) == (
        4,
        "unfenced",
        "by a heartbeat",
        "promotion-1",
    )


def test_a_database_that_does_not_answer_is_a_store_that_is_away(cluster):
    def gone() -> None:
        raise OperationalError("server closed the connection unexpectedly")

    with pytest.raises(StoreAway, match="did not answer"):
        DatabaseStore(cluster.pk, renew=gone).read()
