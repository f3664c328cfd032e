"""What is open when something happens: the sidebar, headings, buttons and tabs follow."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from console.replication.flows.models import ReplicationFlow
from tests.browser.world import make_person, make_world
from tests.waiting import PATIENCE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# Longer than the fast interval of refresh.js.
REFRESHED_MS = 12_000 * PATIENCE


@pytest.fixture
def flow(db):
    return make_world(timezone.now())


@pytest.fixture
def visit(watched, flow):
    """Open a route as an administrator."""
    watched.sign_in(make_person())

    def visit(name: str, *args: object, query: str = "") -> Page:
        return watched.open(reverse(name, args=args) + query)

    return visit


def test_the_sidebar_follows_what_happens(visit, flow):
    page = visit("clusters:list")
    badge = page.locator("#rail-places a", has_text="Replication").locator(".rail__badge")
    expect(badge).to_have_text("2 need attention")
    flow.is_wanted = False
    flow.save()
    expect(badge).to_have_text("1 needs attention", timeout=REFRESHED_MS)
    expect(page.locator("#rail-places [aria-current]")).to_contain_text("Clusters")


def test_heading_buttons_and_tabs_follow_what_happens(visit, flow):
    page = visit("replication:detail", flow.pk)
    expect(page.locator("h1")).to_contain_text("Degraded")
    ReplicationFlow.objects.filter(pk=flow.pk).update(is_wanted=False, run=None, states={})
    expect(page.locator("h1")).to_contain_text("Stopped", timeout=REFRESHED_MS)
    expect(page.locator("#page-tools button", has_text="Start")).to_be_visible()
    partitions = page.locator(".tabs a", has_text="Partitions")
    expect(partitions.locator(".tabs__count--bad")).to_have_count(0)
