"""A failover as an operator does it: look, apply with the name typed, read the report."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from console.replication.failover import work
from console.replication.failover.models import FailoverPlan, FailoverRun
from tests.browser.axe import violations
from tests.browser.world import make_person, make_world
from tests.console.replication.failover_world import PaperClusters, carry_out, two_groups
from tests.waiting import PATIENCE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def plan():
    return make_world(timezone.now()).failover_plans.get()


def address(plan) -> str:
    return f"/replication/{plan.flow_id}/failover/{plan.pk}/"


def test_a_failover_is_applied_with_the_name_typed_and_its_report_is_read(watched, plan):
    clusters = PaperClusters(two_groups)
    watched.sign_in(make_person())
    page = watched.open(address(plan))
    page.get_by_text("Apply…").click()
    page.get_by_label("Name of the plan").first.fill("wrong name")
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.locator(".errorlist")).to_contain_text("drill of november")
    watched.keep_picture("failover/wrong-name")
    page.get_by_label("Name of the plan").first.fill("drill of november")
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.locator("h1")).to_contain_text("Apply")
    carry_out(FailoverRun.objects.get(kind="apply"), clusters)
    expect(page.locator("#live")).to_contain_text("set and read back", timeout=15_000 * PATIENCE)
    watched.keep_picture("failover/applied")
    with page.expect_download() as pdf:
        page.get_by_role("link", name="PDF").click()
    assert pdf.value.path().read_bytes().startswith(b"%PDF-1.7")
    page.get_by_role("link", name="HTML").click()
    expect(page.locator("h1")).to_contain_text("Report of a failover: east to west")
    with watched.unheard():
        assert violations(page) == []


def test_a_plan_that_becomes_ready_is_shown_once_on_its_page(watched, plan):
    FailoverPlan.objects.update(state="queued")
    watched.sign_in(make_person())
    page = watched.open(address(plan))
    expect(page.locator("#live")).to_contain_text("Both clusters are being queried")
    work.read_plan(plan.pk, timezone.now(), PaperClusters(two_groups))
    expect(page.locator("#live")).not_to_contain_text(
        "Both clusters are being queried", timeout=15_000 * PATIENCE
    )
    expect(page.locator("h1")).to_have_count(1)
    expect(page.locator("#page-tabs")).to_have_count(1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_of_a_plan_in_both_themes(watched, plan, theme):
    watched.sign_in(make_person())
    page = watched.open(address(plan))
    page.emulate_media(color_scheme=theme)
    watched.keep_picture(f"failover/plan-{theme}")
    page.get_by_role("link", name="billing").click()
    expect(page.locator("h1")).to_contain_text("billing on west")
    watched.keep_picture(f"failover/group-{theme}")
    run = plan.failover_runs.get()
    watched.open(f"{address(plan)}runs/{run.pk}/")
    watched.keep_picture(f"failover/run-{theme}")
    watched.open(f"{address(plan)}runs/{run.pk}/report.html")
    watched.keep_picture(f"failover/report-{theme}")
