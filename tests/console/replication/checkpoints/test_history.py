"""How often the answer was green: from the moments at which it became another one."""

from datetime import timedelta

import pytest

from console.frame.pages.timerange import TimeRange
from console.replication.checkpoints.history import (
    GAP,
    draw_answers,
    prune_changes,
    share_ready,
    stretches,
)
from console.replication.flows.models import FlowReadiness, ReadinessChange
from jobs.replication.checkpoints.obstacles import Readiness
from tests.console.making import NOW, make_flow

pytestmark = pytest.mark.django_db


def ago(**span):
    return NOW - timedelta(**span)


@pytest.fixture
def flow():
    flow = make_flow()
    FlowReadiness.objects.create(flow=flow, since=NOW, updated_at=NOW, succeeded_at=NOW)
    return flow


def became(flow, readiness, at, group=""):
    ReadinessChange.objects.create(flow=flow, group=group, at=at, readiness=readiness)


def test_the_share_is_of_the_time_in_which_it_was_asked(flow):
    became(flow, "blocked", ago(hours=10))
    became(flow, "ready", ago(hours=9))
    found = share_ready(flow, "", NOW)
    assert (found.share, found.since, found.changes) == (0.9, ago(hours=10), 1)


def test_what_came_before_the_last_30_days_counts_from_there_on(flow):
    became(flow, "ready", ago(days=60))
    became(flow, "warning", ago(days=15))
    assert share_ready(flow, "", NOW).share == 0.5


@pytest.mark.parametrize("word", ["warning", "unknown", "blocked"])
def test_only_ready_is_green(flow, word):
    became(flow, word, ago(days=1))
    assert share_ready(flow, "", NOW).share == 0


def test_before_the_first_answer_nobody_knows(flow):
    assert share_ready(flow, "", NOW).share is None


def test_a_group_has_a_history_of_its_own(flow):
    became(flow, "ready", ago(hours=2))
    became(flow, "blocked", ago(hours=2), "readers")
    assert share_ready(flow, "readers", NOW).share == 0


def test_a_time_in_which_nobody_asks_any_more_is_not_green(flow):
    became(flow, "ready", ago(hours=10))
    became(flow, "blocked", ago(hours=5))
    FlowReadiness.objects.update(succeeded_at=ago(hours=5))
    found = share_ready(flow, "", NOW)
    assert found.share == pytest.approx(5 * 3600 / (5 * 3600 + GAP.total_seconds()))


def test_stretches_are_cut_to_what_is_looked_at():
    changes = [(ago(hours=3), "ready"), (ago(hours=1), "blocked")]
    assert stretches(changes, ago(hours=2), NOW) == [
        (Readiness.READY, ago(hours=2), ago(hours=1)),
        (Readiness.BLOCKED, ago(hours=1), NOW),
    ]


def test_the_lane_of_a_page_shows_the_words(flow):
    became(flow, "ready", ago(hours=3))
    became(flow, "blocked", ago(hours=1))
    lanes = draw_answers(flow, "", TimeRange(ago(hours=2), NOW), NOW)
    assert [bar.segment.word for row in lanes.rows for bar in row.bars] == ["Ready", "Blocked"]


def test_old_changes_go_but_what_still_holds_stays(flow, settings):
    settings.CHECKPOINT_HOURS_D = 90
    became(flow, "blocked", ago(days=200))
    became(flow, "ready", ago(days=100))
    prune_changes(NOW)
    assert list(ReadinessChange.objects.values_list("readiness", flat=True)) == ["ready"]
