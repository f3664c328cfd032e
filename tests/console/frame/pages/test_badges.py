import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from console.clusters.models import CollectionRound, Noun
from console.frame.pages.navigation import Badge, badge_of, count_badge
from tests.console.making import NOW, count_queries, make_cluster, make_flow, make_run, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def forget():
    yield
    cache.clear()


def away(alias):
    for noun in Noun:
        CollectionRound.objects.create(
            cluster=make_cluster(alias), noun=noun, failing_since=NOW, error_code="unreachable"
        )


@pytest.mark.parametrize(
    ("wrong", "total", "badge"),
    [
        (0, 0, None),
        (0, 1, Badge("1", "cluster")),
        (0, 3, Badge("3", "clusters")),
        (1, 3, Badge("1", "needs attention", is_bad=True)),
        (2, 3, Badge("2", "need attention", is_bad=True)),
    ],
)
def test_what_is_wrong_counts_before_how_many_there_are(wrong, total, badge):
    assert count_badge(wrong, total, "cluster") == badge


def test_a_cluster_that_is_away_is_counted_in_the_sidebar(viewer):
    away("east")
    make_cluster("west", created_at=timezone.now())
    assert badge_of(viewer, "clusters") == Badge("1", "needs attention", is_bad=True)


def test_a_flow_that_fails_is_counted_in_the_sidebar(viewer):
    make_flow("good")
    make_flow("bad", is_wanted=True, failures=2, failing_since=NOW)
    assert badge_of(viewer, "replication") == Badge("1", "needs attention", is_bad=True)


def test_live_runs_are_counted_in_the_sidebar(viewer):
    make_run(make_flow())
    assert badge_of(viewer, "runs") == Badge("1 live", "run")


def test_a_person_without_any_cluster_sees_no_counts():
    away("east")
    assert badge_of(make_user("none"), "clusters") is None


def test_a_section_without_counts_has_no_badge(viewer):
    assert badge_of(viewer, "overview") is None
    assert badge_of(viewer, "quorum") is None


def test_counts_are_queried_once_in_a_few_seconds(viewer, settings, django_assert_num_queries):
    settings.SIDEBAR_FRESH_S = 60
    badge_of(viewer, "clusters")
    with django_assert_num_queries(0):
        badge_of(viewer, "clusters")


def test_the_sidebar_costs_the_same_whatever_there_is(sign_in, viewer):
    client, path = sign_in(viewer), reverse("frame:sidebar") + "?at=/runs/"
    make_flow("first")
    few = count_queries(client, path)
    for number in range(5):
        away(f"cluster-{number}")
        make_flow(f"flow {number}", source=f"cluster-{number}", is_wanted=True, failures=1)
    assert count_queries(client, path) == few


def test_the_sidebar_says_what_its_numbers_mean_and_where_the_reader_is(sign_in, viewer):
    away("east")
    text = sign_in(viewer).get(reverse("frame:sidebar"), {"at": "/clusters/"}).content.decode()
    assert '<span class="visually-hidden"> needs attention</span>' in text
    assert text.count("aria-current") == 1
