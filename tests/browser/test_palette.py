"""Ways through the console without the mouse: the palette, g and a key, the focus of a refused form."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


@pytest.fixture
def visit(reader, site):
    """Open a route as an administrator."""
    reader.sign_in(site.person())

    def visit(name: str, *args: object) -> Page:
        return reader.open(reverse(name, args=args))

    return visit


def search(page: Page, words: str) -> Page:
    page.keyboard.press("Control+k")
    page.keyboard.type(words)
    return page


@pytest.mark.parametrize(
    ("words", "address"),
    [
        pytest.param("runs", "/runs/", id="page"),
        pytest.param("audit", "/audit/", id="page of the menu"),
        pytest.param("toke", "/account/tokens/", id="beginning of a word"),
        pytest.param("west", "/clusters/west/", id="cluster"),
        pytest.param("paym", "/topics/payments/", id="topic"),
        pytest.param("indexer", "/groups/search", id="group"),
        pytest.param("quiet", "/replication/", id="flow"),
        pytest.param("broker 3", "/brokers/?q=3", id="broker"),
        pytest.param("voters east", "/quorum/east/voters/", id="tab"),
        pytest.param("simulation east", "/availability/east/what-if/", id="action"),
    ],
)
def test_what_is_typed_and_entered_opens_the_best_page(visit, words, address):
    page = search(visit("overview:overview"), words)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: address in url)


def test_the_exact_match_is_first_and_chosen(visit):
    page = search(visit("overview:overview"), "orders")
    best = page.locator("#palette [aria-selected=true]")
    expect(best.locator(".palette__label")).to_have_text("orders")
    expect(page.locator("#palette li").first).to_have_attribute("aria-selected", "true")


def test_pause_opens_the_page_where_it_is_confirmed_and_changes_nothing(visit, site):
    page = search(visit("overview:overview"), f"pause {site.flow.name}")
    expect(page.locator("#palette li").first).to_contain_text(f"Pause {site.flow.name}")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/replication/{site.flow.pk}/control/")
    before = site.flow.control
    site.flow.refresh_from_db()
    assert site.flow.control == before


def test_words_that_fit_nothing_say_so(visit):
    page = search(visit("overview:overview"), "zzz")
    expect(page.locator("#palette-list")).to_have_text("No results")


def test_pages_that_were_open_are_listed_before_typing(visit):
    page = visit("clusters:topics", "east")
    page = visit("overview:overview")
    page.keyboard.press("Control+k")
    first = page.locator("#palette li").first
    expect(first).to_contain_text("recent")
    page.keyboard.press("Enter")
    page.wait_for_url("**/clusters/east/topics/")


def test_a_recent_page_opens_in_the_range_of_this_page_and_is_listed_once(visit):
    visit("clusters:list")
    page = visit("replication:list")
    page.goto(f"{page.url}?range=6h")
    page.keyboard.press("Control+k")
    expect(page.locator("#palette li", has_text="Clusters")).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url("**/clusters/?range=6h")


def test_recent_pages_are_forgotten_at_the_sign_out(visit):
    page = visit("clusters:topics", "east")
    assert page.evaluate("localStorage.length") == 1
    page.click(".rail__foot summary")
    page.click("text=Sign out")
    page.wait_for_url("**/login/**")
    assert page.evaluate("localStorage.length") == 0


def test_theme_opens_the_preferences(visit):
    page = search(visit("overview:overview"), "theme")
    expect(page.locator("#palette li").first).to_contain_text("Theme and time zone")
    page.keyboard.press("Enter")
    expect(page.locator("#preferences button[value=dark]")).to_be_visible()


def test_g_and_a_key_open_a_section(visit):
    page = visit("overview:overview")
    page.keyboard.press("g")
    page.keyboard.press("n")
    page.wait_for_url("**/runs/new/")
    expect(page.locator("#rail-places [aria-current]")).to_have_text("Analyses")


def test_escape_ends_a_jump(visit):
    page = visit("overview:overview")
    for key in ("g", "Escape", "c", "?"):
        page.keyboard.press(key)
    expect(page.locator("#shortcuts")).to_contain_text("Schedules")
    assert page.url.endswith(reverse("overview:overview"))


def test_g_in_a_field_is_a_letter(visit):
    page = visit("clusters:topics", "east")
    page.keyboard.press("/")
    page.keyboard.type("gc")
    expect(page.locator("form[data-filter] input[type=search]")).to_have_value("gc")
    assert "/topics/" in page.url


def test_a_refused_form_has_the_focus_on_its_first_wrong_field(visit):
    page = visit("accounts:new-person")
    page.locator("main form button[type=submit]").first.click()
    wrong = page.locator("[aria-invalid=true]").first
    expect(wrong).to_be_focused()
    page.locator("[role=alert] a").first.focus()
    page.keyboard.press("Enter")
    expect(wrong).to_be_focused()
