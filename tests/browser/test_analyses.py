"""Questions and answers in a real browser: readable for all, and an answer that appears by itself."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.utils import timezone
from playwright.sync_api import expect

from console.runs.analyses.results import own_document
from console.runs.analyses.spec import tables_of
from console.runs.models import Run, RunState
from jobs.spark.analyses.kinds import ANALYSES
from tests.console.making import NOW, make_flow
from tests.console.replication.audit_runs import DIFFERS, FINDINGS, make_audit
from tests.console.runs.analyses import asking, records
from tests.console.runs.analyses.making import (
    ANALYSIS,
    KIND,
    document,
    leader,
    make_analysis,
    make_answer,
    make_queued,
    put,
)

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ana(watched, settings, tmp_path):
    settings.CROSSLOG_ARCHIVE = tmp_path
    ANALYSES[KIND] = ANALYSIS
    person = get_user_model().objects.create_user("ana", password="of ana", role="admin")
    watched.sign_in(person)
    yield watched
    del ANALYSES[KIND]


def test_pages_of_questions_and_answers_are_readable_for_all(ana):
    told = {"message": "Reading segments", "done": 12, "total": 48, "unit": "segments", "eta_s": 9}
    pages = {
        "new": "/runs/new/",
        "ask": f"/runs/new/{KIND}/",
        "answer": f"/runs/{make_answer('east').pk}/",
        "running": f"/runs/{make_analysis('west', progress=told).pk}/",
        "queued": f"/runs/{make_queued('north').pk}/",
    }
    found = {}
    for name, path in pages.items():
        ana.page.set_viewport_size({"width": 1440, "height": 900})
        ana.open(path)
        found[name] = ana.look(f"analysis-{name}")
    assert found == {name: [] for name in pages}


def test_an_answer_about_records_with_long_keys_is_readable_for_all(ana, tmp_path):
    rows = [records.rate(hour, "k" * 240, hour * 1.5) for hour in range(48)]
    ana.open(f"/runs/{records.make_answer(tmp_path, 'shown', rows).pk}/")
    assert ana.look("analysis-records") == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("differs", {**DIFFERS, "findings": FINDINGS}),
        ("in-part", {"topics": 12}),
        ("old", {"age": timedelta(days=9)}),
    ],
)
def test_a_flow_with_a_copy_audit_is_readable_for_all(ana, name, values):
    flow = make_flow()
    make_audit(flow, now=timezone.now(), **values)
    ana.open(f"/replication/{flow.pk}/")
    expect(ana.page.get_by_role("heading", name="Copy audit")).to_be_visible()
    assert ana.look(f"audit-{name}") == []


def test_an_answer_appears_by_itself_and_the_page_rests_then(ana):
    run = make_analysis("east")
    page = ana.open(f"/runs/{run.pk}/")
    expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    put(tables_of(run), "leaders", [leader(0)])
    summary = own_document(run, document(run, tables_of(run)))
    Run.objects.filter(pk=run.pk).update(state=RunState.SUCCEEDED, finished_at=NOW, summary=summary)
    connection.close()
    expect(page.get_by_role("heading", name="Result")).to_be_visible()
    expect(page.locator("#live[data-refresh]")).to_have_count(0)


def test_a_list_is_uploaded_and_stays_when_another_field_is_wrong(ana, tmp_path):
    ANALYSES[asking.KIND] = asking.ASKING
    make_flow()
    (tmp_path / "list.csv").write_text("topic,partition,offset\norders,0,12\n")
    page = ana.open(f"/runs/new/{asking.KIND}/")
    page.get_by_label("List of offsets").set_input_files(tmp_path / "list.csv")
    page.get_by_label("At most").fill("999")
    page.get_by_role("button", name="Start analysis").click()
    expect(page.get_by_text("Uploaded: CSV, 35")).to_be_visible()
    assert ana.look("analysis-list") == []
    page.get_by_label("At most").fill("9")
    page.get_by_role("button", name="Start analysis").click()
    expect(page.get_by_text("Queued: place 1.")).to_be_visible()
    del ANALYSES[asking.KIND]
