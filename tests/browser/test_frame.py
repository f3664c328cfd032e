"""The frame in a real browser: nothing but the gallery's own rows, no room and no Kafka."""

import os
import re
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Locator, Page, expect

from tests.waiting import PATIENCE

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.urls("tests.gallery.urls"),
]
# Longer than the fast interval of refresh.js: the live part was requested at least once.
REFRESHED_MS = 4000 * PATIENCE
ARTIFACTS = Path(os.environ.get("CROSSLOG_ARTIFACTS", "artifacts"))


@pytest.fixture
def gallery(page: Page, live_server, request) -> Page:
    """The gallery of a signed-in person; fails the test when the page broke a rule meanwhile."""
    get_user_model().objects.create_user("ana", password="secret-1", role="admin")
    complaints, strangers = [], []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda message: "Content Security" in message.text and complaints.append(message.text),
    )
    page.on(
        "request", lambda sent: sent.url.startswith(live_server.url) or strangers.append(sent.url)
    )
    page.goto(f"{live_server.url}/login/?next=/gallery/")
    page.fill("[name=username]", "ana")
    page.fill("[name=password]", "secret-1")
    page.click("button[type=submit]")
    expect(page.locator("#lag canvas")).to_be_visible()
    yield page
    assert (complaints, strangers) == ([], [])


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def focused(page: Page) -> str:
    return page.evaluate("document.activeElement.id || document.activeElement.textContent")


def wait_for_refresh(page: Page) -> None:
    with page.expect_response(lambda answer: "/gallery/" in answer.url, timeout=3 * REFRESHED_MS):
        pass
    expect(page.locator("[data-refresh].htmx-request")).to_have_count(0)


def test_filter_while_typing_keeps_the_focus_and_is_in_the_address(gallery):
    gallery.keyboard.press("/")
    gallery.keyboard.type("add user")
    expect(gallery.locator("[data-table] tbody tr")).to_have_count(1)
    # Who types slowly asks for a part of it first.
    expect(gallery).to_have_url(re.compile(r"q=add(\+|%20)user$"))
    expect(gallery.locator("a[download]")).to_have_attribute("href", re.compile(r"q=add\+user"))
    assert query(gallery) == {"q": ["add user"]}
    assert focused(gallery) == "table-q"


def test_sort_turns_round_in_place(gallery):
    gallery.click("thead a:has-text('Number')")
    expect(gallery.locator("th:has-text('Number')")).to_have_attribute("aria-sort", "ascending")
    gallery.click("thead a:has-text('Number')")
    expect(gallery.locator("th:has-text('Number')")).to_have_attribute("aria-sort", "descending")
    assert query(gallery) == {"sort": ["pk"], "dir": ["desc"]}


def test_going_back_shows_what_was_there(gallery):
    gallery.click(".pages a[rel=next]")
    expect(gallery.locator(".pages")).to_contain_text("Page 2")
    gallery.go_back()
    expect(gallery.locator(".pages")).to_contain_text("Page 1")


def test_columns_can_be_chosen_and_the_menu_stays_open(gallery):
    gallery.click("#table-columns summary")
    gallery.check("#table-columns >> text=Model")
    expect(gallery.locator("thead")).to_contain_text("Model")
    assert gallery.evaluate("document.querySelector('#table-columns').open")


def test_refresh_keeps_focus_scroll_and_open_parts(gallery):
    gallery.click("#lag .chart__numbers summary")
    gallery.keyboard.press("j")
    gallery.keyboard.press("j")
    before = (focused(gallery), gallery.evaluate("scrollY"))
    wait_for_refresh(gallery)
    assert (focused(gallery), gallery.evaluate("scrollY")) == before
    assert gallery.evaluate("document.querySelector('#lag .chart__numbers').open")


def test_a_hidden_page_asks_for_nothing(gallery):
    gallery.clock.install()
    gallery.reload()
    expect(gallery.locator("#lag canvas")).to_be_visible()
    gallery.evaluate("Object.defineProperty(document, 'hidden', {get: () => true})")
    asked = []
    gallery.on("request", lambda sent: asked.append(sent.url))
    gallery.clock.run_for(120_000)
    assert asked == []


def test_an_idle_page_asks_less_often(gallery):
    gallery.clock.install()
    gallery.reload()
    expect(gallery.locator("#lag canvas")).to_be_visible()
    gallery.clock.run_for(90_000)
    asked = []
    gallery.on("request", lambda sent: asked.append(sent.url))
    gallery.clock.run_for(29_000)
    assert len([url for url in asked if urlsplit(url).path == "/gallery/"]) <= 1


def test_pausing_stops_the_refresh_and_says_so(gallery):
    gallery.keyboard.press("p")
    expect(gallery.locator("#live-switch")).to_have_text("Paused")
    assert gallery.get_attribute("#live-switch", "aria-pressed") == "false"


def test_a_server_that_does_not_answer_is_noticed_and_its_return_too(gallery):
    gallery.context.route("**/*", lambda route: route.abort())
    expect(gallery.locator("#live-switch")).to_contain_text(
        "No answer since", timeout=3 * REFRESHED_MS
    )
    gallery.context.unroute("**/*")
    expect(gallery.locator("#live-switch")).to_have_text("Live", timeout=3 * REFRESHED_MS)


def test_theme_is_remembered_without_a_flash(gallery):
    gallery.click(".rail__foot summary")
    gallery.click("button[value=dark]")
    dark = gallery.evaluate("getComputedStyle(document.body).backgroundColor")
    gallery.reload()
    assert gallery.get_attribute("html", "data-theme") == "dark"
    assert gallery.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_zoom_in_a_chart_sets_the_time_range_of_the_page(gallery):
    box = gallery.locator("#lag .u-over").bounding_box()
    gallery.mouse.move(box["x"] + 100, box["y"] + 50)
    gallery.mouse.down()
    gallery.mouse.move(box["x"] + 300, box["y"] + 50)
    gallery.mouse.up()
    gallery.wait_for_url("**/gallery/?from=*")
    assert set(query(gallery)) == {"from", "to"}
    gallery.go_back()
    gallery.wait_for_url("**/gallery/")
    expect(gallery.get_by_label("Time range").locator("[aria-current]")).to_have_text("1 h")


def test_zooming_out_shows_twice_the_time(gallery):
    gallery.click("[aria-label='Zoom out']")
    gallery.wait_for_url("**/gallery/?range=2h")
    expect(gallery.get_by_label("Time range").locator("[aria-current]")).to_have_text("last 2 h")


def test_the_axis_is_the_range_where_data_begin_later(gallery):
    def answer(route):
        body = {"at": [1795224600, 1795224660], "lag": [1, 2], "other": [None, 3], "events": []}
        route.fulfill(json=body)

    gallery.route("**/series/**", answer)
    gallery.goto(f"{gallery.url}?from=2026-11-21T01:00:00Z&to=2026-11-21T02:00:00Z")
    width = gallery.locator("#lag .u-over").bounding_box()["width"]
    # 01:30:00 is in the middle: the cursor there is at the first sample.
    gallery.locator("#lag .u-over").hover(position={"x": width / 2, "y": 40})
    expect(gallery.locator("#lag .chart__summary")).to_contain_text("21 Nov 01:30:00")


def test_a_range_is_typed_in_any_form(gallery):
    gallery.click("summary:has-text('Absolute')")
    gallery.fill("#range-from", "now-90m")
    gallery.fill("#range-to", "")
    gallery.click("form[data-range] button")
    gallery.wait_for_url("**/gallery/?from=now-90m")
    expect(gallery.get_by_label("Time range").locator("[aria-current]")).to_have_text(
        "last 1 h 30 m"
    )


def test_an_event_leads_to_the_minutes_around_it(gallery):
    gallery.click("#lag .chart__numbers summary")
    gallery.click("#lag .chart__table >> text=5 min before")
    gallery.wait_for_url("**/gallery/?from=*")
    start, end = (datetime.fromisoformat(query(gallery)[name][0]) for name in ("from", "to"))
    assert end - start == timedelta(minutes=10)


def test_columns_that_do_not_fit_are_in_the_opened_row(gallery):
    gallery.set_viewport_size({"width": 400, "height": 900})
    head = gallery.locator("#table-scroll th", has_text="Number")
    expect(head).to_be_hidden()
    button = gallery.locator("#table-scroll .fold").nth(1)
    button.focus()
    gallery.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(gallery.locator("#table-scroll .folded")).to_contain_text("Number")
    wait_for_refresh(gallery)
    expect(button).to_be_focused()
    expect(gallery.locator("#table-scroll .folded")).to_have_count(1)
    gallery.keyboard.press("Enter")
    expect(gallery.locator("#table-scroll .folded")).to_have_count(0)
    gallery.set_viewport_size({"width": 1440, "height": 900})
    expect(head).to_be_visible()
    expect(button).to_be_hidden()


def opened_rows(gallery: Page, *places: int) -> Locator:
    """The lines of the rows that were opened, on a narrow screen."""
    gallery.set_viewport_size({"width": 400, "height": 900})
    for place in places:
        gallery.locator("#table-scroll .fold").nth(place).click()
    lines = gallery.locator("#table-scroll .folded")
    expect(lines).to_have_count(len(places))
    return lines


def test_each_opened_row_keeps_its_own_line_when_the_order_changes(gallery):
    gallery.fill("#table-q", "permission")
    expect(gallery.locator("#table-count")).to_contain_text("4 of")
    lines = opened_rows(gallery, 0, 1)
    before = sorted(lines.all_inner_texts())
    gallery.click("#table-scroll thead a >> nth=0")
    expect(gallery.locator("#table-scroll thead [aria-sort=descending]")).to_have_count(1)
    assert sorted(lines.all_inner_texts()) == before


def test_no_line_of_an_opened_row_is_left_when_nothing_fits_the_filter(gallery):
    lines = opened_rows(gallery, 0)
    gallery.fill("#table-q", "nothing like this")
    expect(gallery.locator("#table-scroll .table__none")).to_be_visible()
    expect(lines).to_have_count(0)


def test_an_opened_row_has_the_heading_with_its_link_to_sort_by(gallery):
    opened_rows(gallery, 0).get_by_role("link", name="Number").click()
    gallery.wait_for_url("**sort=*")


def test_a_printed_table_has_all_columns_and_no_opened_rows(gallery):
    lines = opened_rows(gallery, 0)
    gallery.emulate_media(media="print")
    expect(gallery.locator("#table-scroll th", has_text="Number")).to_be_visible()
    expect(gallery.locator("#table-scroll")).to_have_css("overflow-x", "visible")
    expect(gallery.locator("#table-scroll .fold").first).to_be_hidden()
    expect(lines).to_be_hidden()


def test_without_a_script_a_wide_table_scrolls_inside_its_card(browser, gallery):
    context = browser.new_context(
        java_script_enabled=False,
        viewport={"width": 400, "height": 900},
        storage_state=gallery.context.storage_state(),
    )
    page = context.new_page()
    page.goto(gallery.url)
    expect(page.locator("#table-scroll th", has_text="Number")).to_have_count(1)
    expect(page.locator("#table-scroll")).to_have_css("overflow-x", "auto")
    box, head = (page.locator(f"#table-scroll{one}").bounding_box() for one in ("", " thead"))
    assert box["width"] < 400 < head["width"]
    context.close()


def test_a_copied_call_is_a_command_with_the_host_of_the_console(gallery, live_server):
    gallery.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = gallery.get_by_role("button", name="Copy the API call as a curl command")
    button.click()
    expect(button).to_have_text("Copied")
    assert gallery.evaluate("navigator.clipboard.readText()") == (
        'curl -H "Authorization: Bearer $CROSSLOG_TOKEN" '
        f"'{live_server.url}/api/v1/topics/?cluster=east'"
    )


def test_charts_show_the_range_that_the_page_shows_when_its_own_cannot_be_read(gallery):
    gallery.goto(f"{gallery.url.partition('?')[0]}?from=yesterday&to=now")
    expect(gallery.get_by_role("alert")).to_contain_text("Showing the last 1 h")
    expect(gallery.locator("#lag .chart__summary")).to_contain_text("highest")


def test_chart_says_in_words_what_it_draws(gallery):
    summary = gallery.locator("#lag .chart__summary")
    expect(summary).to_contain_text("orders-west")
    expect(summary).to_contain_text("highest")
    gallery.click("#lag .chart__numbers summary")
    expect(gallery.locator("#lag .chart__table caption")).to_have_text("Lag in records, by flow")
    assert gallery.locator("#lag .chart__table tbody tr").count() > 10


def test_a_series_that_cannot_be_read_says_why_and_offers_another_try(gallery):
    expect(gallery.locator("#broken .chart__empty")).to_contain_text("The database did not answer.")
    expect(gallery.locator("#broken .chart__empty button")).to_have_text("Try again")


def test_menus_close_with_escape_and_give_the_focus_back(gallery):
    gallery.click("#table-columns summary")
    gallery.keyboard.press("Escape")
    assert not gallery.evaluate("document.querySelector('#table-columns').open")
    assert focused(gallery) == "Columns"


@pytest.mark.parametrize("width", [400, 1440])
def test_page_is_never_wider_than_the_screen(gallery, width):
    gallery.set_viewport_size({"width": width, "height": 900})
    assert gallery.evaluate("document.documentElement.scrollWidth") <= width


def test_a_plot_that_has_not_followed_a_narrower_window_yet_does_not_widen_the_page(gallery):
    expect(gallery.locator("#lag .uplot")).to_be_visible()
    widen = "document.querySelector('#lag .uplot').style.width = '2000px'"
    assert gallery.evaluate(f"{widen}; document.documentElement.scrollWidth") <= 1440


def test_pictures_of_all_components_are_kept(gallery, theme):
    gallery.emulate_media(color_scheme=theme)
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    gallery.screenshot(path=ARTIFACTS / f"components-{theme}.png", full_page=True)
    assert (ARTIFACTS / f"components-{theme}.png").stat().st_size > 10_000
