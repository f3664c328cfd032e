"""The picture of a topology: Graphviz draws it, names do nothing, the list is always there."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from console.streams.models import StreamsApplication
from tests.browser.watching import NARROW, Watched
from tests.browser.world import make_person
from tests.console.making import make_cluster
from tests.console.streams.making import DESCRIPTION, group, make_streams
from tests.jobs.streams.topology.descriptions import (
    HOSTILE_NAMES,
    chain,
    description,
    hostile_topology,
    wide_topology,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def shown(watched: Watched):
    """Open the page of an application of which only a description is known."""
    cluster = make_cluster("east")
    watched.sign_in(make_person())

    def shown(text: str) -> Page:
        unread = group(group_id="shop", state="NotReady", subtopologies=None)
        make_streams(cluster, unread, timezone.now())
        StreamsApplication.objects.update(description=text)
        return watched.open("/streams/east/shop/")

    return shown


def texts(page: Page) -> str:
    return " ".join(page.locator("#topology-picture text").all_text_contents())


@pytest.mark.parametrize(
    ("name", "text", "nodes"),
    [
        pytest.param("small", DESCRIPTION, 6, id="three nodes"),
        pytest.param("wide", wide_topology(), 71, id="forty nodes in five sub-topologies"),
    ],
)
def test_a_topology_is_drawn_in_both_themes_and_on_a_narrow_screen(
    shown, watched, name, text, nodes
):
    page = shown(text)
    expect(page.locator("#topology-picture .node")).to_have_count(nodes)
    expect(page.locator("#topology-list")).not_to_have_attribute("open", "")
    expect(page.locator("#topology-problem")).to_be_empty()
    assert watched.look(f"topology-{name}") == []
    picture = page.locator("#topology-picture")
    assert picture.evaluate("box => box.clientWidth") < NARROW["width"]


def test_the_picture_has_the_colours_of_the_theme(shown, theme):
    page = shown(DESCRIPTION)
    page.emulate_media(color_scheme=theme)
    shape = page.locator("#topology-picture .topic :is(path, polygon)").first
    key = page.locator(".topology__key--topic")
    wanted = key.evaluate("one => getComputedStyle(one, '::before').borderTopColor")
    expect(shape).to_have_css("stroke", wanted)


def test_names_are_text_whatever_they_hold(shown):
    page = shown(hostile_topology())
    expect(page.locator("#topology-picture .node")).to_have_count(2 * len(HOSTILE_NAMES) + 2)
    odd = "#topology-picture :is(a, script, image, img, foreignObject, b, title)"
    expect(page.locator(odd)).to_have_count(0)
    assert page.evaluate(
        "[...document.querySelectorAll('#topology-picture *')].every(one =>"
        " [...one.attributes].every(({name}) => !/^on|href/i.test(name)))"
    )
    drawn, listed = texts(page), page.locator("#topology-list").text_content()
    for name in HOSTILE_NAMES:
        assert name in listed
    for name in (HOSTILE_NAMES[0], HOSTILE_NAMES[3], HOSTILE_NAMES[5], "\\u001b[31mred\\u0007"):
        assert name in drawn.replace("\u00a0", " ")


def test_what_is_drawn_stays_when_the_page_refreshes_and_follows_a_new_description(shown):
    page = shown(DESCRIPTION)
    svg = page.locator("#topology-picture svg")
    expect(svg).to_be_visible()
    page.evaluate("document.querySelector('#topology-picture svg').dataset.seen = 'before'")
    StreamsApplication.objects.update(
        description=DESCRIPTION.replace("KSTREAM-SINK-2", "new-sink"),
        facts_at=timezone.now() + timedelta(seconds=1),
    )
    expect(page.locator("#topology-picture", has_text="new-sink")).to_be_visible()
    expect(svg).to_have_count(1)


def described_now(text: str, *, is_later_by: int) -> None:
    """Replace the description, so that an open page gets it with its next refresh."""
    StreamsApplication.objects.update(
        description=text, facts_at=timezone.now() + timedelta(seconds=is_later_by)
    )


def test_a_picture_that_comes_late_does_not_replace_that_of_a_newer_description(shown, watched):
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    # Counts the drawings that have ended.
    watched.page.add_init_script(
        "let ended = 0; const end = Worker.prototype.terminate; Worker.prototype.terminate = function () {"
        " end.call(this); document.documentElement.dataset.drawings = ended += 1; }"
    )
    watched.page.route("**/topology_worker.js", hold, times=1)
    page = shown(DESCRIPTION)
    described_now(DESCRIPTION.replace("KSTREAM-SINK-2", "new-sink"), is_later_by=1)
    expect(page.locator("#topology-picture", has_text="new-sink")).to_be_visible()
    held[0].continue_()
    expect(page.locator("html")).to_have_attribute("data-drawings", "2")
    expect(page.locator("#topology-picture", has_text="new-sink")).to_be_visible()


def test_a_topology_that_was_away_is_drawn_again(shown):
    page = shown(DESCRIPTION)
    expect(page.locator("#topology-picture svg")).to_be_visible()
    described_now("", is_later_by=1)
    expect(page.locator("#topology-picture")).to_have_count(0)
    described_now(DESCRIPTION, is_later_by=2)
    expect(page.locator("#topology-picture svg")).to_be_visible()


def test_without_javascript_the_list_says_the_same(browser, live_server, shown, watched):
    shown(DESCRIPTION)
    context = browser.new_context(
        java_script_enabled=False, storage_state=watched.page.context.storage_state()
    )
    page = context.new_page()
    page.goto(f"{live_server.url}/streams/east/shop/")
    nodes = page.locator("#topology-list li", has_text="KSTREAM-AGGREGATE-1 (processor)")
    expect(nodes.first).to_be_visible()
    expect(page.locator("#topology-list")).to_contain_text("→ totals (store)")
    expect(page.locator("#topology-picture")).to_be_hidden()
    context.close()


def test_where_graphviz_is_blocked_the_list_stays_open_and_the_reason_is_said(shown, watched):
    watched.page.route("**/viz-*.js", lambda route: route.abort())
    page = shown(DESCRIPTION)
    expect(page.locator("#topology-problem")).to_contain_text("The picture could not be drawn")
    expect(page.locator("#topology-list")).to_have_attribute("open", "")
    watched.complaints.clear()


def test_the_largest_picture_is_drawn_in_time(shown):
    lines = [line for start in range(0, 120, 40) for line in chain(40, start)]
    page = shown(description(*lines))
    expect(page.locator("#topology-picture .node")).to_have_count(243 - 3)
