"""The ways through real pages with keys, time range and tables; rows are in the database, no Kafka."""

import csv
import io
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.browser.world import RUN
from tests.waiting import PATIENCE

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


@pytest.fixture
def flow(site):
    return site.flow


@pytest.fixture
def visit(reader, site):
    """Open a route as an administrator."""
    reader.sign_in(site.person())

    def visit(name: str, *args: object, query: str = "") -> Page:
        return reader.open(reverse(name, args=args) + query)

    return visit


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def focused(page: Page) -> str:
    return page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")


def test_rows_are_walked_and_opened_with_keys(visit):
    page = visit("clusters:topics", "east")
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("k")
    assert focused(page) == "clicks"
    assert page.evaluate("document.activeElement.matches(':focus-visible')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/topics/clicks/")


def test_a_filter_is_typed_and_left_with_keys(visit):
    page = visit("clusters:topics", "east")
    page.keyboard.press("/")
    page.keyboard.type("pay")
    expect(page.locator("[data-table] tbody tr")).to_have_count(1)
    expect(page.locator("#table-count")).to_have_text("1\N{EN DASH}1 of 1 (5 without filter)")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert focused(page) == "payments"


def test_help_lists_the_keys_and_closes_with_escape(visit):
    page = visit("overview:overview")
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#shortcuts")).to_be_hidden()


def test_the_first_tab_leads_past_the_sidebar(visit):
    page = visit("clusters:list")
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_bars_of_a_lane_are_reached_and_followed_with_keys(visit, flow):
    page = visit("replication:detail", flow.pk)
    bars = page.locator("#states svg a")
    bars.nth(-2).focus()
    page.keyboard.press("Tab")
    assert bars.last.evaluate("bar => bar.matches(':focus-visible')")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{RUN}/")


def test_a_bar_is_zoomed_to_from_the_table_behind_the_numbers(visit, flow):
    page = visit("replication:detail", flow.pk)
    page.click("#states-numbers > summary")
    page.locator("#states-numbers a", has_text="Zoom").first.click()
    page.wait_for_url("**?from=*")
    expect(page.locator("#states a")).not_to_have_count(0)


def test_dragging_in_a_chart_zooms_all_charts_of_the_page(visit, flow):
    page = visit("replication:detail", flow.pk, query="?range=6h")
    page.locator("#lag").scroll_into_view_if_needed()
    box = page.locator("#lag .u-over").bounding_box()
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 250, box["y"] + 50)
    with page.expect_request(lambda sent: "/series/" in sent.url and "from=" in sent.url):
        page.mouse.up()
    page.wait_for_url("**?from=*")
    assert set(query(page)) == {"from", "to"}
    expect(page.locator(".seg a[aria-current=true]")).to_contain_text("UTC")


def test_a_screen_wider_than_the_longest_series_shows_every_chart(visit, flow):
    page = visit("replication:detail", flow.pk)
    page.set_viewport_size({"width": 2600, "height": 1200})
    page.reload()
    expect(page.locator("#rate .chart__summary")).to_contain_text("highest")
    expect(page.locator(".chart__empty:visible")).to_have_count(0)


def test_a_relative_range_is_in_the_address_and_asked_of_every_chart(visit, flow):
    page = visit("replication:detail", flow.pk)
    asked = []
    page.on("request", lambda sent: "/series/" in sent.url and asked.append(sent.url))
    page.click("nav[aria-label='Time range'] >> text=6 h")
    page.wait_for_url("**?range=6h")
    expect(page.locator(".chart__summary", has_text="Loading")).to_have_count(0)
    assert len([url for url in asked if "range=6h" in url]) >= 3


def test_the_hour_that_the_clock_shows_twice_is_submitted_unchanged(browser, reader, site, flow):
    reader.sign_in(site.person())
    context = browser.new_context(timezone_id="Europe/Berlin")
    context.set_default_timeout(30_000 * PATIENCE)
    context.add_cookies(reader.page.context.cookies())
    page = context.new_page()
    address = f"{reader.url}{reverse('replication:detail', args=[flow.pk])}"
    page.goto(f"{address}?from=2026-10-25T00:30:00Z&to=2026-10-25T01:30:00Z")
    page.click(".tools button[value=local]")
    page.click("summary:has-text('Absolute')")
    for name in ("#range-from", "#range-to"):
        expect(page.locator(name)).to_have_value("2026-10-25 02:30:00")
    page.click("form[data-range] button")
    page.wait_for_url("**?from=2026-10-25T00%3A30%3A00Z*")
    assert query(page) == {"from": ["2026-10-25T00:30:00Z"], "to": ["2026-10-25T01:30:00Z"]}
    context.close()


def test_an_absolute_range_is_typed_in_the_clock_that_the_reader_chose(browser, reader, site, flow):
    reader.sign_in(site.person())
    context = browser.new_context(timezone_id="Asia/Kolkata")
    context.set_default_timeout(30_000 * PATIENCE)
    context.add_cookies(reader.page.context.cookies())
    page = context.new_page()
    page.goto(f"{reader.url}{reverse('replication:detail', args=[flow.pk])}")
    page.click(".tools button[value=local]")
    page.click("summary:has-text('Absolute')")
    expect(page.locator("label[for=range-from]")).to_have_text("From (local)")
    expect(page.locator("#range-from")).to_have_value(
        re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
    )
    page.fill("#range-from", "2026-11-21 08:30")
    page.fill("#range-to", "2026-11-21 09:30:00")
    page.click("form[data-range] button")
    page.wait_for_url("**?from=*")
    assert query(page) == {"from": ["2026-11-21T03:00:00Z"], "to": ["2026-11-21T04:00:00Z"]}
    chosen = page.locator("nav[aria-label='Time range'] a[aria-current=true]")
    expect(chosen).to_have_text("21 Nov 08:30 to 09:30 local")
    context.close()


def test_the_clock_is_remembered_on_the_next_page(visit, flow):
    page = visit("replication:detail", flow.pk)
    page.click(".tools button[value=local]")
    page.goto(page.url.replace(f"/replication/{flow.pk}/", "/runs/"))
    assert page.get_attribute("html", "data-clock") == "local"


def test_events_are_in_the_legend_and_in_the_numbers_of_each_chart(visit, flow):
    page = visit("replication:detail", flow.pk)
    for chart in ("#lag", "#lag-time", "#rate"):
        expect(page.locator(f"{chart} .chart__events")).to_contain_text("Run restarted")
    page.click("#lag .chart__numbers summary")
    page.locator("#lag .chart__table a", has_text="Run crashed: The driver was killed.").click()
    page.wait_for_url("**/runs/**")


def test_columns_are_chosen_and_exported_with_exactly_the_filtered_rows(visit):
    page = visit("clusters:partitions", "east", query="?q=payments")
    page.click("#table-columns summary")
    page.uncheck("#table-columns >> text=Replicas")
    expect(page.locator("thead")).not_to_contain_text("Replicas")
    heads = page.locator("thead th").all_inner_texts()
    with page.expect_download() as download:
        page.click("a[download]")
    rows = list(csv.reader(io.StringIO(download.value.path().read_text("utf-8-sig"))))
    assert [head.strip() for head in heads] == rows[0]
    assert len(rows) - 1 == 6
    assert all("payments" in ",".join(row) for row in rows[1:])


def test_the_switcher_leads_to_the_same_tab_of_another_cluster(visit):
    page = visit("clusters:topics", "east")
    page.click("#switcher summary")
    page.click("#switcher a:has-text('west')")
    page.wait_for_url("**/clusters/west/topics/")
