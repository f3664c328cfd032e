"""From a report that is wanted to its PDF, in a real browser."""

import io

import pypdf
import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import expect

from console.reports.models import ReportRun
from tests.console.making import make_flow
from tests.console.reports.making.worlds import make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ana(watched):
    watched.sign_in(get_user_model().objects.create_user("ana", password="of ana", role="admin"))
    return watched


def test_from_a_schedule_to_a_downloaded_pdf(ana):
    make_flow("orders to west")
    page = ana.open("/reports/")
    page.get_by_role("link", name="New report").click()
    page.get_by_role("link", name="Replication", exact=True).last.click()
    page.get_by_label("Name").fill("Monday report")
    page.get_by_role("button", name="Create report").click()
    page.get_by_role("link", name="Schedule", exact=True).click()
    page.get_by_label("Cron expression").fill("0 7 * * MON")
    page.get_by_role("button", name="Create schedule").click()
    page.get_by_role("button", name="Run now").click()
    run = ReportRun.objects.get()
    ana.open(f"/reports/made/{run.pk}/")
    expect(page.get_by_text("Queued.")).to_be_visible()
    make(run, run.created_at)
    expect(page.get_by_role("heading", name="Verdict")).to_be_visible()
    with page.expect_download() as downloaded:
        page.get_by_role("link", name="PDF").click()
    content = downloaded.value.path().read_bytes()
    text = "".join(one.extract_text() for one in pypdf.PdfReader(io.BytesIO(content)).pages)
    assert "Monday report" in text
    assert "orders to west" in text


def test_what_is_wrong_with_a_new_report_is_said_at_its_field(ana):
    page = ana.open("/reports/new/quorum/")
    page.get_by_label("Time zone").fill("Mars")
    page.get_by_label("Recipients").fill("not a mailbox")
    page.get_by_role("button", name="Create report").click()
    errors = page.locator(".errorlist")
    expect(errors.filter(has_text="No time zone of this name is known")).to_be_visible()
    expect(errors.filter(has_text="not a mailbox:")).to_be_visible()
    assert page.get_by_label("Time zone").input_value() == "Mars"
    assert ana.look("report-wrong") == []
