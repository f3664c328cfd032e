"""Screenshots of a running console: pages found by their links, files written."""

import pytest
from django.urls import Resolver404, resolve

from tests.browser.open_requests import OpenRequests
from tests.waiting import eventually
from tools import screenshots
from tools.screenshots import IN_DOCUMENTS, PAGES, find_address, link_pattern, sign_in, take_all

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


@pytest.mark.parametrize("form", PAGES.values())
def test_every_page_of_the_list_is_an_address_of_the_console(form):
    assert resolve(form.replace("#", "7").replace("*", "east"))


def test_an_address_that_does_not_exist_would_be_noticed():
    with pytest.raises(Resolver404):
        resolve("/replication/7/nothing/")


def test_the_documents_show_what_is_in_the_list():
    assert set(IN_DOCUMENTS) <= set(PAGES)
    docs = screenshots.ROOT / "docs"
    assert sum(path.stat().st_size for path in docs.glob("*.png")) < 1_500_000


def test_a_name_is_no_page_beside_those_of_a_cluster():
    assert link_pattern("/quorum/", "*").match("/quorum/east/")
    assert not link_pattern("/quorum/", "*").match("/quorum/import/")
    assert not link_pattern("/replication/", "#").match("/replication/new/")


def test_pages_are_found_by_their_links_and_written(browser, site, tmp_path):
    ana = site.person()
    ana.set_password("a password of the pictures")
    ana.save()
    arguments = [site.url, "--into", str(tmp_path), "--only", "cluster", "flow", "application"]
    options = screenshots.read_options(arguments)
    with OpenRequests() as requests:
        assert [*take_all(browser, site.url, "ana", "a password of the pictures", options)] == []
        eventually(requests.are_done)
    names = ["application-light.png", "cluster-light.png", "flow-light.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_a_wrong_password_ends_with_a_sentence(context, site):
    with pytest.raises(SystemExit, match="refused the sign-in of ana"):
        sign_in(context, site.url, "ana", "wrong")


def test_a_page_without_a_link_to_it_is_reported(reader, site):
    reader.sign_in(site.person())
    assert find_address(reader.page, site.url, "/help/#/") is None
