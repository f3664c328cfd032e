"""Old changes go; what was the state where the kept history begins stays."""

from datetime import timedelta

import pytest

from console.quorum.history import queries as history
from console.quorum.history.queries import BeforeHistory
from console.quorum.log import store
from console.quorum.models import Kind, MetadataChange, MetadataLog, MetadataSubject
from tests.console.making import NOW, make_cluster
from tests.console.quorum.making import make_change, make_log, make_partition, placed

pytestmark = pytest.mark.django_db
DAY_S = 86_400


@pytest.fixture
def log(settings):
    settings.METADATA_RETENTION_D = 10
    return make_log(make_cluster("east"))


@pytest.fixture
def orders(log):
    """A partition that changed 30, 20, 15 and 5 days ago."""
    subject = make_partition(log)
    for offset, days, isr in (
        (10, 30, (1, 2, 3)),
        (20, 20, (1, 2)),
        (30, 15, (1,)),
        (40, 5, (1, 2)),
    ):
        make_change(subject, offset, days * DAY_S, placed(1, *isr))
    return subject


def offsets(subject):
    rows = MetadataChange.objects.filter(subject=subject)
    return list(rows.order_by("offset").values_list("offset", flat=True))


def test_a_subject_keeps_what_it_was_when_the_kept_history_begins(log, orders):
    assert store.prune_history(NOW) == 2
    assert offsets(orders) == [30, 40]


def test_the_state_is_the_same_as_before_from_there_on(log, orders):
    before = states(log, 30), states(log, 45)
    store.prune_history(NOW)
    log.refresh_from_db()
    assert (states(log, 30), states(log, 45)) == before


def states(log, offset):
    moment = history.moment_of(log, offset)
    rows = list(history.states_at(log, moment, Kind.PARTITION))
    return [row.state for row in history.with_states(rows, moment)]


def test_a_moment_before_it_is_refused_and_says_from_where_on(log, orders):
    store.prune_history(NOW)
    log.refresh_from_db()
    with pytest.raises(BeforeHistory, match="begins at offset 30"):
        history.moment_of(log, 25)


def test_what_was_gone_by_then_goes_wholly(log, orders):
    orders.gone_offset = 30
    orders.save()
    MetadataChange.objects.filter(offset=40).delete()
    store.prune_history(NOW)
    assert not MetadataSubject.objects.exists()


def test_a_clock_that_jumped_back_takes_nothing_new_with_it(log, orders):
    make_change(orders, 50, 300 * DAY_S, placed(1, 1))
    store.prune_history(NOW)
    assert offsets(orders) == [30, 40, 50]


def test_a_second_time_removes_nothing_and_imported_logs_keep_everything(log, orders):
    store.prune_history(NOW)
    assert store.prune_history(NOW) == 0
    MetadataLog.objects.filter(pk=log.pk).update(cluster=None)
    assert store.prune_history(NOW + timedelta(days=1000)) == 0
