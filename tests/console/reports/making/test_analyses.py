"""Reports whose sections come from analyses wait for them."""

from datetime import timedelta

import pytest

from console.reports.kinds.asked import Asked, Question
from console.reports.kinds.registry import Maker
from console.reports.making import building
from console.reports.models import RunState
from console.runs.models import Run
from console.runs.models import RunState as AnalysisState
from jobs.reports.document import Section, Text
from jobs.reports.kinds.kind import Content
from tests.console.making import NOW as _NOW
from tests.console.making import make_cluster
from tests.console.quorum.making import make_quorum
from tests.console.reports.making.test_building import document_of
from tests.console.reports.making.worlds import NOW, queue_run

pytestmark = pytest.mark.django_db


def questions(asked: Asked) -> list[Question]:
    return [Question(f"{asked.period.start:%d}", "metadata-records", {"log": "east"})]


def read(asked: Asked) -> dict[str, str]:
    return {key: one.error or str(one.document) for key, one in asked.answers.items()}


def build(recorded: dict[str, str], before: dict[str, str] | None) -> Content:
    blocks = tuple(Text(f"{key}: {text}") for key, text in sorted(recorded.items()))
    return Content((Section("told", "Told", None, None, blocks),))


MAKERS = {"availability": Maker(read, build, questions)}


@pytest.fixture
def waiting(operator):
    make_quorum(make_cluster("east"), _NOW)
    run = queue_run(operator, kind="availability")
    building.claim(run.pk, NOW)
    building.make(run.pk, NOW, MAKERS)
    run.refresh_from_db()
    return run


def test_a_report_waits_until_its_analyses_have_ended(waiting):
    assert waiting.state == RunState.WAITING
    building.wake_waiting()
    waiting.refresh_from_db()
    assert waiting.state == RunState.WAITING
    Run.objects.update(state=AnalysisState.FAILED, error="The archive has a hole.")
    building.wake_waiting()
    waiting.refresh_from_db()
    assert waiting.state == RunState.QUEUED


def test_an_analysis_that_failed_is_told_with_its_reason(waiting):
    Run.objects.update(state=AnalysisState.FAILED, error="The archive has a hole.")
    building.wake_waiting()
    later = NOW + timedelta(minutes=1)
    building.claim(waiting.pk, later)
    building.make(waiting.pk, later, MAKERS)
    waiting.refresh_from_db()
    assert waiting.state == RunState.READY, waiting.error
    text = str(document_of(waiting).sections)
    assert "The archive has a hole." in text


def test_a_person_who_may_not_ask_it_gets_the_report_without_it(viewer):
    make_quorum(make_cluster("east"), _NOW)
    run = queue_run(viewer, kind="availability")
    building.claim(run.pk, NOW)
    building.make(run.pk, NOW, MAKERS)
    run.refresh_from_db()
    assert run.state == RunState.READY, run.error
    assert not Run.objects.exists()
