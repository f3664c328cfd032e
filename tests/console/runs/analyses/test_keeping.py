from datetime import timedelta

import pytest

from console.runs.actions import remove_old_runs
from console.runs.analyses.results import kept_until
from console.runs.analyses.spec import tables_of
from console.runs.models import Run
from jobs.spark.analyses.kinds import ANALYSES
from tests.console.making import NOW, make_run
from tests.console.runs.analyses.making import ANALYSIS, KIND, make_analysis, make_answer

pytestmark = pytest.mark.django_db
KEPT = timedelta(days=ANALYSIS.keep_days)


def test_an_answer_is_kept_as_long_as_its_kind_says_and_goes_with_its_tables(launcher):
    run = make_answer()
    end = kept_until(run)
    assert end == run.finished_at + KEPT
    remove_old_runs(end - timedelta(seconds=1), launcher)
    assert (tables_of(run) / "leaders").is_dir()
    assert remove_old_runs(end + timedelta(seconds=1), launcher) == 1
    assert not tables_of(run).exists()
    assert [str(folder) for folder in launcher.removed] == [run.folder]


def test_tables_of_a_second_attempt_go_likewise(launcher):
    run = make_answer(attempts=2)
    Run.objects.filter(pk=run.pk).update(folder=f"{run.folder}-2")
    second = tables_of(run).rename(tables_of(run).with_name(f"{run.pk}-2"))
    remove_old_runs(NOW + KEPT + timedelta(days=1), launcher)
    assert not second.exists()


def test_runs_of_flows_go_after_two_weeks_beside_answers_that_stay(launcher):
    answer = make_answer()
    make_run(state="SUCCEEDED", finished_at=NOW)
    assert remove_old_runs(NOW + timedelta(days=15), launcher) == 1
    assert list(Run.objects.all()) == [answer]


def test_an_answer_of_a_kind_that_is_gone_stays_for_a_while(launcher):
    run = make_answer()
    del ANALYSES[KIND]
    removed = [remove_old_runs(NOW + timedelta(days=days), launcher) for days in (89, 91)]
    ANALYSES[KIND] = ANALYSIS
    assert (removed, Run.objects.filter(pk=run.pk).exists()) == ([0, 1], False)


def test_a_live_analysis_is_not_removed(launcher):
    make_analysis()
    assert remove_old_runs(NOW + timedelta(days=999), launcher) == 0
