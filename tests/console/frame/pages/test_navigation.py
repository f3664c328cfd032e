import pytest
from django.contrib.auth.models import AnonymousUser

from console.frame.pages.navigation import NavItem, SearchHit, list_places, same_tab_of

CLUSTERS = [SearchHit("cluster", alias, f"/clusters/{alias}/") for alias in ("east", "west")]


@pytest.mark.parametrize(
    ("path", "east", "west"),
    [
        pytest.param("/", ("", False), ("", False), id="outside"),
        pytest.param("/clusters/east/", ("", True), ("", False), id="in a cluster"),
        pytest.param(
            "/clusters/west/topics/orders/", ("topics/", False), ("topics/", True), id="in a topic"
        ),
    ],
)
def test_switcher_leads_to_the_same_tab_of_another_cluster(path, east, west):
    assert same_tab_of(CLUSTERS, path) == [
        NavItem(alias, f"/clusters/{alias}/{tab}", is_current=is_current)
        for alias, (tab, is_current) in (("east", east), ("west", west))
    ]


@pytest.mark.parametrize(
    ("path", "current"), [("/", ["Overview"]), ("/runs/7/", ["Runs"]), ("/x/", [])]
)
def test_the_current_room_is_marked(path, current, settings):
    settings.ROOT_URLCONF = "tests.gallery.rooms"
    places = list_places(AnonymousUser(), path)
    assert [place.label for place in places] == ["Overview", "Runs"]
    assert [place.label for place in places if place.is_current] == current
