"""The time range that a reader chose stays while they go through the tabs of the same subject."""

import re
from html import unescape

import pytest
from django.test import RequestFactory

from console.frame.pages.timerange import in_range, use_own_range
from tests.console.replication.failover_world import make_plan
from tests.console.safety.world import make_person

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ABSOLUTE = "from=2026-11-21T03%3A00%3A00Z&to=2026-11-21T04%3A00%3A00Z"
SUBJECTS = ["/replication/{flow}/", "/clusters/east/", "/quorum/east/", "/availability/east/"]


@pytest.fixture
def reader(client):
    client.force_login(make_person("ada", "admin"))
    return client


def tabs_of(text: str) -> list[str]:
    nav = text.partition('<nav class="tabs"')[2].partition("</nav>")[0]
    return [unescape(address) for address in re.findall(r'href="([^"]*)"', nav)]


def links_of(text: str, start: str) -> set[str]:
    found = re.findall(r'<a [^>]*?href="([^"]*)"', text)
    return {unescape(address) for address in found if unescape(address).startswith(start)}


@pytest.mark.parametrize("chosen", ["range=6h", ABSOLUTE], ids=["relative", "absolute"])
@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_tab_leads_to_every_other_in_the_same_range_and_with_nothing_else(
    world, reader, subject, chosen
):
    start = subject.format(flow=world.flow.pk)
    paths = tabs_of(reader.get(start).content.decode())
    assert len(paths) > 3
    wrong = {}
    for path in paths:
        for headers in ({}, {"HX-Request": "true"}):
            answer = reader.get(f"{path}?{chosen}&q=orders&page=2", headers=headers)
            tabs = tabs_of(answer.content.decode())
            if tabs != [f"{one}?{chosen}" for one in paths]:
                wrong[path] = tabs
    assert wrong == {}


@pytest.mark.parametrize(
    ("path", "link"),
    [
        ("/availability/east/partitions/", "/availability/east/partitions/orders/0/"),
        ("/availability/east/partitions/orders/0/", "/availability/east/"),
        ("/availability/east/partitions/orders/0/", "/availability/east/partitions/"),
        ("/quorum/east/voters/", "/quorum/east/"),
        ("/replication/{flow}/", "/replication/{flow}/partitions/?topic=orders"),
        ("/replication/{flow}/checkpoints/", "/replication/{flow}/checkpoints/group-00000/"),
        ("/replication/", "/replication/{flow}/"),
        ("/replication/{flow}/", "/replication/"),
        ("/replication/{flow}/settings/", "/replication/{flow}/"),
        ("/clusters/", "/clusters/east/"),
        ("/clusters/east/", "/clusters/"),
        ("/availability/", "/availability/east/"),
        ("/availability/east/", "/availability/"),
        ("/quorum/east/", "/quorum/"),
        ("/", "/replication/{flow}/"),
    ],
)
def test_a_link_within_the_subject_keeps_the_range(world, reader, path, link):
    path, link = (one.format(flow=world.flow.pk) for one in (path, link))
    text = reader.get(f"{path}?range=6h").content.decode()
    ranged = f"{link}{'&' if '?' in link else '?'}range=6h"
    assert ranged in links_of(text, link)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/replication/{flow}/translate/", ["/replication/{flow}/checkpoints/"]),
        (
            "/replication/{flow}/failover/{plan}/",
            ["/replication/{flow}/", "/replication/{flow}/failover/"],
        ),
        (
            "/availability/east/drills/record/",
            ["/availability/east/", "/availability/east/drills/"],
        ),
    ],
)
def test_the_way_back_up_keeps_the_range(world, reader, path, expected):
    names = {"flow": world.flow.pk, "plan": make_plan(world.flow).pk}
    text = reader.get(f"{path.format(**names)}?range=6h").content.decode()
    crumbs = text.partition('aria-label="Breadcrumbs"')[2].partition("</nav>")[0]
    found = [unescape(address) for address in re.findall(r'href="([^"]*)"', crumbs)]
    assert found[1:] == [f"{one.format(**names)}?range=6h" for one in expected]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/replication/3/", "/replication/3/?range=6h"),
        ("/replication/3/runs/?state=live", "/replication/3/runs/?state=live&range=6h"),
        ("/replication/3/runs/#table", "/replication/3/runs/?range=6h#table"),
        ("/replication/4/", "/replication/4/?range=6h"),
        ("/replication/", "/replication/?range=6h"),
        ("/clusters/3/", "/clusters/3/?range=6h"),
        ("/runs/", "/runs/?range=6h"),
        ("/", "/?range=6h"),
        ("/quorum/east/log/?range=5m", "/quorum/east/log/?range=5m"),
        ("/quorum/east/log/?from=now-2h#table", "/quorum/east/log/?from=now-2h#table"),
        ("/runs/5c2d/", "/runs/5c2d/"),
        ("/account/tokens/", "/account/tokens/"),
        ("/api/v1/flows/", "/api/v1/flows/"),
        ("https://kafka.apache.org/documentation/", "https://kafka.apache.org/documentation/"),
        ("", ""),
        ("#", "#"),
    ],
)
def test_every_address_of_the_console_gets_the_range(address, expected):
    request = RequestFactory().get("/replication/3/checkpoints/?range=6h&q=orders")
    assert in_range(request, address) == expected


@pytest.mark.parametrize("refused", ["range=2y", "from=10&to=700", "from=yesterday"])
def test_a_range_that_was_refused_is_not_carried_to_another_page(refused):
    request = RequestFactory().get(f"/quorum/east/state/?{refused}")
    assert in_range(request, "/replication/") == "/replication/"


@pytest.mark.parametrize("compared", ["700", "1319080000", "2026-11-21T03:04:00Z"])
def test_an_offset_or_a_time_to_compare_with_is_no_range(world, reader, compared):
    text = reader.get(f"/quorum/east/state/?at=10&compare={compared}").content.decode()
    assert "/clusters/" in links_of(text, "/clusters/")


def test_the_range_of_a_page_is_not_compared_with(world, reader):
    answer = reader.get(f"/quorum/east/state/?{ABSOLUTE}")
    assert answer.context["form"].errors == {}


def test_the_range_of_an_imported_log_is_for_its_own_pages_only():
    request = RequestFactory().get(f"/quorum/_incident/log/?{ABSOLUTE}")
    use_own_range(request)
    assert in_range(request, "/quorum/_incident/voters/") == f"/quorum/_incident/voters/?{ABSOLUTE}"
    assert in_range(request, "/quorum/east/voters/") == "/quorum/east/voters/"


@pytest.mark.parametrize("path", ["/replication/{flow}/", "/availability/east/", "/people/"])
def test_the_sidebar_keeps_the_range(world, reader, path):
    path = path.format(flow=world.flow.pk)
    text = reader.get(f"{path}?{ABSOLUTE}").content.decode()
    nav = text.partition('aria-label="Main"')[2].partition("</nav>")[0]
    found = [unescape(address) for address in re.findall(r'href="([^"]*)"', nav)]
    assert len(found) > 5
    # The form of an analysis has fields of its own for the times.
    assert [one for one in found if not one.endswith(f"?{ABSOLUTE}")] == ["/runs/new/"]
    beside = unescape(re.search(r'data-refresh-beside="([^"]*)"', text)[1])
    assert links_of(reader.get(beside).content.decode(), "/replication/") == {
        f"/replication/?{ABSOLUTE}"
    }


def test_without_a_range_an_address_stays_as_it_is():
    request = RequestFactory().get("/replication/3/?q=orders&range=")
    assert in_range(request, "/replication/3/runs/") == "/replication/3/runs/"
