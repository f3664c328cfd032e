"""Analyses that reports wait for: when they are requested, and what becomes of their answers."""

from datetime import UTC, datetime, timedelta

import pytest

from console.availability.status.models import AvailabilityRound
from console.quorum.log.archives import archive_of
from console.quorum.models import MetadataLog
from console.reports.kinds import availability
from console.reports.kinds.asked import Answer, Asked, needs_analysis
from jobs.reports.document import Verdict
from jobs.reports.kinds.clusters.availability import build
from jobs.reports.periods import Period
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.kinds import ANALYSES
from tests.console.availability.making import Story
from tests.console.making import NOW, make_cluster, make_user

pytestmark = pytest.mark.django_db
START = NOW - timedelta(seconds=3600)
PERIOD = Period(START, NOW)


@pytest.fixture
def cluster():
    return make_cluster("east")


def read(cluster, **fields):
    asked = Asked(PERIOD, [cluster], make_user("viewer"), now=NOW, **fields)
    return availability.read(asked).clusters[0]


def test_an_analysis_tells_what_the_database_does_not_hold(cluster):
    MetadataLog.objects.create(cluster=cluster, name="east", created_at=NOW)
    AvailabilityRound.objects.create(cluster=cluster, noun="status", source="log", succeeded_at=NOW)
    numbers = {"partition_ms": 1000, "leaderless_ms": 1, "under_min_isr_ms": 10}
    row = {"topic": "orders", "partitions": 2, **numbers}
    document = {
        "facts": {"from": "2026-11-21T02:20:00.000Z", "to": "2026-11-21T03:12:00.000Z", **numbers},
        "notes": ["The log begins later."],
        "tables": [{"name": "topics", "rows": 1, "preview": [row]}],
    }
    key = "partition-availability:east:2026-11-21T02:12:00.000Z"
    found = read(cluster, answers={key: Answer(document, href="/runs/1/")})
    assert (found.totals.availability, found.totals.partitions) == (0.999, 2)
    assert (found.start, len(found.gaps)) == (datetime(2026, 11, 21, 2, 20, tzinfo=UTC), 1)
    failed = read(cluster, answers={key: Answer(None, "The archive is empty.")})
    assert failed.totals is None
    content = build(availability.AvailabilityRecorded(PERIOD, (failed,)), None)
    told = next(one for one in content.sections[0].blocks if isinstance(one, Verdict))
    assert "failed: The archive is empty." in told.sentence


@pytest.mark.parametrize(
    ("days", "known_days", "is_cut", "is_asked"),
    [
        pytest.param(7, 30, False, False, id="the database holds it"),
        pytest.param(7, 3, False, False, id="before both the database and the archive"),
        pytest.param(7, 3, True, True, id="removed from the database"),
        pytest.param(2, 3, True, False, id="after what was removed"),
        pytest.param(40, 60, False, True, id="a long period that is held"),
        pytest.param(40, 3, False, False, id="a long period of which little is held"),
        pytest.param(7, None, True, True, id="nothing is left"),
        pytest.param(7, None, False, False, id="nothing was ever there"),
    ],
)
def test_an_archive_is_asked_for_long_periods_and_for_what_was_removed(
    cluster, settings, tmp_path, days, known_days, is_cut, is_asked
):
    settings.CROSSLOG_ARCHIVE = tmp_path
    log = MetadataLog.objects.create(cluster=cluster, name="east", created_at=NOW)
    archive_of(log).mkdir(parents=True)
    asked = Asked(Period(NOW - timedelta(days=days), NOW), [cluster], make_user("viewer"), now=NOW)
    known = None if known_days is None else NOW - timedelta(days=known_days)
    assert needs_analysis(asked, "east", known, is_cut=is_cut) is is_asked


def test_the_question_of_a_period_that_was_removed_has_arguments_that_its_analysis_takes(
    cluster, settings, tmp_path
):
    settings.CROSSLOG_ARCHIVE, settings.AVAILABILITY_HISTORY_D = tmp_path, 1
    story = Story(cluster)
    story.topic(seconds=3500)
    archive_of(story.log).mkdir(parents=True)
    later = NOW + timedelta(days=3)
    asked = Asked(Period(story.at(3500), NOW), [cluster], make_user("viewer"), now=later)
    found = availability.questions(asked)
    assert [one.kind for one in found] == ["partition-availability"]
    checked_arguments(ANALYSES[found[0].kind], found[0].arguments)
