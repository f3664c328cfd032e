import pytest
from django.urls import reverse

from console.accounts.models import Role
from console.quorum.models import MetadataLog, Source
from console.runs.analyses.page_context import EVENTS, RECORDS, group_of
from console.runs.analyses.values import body_of
from console.runs.models import Run, RunState
from jobs.spark.analyses.analysis import Column, ColumnType
from jobs.spark.analyses.kinds import ANALYSES
from tests.console.making import NOW, make_user
from tests.console.runs.analyses.making import (
    KIND,
    make_analysis,
    make_answer,
    make_queued,
    make_source,
)

pytestmark = pytest.mark.django_db
FORM = f"/runs/new/{KIND}/"


@pytest.fixture
def as_operator(client):
    client.force_login(make_user(Role.OPERATOR))
    return client


@pytest.fixture
def as_viewer(client):
    client.force_login(make_user(Role.VIEWER))
    return client


def text_of(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def page_of(client, run, query=""):
    return text_of(client, reverse("runs:detail", args=[run.pk]) + query)


def test_every_kind_is_offered_with_its_question(as_operator):
    text = text_of(as_operator, "/runs/new/?log=east")
    assert "Who led when, and for how long?" in text
    assert f"{FORM}?log=east" in text


def test_the_list_of_runs_leads_to_it_for_operators(as_operator):
    assert 'href="/runs/new/"' in text_of(as_operator, "/runs/")


def test_a_viewer_is_not_led_there(as_viewer):
    assert 'href="/runs/new/"' not in text_of(as_viewer, "/runs/")
    assert as_viewer.get(FORM).status_code == 403


def test_a_form_has_a_field_for_each_argument(as_operator):
    make_source()
    text = text_of(as_operator, FORM)
    for name in ("log", "from", "to", "by", "most", "topic"):
        assert f'name="{name}"' in text
    assert '<option value="east" selected>east</option>' in text
    assert 'min="1" max="100"' in text


def test_an_address_fills_in_the_form(as_operator):
    make_source(), make_source("west")
    text = text_of(as_operator, f"{FORM}?log=west&from=2026-03-31T12:00:00Z&other=1")
    assert '<option value="west" selected>' in text
    assert 'value="2026-03-31T12:00:00Z"' in text


def test_only_logs_that_may_be_asked_about_are_offered(client):
    make_source(), make_source("west")
    person = make_user(Role.VIEWER)
    person.cluster_grants.create(cluster=make_source("west").cluster, role=Role.OPERATOR)
    client.force_login(person)
    text = text_of(client, FORM)
    assert 'value="west"' in text
    assert 'value="east"' not in text


def test_asking_leads_to_the_run(as_operator):
    make_source()
    answer = as_operator.post(FORM, {"log": "east", "by": "epoch", "most": "5"})
    run = Run.objects.get()
    assert answer["Location"] == reverse("runs:detail", args=[run.pk])
    assert (run.arguments["by"], run.arguments["most"], run.arguments["topic"]) == (
        "epoch",
        5,
        None,
    )


def test_what_is_wrong_is_at_its_field_and_nothing_is_lost(as_operator):
    make_source()
    given = {"log": "east", "by": "leader", "most": "999", "from": "yesterday", "topic": "orders"}
    text = as_operator.post(FORM, given).content.decode()
    assert "From 1 to 100." in text
    assert "A time is required" in text
    for value in ("999", "yesterday", "orders"):
        assert f'value="{value}"' in text
    assert not Run.objects.exists()


def test_the_same_question_leads_to_the_run_that_is_there(as_operator):
    make_source()
    for _ in range(2):
        answer = as_operator.post(FORM, {"log": "east", "by": "leader"}, follow=True)
    assert "is running already" in answer.content.decode()
    assert Run.objects.count() == 1


def test_an_unknown_kind_leads_to_those_that_there_are(as_operator):
    answer = as_operator.get("/runs/new/nothing/", follow=True)
    assert "There is no analysis of the kind nothing" in answer.content.decode()


def test_a_queued_analysis_shows_its_place(as_operator):
    make_queued("west")
    text = page_of(as_operator, make_queued("east", created_at=NOW.replace(minute=59)))
    assert "Queued: place 2." in text
    assert 'data-refresh-ms="1000"' in text


def test_a_running_analysis_shows_how_far_it_is(as_operator):
    told = {"message": "Reading", "done": 1200, "total": 4800, "unit": "records", "eta_s": 12.0}
    text = page_of(as_operator, make_analysis(progress=told))
    assert "Reading: 1,200 of 4,800 records, about 12\N{NO-BREAK SPACE}s left" in text
    assert '<progress max="4800" value="1200"' in text


def test_an_answer_shows_facts_notes_and_tables(as_viewer):
    text = page_of(as_viewer, make_answer())
    for word in (
        "Elections", "1,234", "1\N{NO-BREAK SPACE}m\N{NO-BREAK SPACE}30\N{NO-BREAK SPACE}s",
        "99.9\N{NO-BREAK SPACE}%", "It begins in the middle.",
        "12.3\N{NO-BREAK SPACE}%", "1,234,567", "1, 2, 3", "1\N{EN DASH}50 of 120",
    ):  # fmt: skip
        assert word in text, word
    assert "data-refresh" not in text.split('id="live"')[1][:60]


def test_every_chart_of_the_kind_is_drawn(as_viewer):
    text = page_of(as_viewer, make_answer())
    for title in ("Leaders over time", "Elections by topic and hour", "Elections by the hour"):
        assert title in text
    assert 'class="lane lane--critical"' in text
    assert "topic-3" in text


def test_lanes_are_zoomed_by_a_time_range(as_viewer):
    run = make_answer()
    far = page_of(as_viewer, run, "?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z")
    assert "Nothing is known of this time range." in far


def test_a_table_is_read_page_by_page(as_viewer):
    text = page_of(as_viewer, make_answer(), "?leaders.page=3")
    assert "101\N{EN DASH}120 of 120" in text
    assert "1\N{EN DASH}50 of 120" in text


def test_removed_files_are_reported_and_the_rest_works(as_viewer, settings):
    run = make_answer()
    settings.CROSSLOG_ARCHIVE = settings.CROSSLOG_ARCHIVE / "elsewhere"
    text = page_of(as_viewer, run, "?leaders.page=2")
    assert "Only the first rows are left" in text
    assert "are not in the archive of this machine any more" in text
    assert "Elections by the hour" in text


def test_an_answer_of_a_kind_that_is_gone_is_still_shown(as_viewer):
    run = make_answer()
    told, ANALYSES[KIND] = ANALYSES.pop(KIND), None
    del ANALYSES[KIND]
    text = page_of(as_viewer, run)
    ANALYSES[KIND] = told
    assert "Leaders in office" in text
    assert "Ask again" not in text


def test_an_operator_is_led_to_the_same_question(as_operator):
    text = page_of(as_operator, make_answer(arguments={"topic": "orders"}))
    assert f"{FORM}?log=east&amp;by=leader&amp;most=10&amp;topic=orders" in text


def test_a_failed_analysis_says_why(as_viewer):
    run = make_analysis(state=RunState.FAILED, error="no such folder", finished_at=NOW)
    text = page_of(as_viewer, run)
    assert '<h2 id="end-title">Error</h2>' in text
    assert "no such folder" in text


def test_an_answer_says_until_when_it_is_kept(as_viewer):
    assert "21 Dec 03:12:02" in page_of(as_viewer, make_answer())


def test_files_of_a_table_are_loaded_from_its_page(as_viewer):
    run = make_answer()
    for form in ("csv", "parquet"):
        answer = as_viewer.get(reverse(f"runs:{form}", args=[run.pk, "leaders"]))
        assert answer.status_code == 200
        assert answer["Content-Disposition"].startswith("attachment")


def test_kinds_are_grouped_by_what_they_read(as_operator):
    text = text_of(as_operator, "/runs/new/")
    groups = [text.index(f">{title}</h2>") for title in ("Metadata log", "Offsets", "Records")]
    kinds = [text.index(f'href="/runs/new/{kind}/"') for kind in (KIND, "translate", "backtest")]
    assert groups[0] < kinds[0] < groups[1] < kinds[1] < groups[2] < kinds[2]


def test_every_kind_of_the_release_has_a_sentence(as_operator):
    text = text_of(as_operator, "/runs/new/")
    assert not [one.kind for one in ANALYSES.values() if one.kind != KIND and one.question in text]


def test_the_form_of_a_kind_leads_to_its_terms(as_operator):
    text = text_of(as_operator, "/runs/new/backtest/")
    assert 'href="/runs/new/#records-terms">Certificate, Backtest</a>' in text


@pytest.mark.parametrize(
    "kind", ["topic-profile", "key-skew", "copy-audit", "store-at", "rebalances"]
)
def test_kinds_about_records_are_in_the_group_of_records(kind):
    assert group_of(ANALYSES[kind]) is RECORDS


def test_kinds_about_events_are_in_a_group_of_their_own():
    assert group_of(ANALYSES["tiered-reach"]) is EVENTS


def test_an_imported_log_is_shown_by_its_title(as_viewer):
    run = make_analysis()
    MetadataLog.objects.create(
        name="_incident-1", title="Incident of 03:06", source=Source.IMPORT, created_at=NOW
    )
    run.arguments["log"] = "_incident-1"
    run.save()
    text = page_of(as_viewer, run)
    assert "<dd>Incident of 03:06 (imported)</dd>" in text


def test_words_of_a_vocabulary_are_written_for_people():
    columns = tuple(Column(name, name, ColumnType.TEXT) for name in ("cause", "what", "topic"))
    rows = [{"cause": "nothing", "what": "silence", "topic": "topic_created"}]
    assert [cell.text for cell in body_of(columns, rows)[0]] == [
        "No change", "No controller", "topic_created",
    ]  # fmt: skip
