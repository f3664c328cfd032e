import pytest
from django.contrib.auth.models import AnonymousUser
from django.urls import reverse

from console.frame.pages.navigation import SECTIONS, NavItem, list_places, same_tab_of
from console.frame.pages.search import SearchHit

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


@pytest.mark.django_db
def test_the_sections_are_in_this_order_and_some_are_below_others(operator):
    places = list_places(operator, "/")
    assert [place.label for place in places] == [
        "Overview",
        "Incidents",
        "Findings",
        "Checks",
        "Clusters",
        "Replication",
        "Quorum",
        "Availability",
        "Streams",
        "Analyses",
        "Runs",
        "Reports",
        "Schedules",
    ]
    assert [place.label for place in places if place.is_below] == ["Findings", "Checks", "Runs"]


@pytest.mark.django_db
def test_a_section_that_a_person_may_not_open_is_left_out(viewer):
    places = {place.label: place for place in list_places(viewer, "/")}
    assert "Analyses" not in places
    assert not places["Runs"].is_below


@pytest.mark.parametrize(
    ("path", "current"),
    [
        ("/", ["Overview"]),
        ("/runs/", ["Runs"]),
        ("/runs/7/", ["Runs"]),
        ("/runs/new/", ["Analyses"]),
        ("/runs/new/translate/", ["Analyses"]),
        ("/x/", []),
    ],
)
@pytest.mark.django_db
def test_only_the_section_of_the_page_is_current(operator, path, current):
    places = list_places(operator, path)
    assert [place.label for place in places if place.is_current] == current


def test_a_stranger_sees_no_section():
    assert list_places(AnonymousUser(), "/") == []


def test_each_section_has_a_key_of_its_own():
    assert "".join(one.key for one in SECTIONS) == "oifktcrqasnued"


@pytest.mark.django_db
def test_the_keyboard_help_lists_the_key_of_each_section(sign_in, admin):
    html = sign_in(admin).get(reverse("accounts:tokens")).content.decode()
    for one in SECTIONS:
        assert f"<kbd>g</kbd> <kbd>{one.key}</kbd></dt><dd>{one.label}</dd>" in html
        assert f'href="{one.path}" data-key="{one.key}"' in html
