"""The catalogue of checks: page, API, document."""

import pytest

from console.checks import catalogue
from console.checks.queries import catalogue_document
from jobs.checks.check import CHECKS
from tests.console.making import count_queries


@pytest.mark.django_db
def test_every_check_has_an_anchor_its_texts_and_its_thresholds(sign_in, viewer):
    html = sign_in(viewer).get("/checks/").content.decode()
    for one in CHECKS.by_id.values():
        assert f'id="{one.id}"' in html
        assert all(f"<code>{threshold.name}</code>" in html for threshold in one.all_thresholds)


@pytest.mark.django_db
def test_the_catalogue_is_narrowed_by_area_and_words(sign_in, viewer):
    client = sign_in(viewer)
    html = client.get("/checks/?area=broker&q=down").content.decode()
    assert ('id="broker_down"' in html, 'id="cluster_unreachable"' in html) == (True, False)
    assert (
        "No check fits the filter." in client.get("/checks/?q=nothing-like-this").content.decode()
    )


@pytest.mark.django_db
def test_the_counts_of_open_findings_are_one_query(sign_in, viewer, django_assert_max_num_queries):
    client = sign_in(viewer)
    assert count_queries(client, "/checks/?area=broker") == count_queries(client, "/checks/")


@pytest.mark.django_db
def test_the_api_lists_checks_and_returns_one(sign_in, viewer):
    client = sign_in(viewer)
    listed = client.get("/api/v1/checks/").json()
    assert {one["id"] for one in listed} == set(CHECKS.by_id)
    one = client.get("/api/v1/checks/broker_down/").json()
    assert (one["area"], one["severity"], one["open_findings"]) == ("broker", "critical", 0)
    assert one["thresholds"][-1]["name"] == "close_after_s"
    assert client.get("/api/v1/checks/none/").status_code == 404
    assert client.get("/api/v1/checks/?area=none").status_code == 400


@pytest.mark.django_db
def test_the_help_shows_each_check_at_an_anchor(sign_in, viewer):
    html = sign_in(viewer).get("/help/checks/").content.decode()
    assert all(f'id="{name}"' in html for name in CHECKS.by_id)


def test_the_document_has_every_check():
    document = catalogue_document()
    assert all(f"### {one.id}\n" in document for one in catalogue.list_checks())
