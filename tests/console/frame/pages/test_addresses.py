"""Addresses of pages whose last word is chosen by strangers."""

import posixpath
import re
from urllib.parse import urlsplit

import pytest
from django.urls import reverse

from console.clusters.models import Group
from console.frame.pages.addresses import address_of
from tests.console.making import NOW, make_cluster

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "group",
    [
        pytest.param("a/../../b", id="steps out of its folder"),
        pytest.param("../admin", id="begins with a step out"),
        pytest.param("a/./b", id="a step on the spot"),
        pytest.param("a/..", id="ends with a step out"),
        pytest.param("../a?x=1#y%2e", id="with marks of an address"),
        pytest.param(".", id="a dot"),
        pytest.param("..", id="two dots"),
        pytest.param("", id="no letter"),
        pytest.param("~..", id="a tilde before dots"),
        pytest.param("~", id="a tilde"),
        pytest.param("~/..", id="a tilde before a step out"),
    ],
)
def test_a_link_to_a_group_whose_id_has_dots_leads_to_its_page(group, sign_in, viewer):
    make_group(make_cluster("east"), group)
    address = address_of("clusters:group", "east", group)
    assert as_a_browser_sends_it(address) == address
    answer = sign_in(viewer).get(address)
    assert answer.status_code == 200
    assert answer.context["group"].group_id == group


@pytest.mark.parametrize("group", ["billing", "search indexer/eu", "...", "a/...b", "a.b", "~0~"])
def test_any_other_address_is_what_reverse_returns(group):
    assert address_of("clusters:group", "east", group) == reverse(
        "clusters:group", args=["east", group]
    )


@pytest.mark.parametrize(
    ("group", "segment"),
    [("a/../../b", "a%2F..%2F..%2Fb"), ("..", "~.."), (".", "~."), ("", "~")],
)
def test_the_list_of_groups_links_to_it(group, segment, sign_in, viewer):
    """tests/conformance/reported/dot_group_links"""
    make_group(make_cluster("east"), group)
    page = sign_in(viewer).get(reverse("clusters:groups", args=["east"])).content.decode()
    assert f'href="/clusters/east/groups/{segment}/"' in page


def test_a_group_without_an_id_has_a_name_to_click_on(sign_in, viewer):
    make_group(make_cluster("east"), "")
    page = sign_in(viewer).get(reverse("clusters:groups", args=["east"])).content.decode()
    assert re.search(r'<a [^>]*href="/clusters/east/groups/~/"[^>]*>\s*\(no id\)', page)


def test_the_page_refreshes_and_sorts_itself_there(sign_in, viewer):
    make_group(make_cluster("east"), "a/../../b")
    address = address_of("clusters:group", "east", "a/../../b")
    page = sign_in(viewer).get(f"{address}?sort=lag&dir=desc").content.decode()
    assert f'data-refresh="{address}?sort=lag&amp;dir=desc"' in page
    assert f'href="{address}?' in page


def make_group(cluster, group_id):
    return Group.objects.create(cluster=cluster, group_id=group_id, state="Stable", changed_at=NOW)


def as_a_browser_sends_it(address):
    """Take dot segments out as the URL standard says, encoded dots too."""
    path = urlsplit(address).path
    shown = "/".join(
        "." * (len(s) // 3) if s.lower() in {"%2e", "%2e%2e"} else s for s in path.split("/")
    )
    walked = posixpath.normpath(shown)
    return f"{walked}/" if path.endswith("/") else walked
