"""The pages of reports, as a person uses them."""

import pytest
from django.urls import reverse

from console.reports.models import Report, ReportRun, Trigger
from jobs.reports.kinds.kind import KINDS
from tests.console.delivery.making import make_report_run
from tests.console.making import count_queries, make_flow, make_user
from tests.console.reports.making.worlds import make, make_report, queue_run, ready_run

pytestmark = pytest.mark.django_db
FORM = {
    "name": "Weekly",
    "period": "last-week",
    "time_zone": "Europe/Berlin",
    "with_before": "on",
    "formats": ["pdf", "csv"],
    "paper": "a4",
    "recipients": "ops@example.org",
    "keep_days": "30",
}


@pytest.fixture(autouse=True)
def mail(settings):
    settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = "mail.example.org", "crosslog@example.org"


def new(kind: str = "disaster-recovery") -> str:
    return reverse("reports:new", args=[kind])


def test_a_report_is_created_and_leads_to_its_page_which_offers_a_schedule(sign_in, operator):
    make_flow("orders")
    page = sign_in(operator).post(new(), FORM | {"subjects": ["orders"]}, follow=True)
    report = Report.objects.get()
    assert page.redirect_chain == [(f"/reports/{report.pk}/", 302)]
    assert report.recipients == [{"channel": "email", "address": "ops@example.org"}]
    assert report.formats == ["pdf", "csv"]
    href = f"/schedules/new/?kind=report&amp;arguments=%7B%22report%22%3A+{report.pk}%7D"
    assert href in page.content.decode()


def test_a_preview_is_made_for_the_person_and_kept_as_no_report(sign_in, operator):
    make_flow("orders")
    answer = sign_in(operator).post(new(), FORM | {"preview": "1", "keep_days": "300"})
    run = ReportRun.objects.get()
    assert answer["Location"] == f"/reports/made/{run.pk}/"
    assert (run.trigger, run.recipients, run.report) == (Trigger.PREVIEW, [], None)
    assert run.keep_days == 30
    assert not Report.objects.exists()


def test_all_faults_of_a_form_are_shown_in_one_round(sign_in, operator):
    wrong = {"name": "", "keep_days": "0", "time_zone": "Mars", "recipients": "no-address"}
    form = sign_in(operator).post(new(), FORM | wrong).context["form"]
    assert set(form.errors) == {"name", "keep_days", "time_zone", "recipients"}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        pytest.param({"time_zone": "Mars"}, "No time zone of this name", id="zone"),
        pytest.param({"recipients": "no-address"}, "no-address", id="recipient"),
        pytest.param({"formats": []}, "This field is required", id="format"),
        pytest.param({"keep_days": "-1"}, "greater than or equal to 1", id="days"),
        pytest.param({"subjects": ["nowhere"]}, "nowhere", id="subject"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_the_rest_is_kept(
    sign_in, operator, changed, sentence
):
    page = sign_in(operator).post(new(), FORM | changed)
    assert page.status_code == 200
    assert sentence in page.content.decode()
    assert 'value="Weekly"' in page.content.decode()
    assert not Report.objects.exists()


def test_the_audit_trail_is_offered_to_admins_only(sign_in, operator, admin):
    assert "Audit log" not in sign_in(operator).get("/reports/new/").content.decode()
    assert sign_in(operator).get(new("audit-trail")).status_code == 404
    assert "Audit log" in sign_in(admin).get("/reports/new/").content.decode()


def test_a_report_that_was_made_is_shown_with_its_files_and_sections(sign_in, operator):
    make_flow("orders")
    run = ready_run(operator)
    page = sign_in(operator).get(f"/reports/made/{run.pk}/").content.decode()
    for form in ("html", "pdf", "csv", "json"):
        path = f"/reports/made/{run.pk}/files/{form}/"
        assert path in page
        answer = sign_in(operator).get(path)
        assert answer["Content-Disposition"].startswith("attachment; filename=")
        assert len(answer.content) == run.files[form]["bytes"]


def test_a_report_that_failed_says_why(sign_in, operator):
    run = make(queue_run(operator, subjects=[4711]))
    assert run.error in sign_in(operator).get(f"/reports/made/{run.pk}/").content.decode()


def test_a_report_whose_files_are_gone_says_so(sign_in, operator, settings, tmp_path):
    make_flow("orders")
    run = ready_run(operator)
    settings.CROSSLOG_HOME = tmp_path
    page = sign_in(operator).get(f"/reports/made/{run.pk}/")
    assert "Make it again" in page.content.decode()
    assert sign_in(operator).get(f"/reports/made/{run.pk}/files/pdf/").status_code == 409


def test_a_past_period_is_made_of_days_of_the_zone_of_the_report(sign_in, operator):
    make_flow("orders")
    report = make_report(operator, time_zone="Europe/Berlin")
    path = f"/reports/{report.pk}/run/"
    sign_in(operator).post(path, {"from": "2026-10-19", "to": "2026-10-26"})
    run = ReportRun.objects.get()
    # The clocks went back on the 25th.
    assert (run.period_end - run.period_start).total_seconds() == (7 * 24 + 1) * 3600


@pytest.mark.parametrize(
    ("start", "end", "sentence"),
    [
        ("yesterday", "2026-10-26", "A day or a time is needed"),
        ("2026-10-26", "2026-10-19", "begin before it ends"),
        ("2020-01-01", "2026-10-19", "at most 400 days"),
    ],
)
def test_a_wrong_period_is_refused_with_a_sentence(sign_in, operator, start, end, sentence):
    report = make_report(operator)
    path = f"/reports/{report.pk}/run/"
    page = sign_in(operator).post(path, {"from": start, "to": end}, follow=True)
    assert sentence in page.content.decode()
    assert not ReportRun.objects.exists()


def test_settings_are_changed_and_wrong_ones_refused(sign_in, operator):
    report = make_report(operator)
    path = f"/reports/{report.pk}/settings/"
    assert "Mars" in sign_in(operator).post(path, FORM | {"time_zone": "Mars"}).content.decode()
    assert sign_in(operator).post(path, FORM | {"name": "Other"}).status_code == 302
    assert Report.objects.get().name == "Other"


def test_only_owners_and_operators_of_everything_change_a_report(sign_in, operator, viewer):
    report = make_report(operator)
    for path in ("settings", "run", "delete"):
        answer = sign_in(viewer).post(f"/reports/{report.pk}/{path}/")
        assert answer.status_code == 403, path
    assert sign_in(make_user("none")).get(f"/reports/{report.pk}/").status_code in {403, 404}


def test_the_number_of_queries_does_not_grow_with_the_number_of_reports(client, operator):
    client.force_login(operator)
    make_report(operator)
    queue_run(operator)
    before = [count_queries(client, path) for path in ("/reports/", "/reports/made/")]
    for number in range(8):
        queue_run(operator, report=make_report(operator, name=f"Report {number}"))
    assert [count_queries(client, path) for path in ("/reports/", "/reports/made/")] == before


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_form(sign_in, admin, kind):
    page = sign_in(admin).get(new(kind)).content.decode()
    assert KINDS[kind].summary.split(",")[0] in page


def test_a_report_whose_print_could_not_be_made_says_so_on_its_page(client, operator):
    run = make_report_run(error="PDF could not be made: TypstError.", files={})
    client.force_login(operator)
    page = client.get(reverse("reports:run", args=[run.pk])).content.decode()
    assert "PDF could not be made: TypstError." in page
    assert reverse("reports:file", args=[run.pk, "pdf"]) not in page
