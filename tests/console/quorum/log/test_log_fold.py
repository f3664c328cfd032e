"""A real log with snapshots and a trimmed start becomes rows: once, in any number of readings."""

from datetime import UTC, datetime

import pytest

from console.quorum.history import queries as history
from console.quorum.history.queries import Moment
from console.quorum.log import log_fold
from console.quorum.log.log_fold import LogFold
from console.quorum.log.store import save_portion
from console.quorum.models import Election, Kind, MetadataChange, MetadataSubject, VoterSetEntry
from jobs.quorum.image.point_in_time import LogPosition as LogMoment
from jobs.quorum.image.point_in_time import state_of_folder
from jobs.quorum.log.folder import read_folder
from tests.console.making import make_cluster
from tests.console.quorum.making import make_log
from tests.support import METADATA_FOLDER

NOW = datetime(2026, 11, 22, tzinfo=UTC)
pytestmark = pytest.mark.django_db


def stored(log, fold=None):
    """Read what is new of the real log into rows, as a follower does; return the log's row."""
    fold = fold or LogFold(log.next_offset)
    for portion in fold.begin(METADATA_FOLDER):
        save_portion(log, portion, NOW)
    log.refresh_from_db()
    return log


@pytest.fixture
def log():
    return make_log(make_cluster("east"), start_offset=None, next_offset=0, high_watermark=10**6)


def rows():
    fields = ("offset", "number", "kind", "type", "subject__key", "cause", "is_removed", "state")
    return list(MetadataChange.objects.order_by("offset", "number").values_list(*fields))


def test_a_log_becomes_changes_voters_and_elections(log):
    stored(log)
    kinds = set(MetadataChange.objects.values_list("kind", flat=True))
    assert {"topic", "partition", "broker", "feature", "acl"} <= kinds
    assert VoterSetEntry.objects.exists()
    assert log.start_offset > 0
    assert log.next_offset > log.start_offset
    assert log.last_at.year > 2000


def test_reading_it_again_changes_nothing(log):
    before = rows() if stored(log) else []
    next_offset = log.next_offset
    log.next_offset = 0
    stored(log, LogFold(0))
    assert rows() == before
    assert log.next_offset == next_offset


@pytest.mark.parametrize("portion", [1, 7, 5000])
def test_it_comes_to_the_same_in_portions_of_any_size(log, monkeypatch, portion):
    whole = rows() if stored(log) else []
    MetadataChange.objects.all().delete()
    MetadataSubject.objects.all().delete()
    monkeypatch.setattr(log_fold, "PORTION", portion)
    log.next_offset, log.start_offset = 0, None
    stored(log, LogFold(0))
    assert rows() == whole


def test_a_follower_that_begins_again_writes_only_what_is_new(log):
    stored(log)
    whole, cut = rows(), log.next_offset - 60
    MetadataChange.objects.filter(offset__gte=cut).delete()
    log.next_offset = cut
    fold = LogFold(cut)
    told = [change for portion in fold.begin(METADATA_FOLDER) for change in portion.changes]
    assert all(change.offset >= cut for change, _, _ in told)
    stored(log)
    assert rows() == whole


def test_the_rows_say_the_same_state_as_the_log_itself(log):
    stored(log)
    for offset in (log.start_offset + 10, log.next_offset - 1):
        image = state_of_folder(read_folder(METADATA_FOLDER), LogMoment(offset=offset)).image
        there = list(history.states_at(log, Moment(offset), Kind.PARTITION))
        history.with_states(there, Moment(offset))
        found = {(row.topic, row.partition): row.state["isr"] for row in there}
        assert found == {(t.name, p): list(s.isr) for t, p, s in image.partition_rows()}
        topics = history.states_at(log, Moment(offset), Kind.TOPIC)
        assert {row.name for row in topics} == {t.name for t in image.topics.values()}


def test_elections_and_voters_are_reported_once(log):
    stored(log)
    sets, elections = VoterSetEntry.objects.count(), Election.objects.count()
    stored(log, LogFold(0))
    assert (VoterSetEntry.objects.count(), Election.objects.count()) == (sets, elections)
