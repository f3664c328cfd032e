"""The database keeps promotions as every store does."""

import pytest
from django.db import OperationalError

from console.availability.acting.models import StandbyEvent
from console.availability.acting.store import DatabaseStore
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


class TestTheDatabaseIsAStore(StoreContract):
    """The contract of `tests/jobs/availability/acting`."""


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
