"""Objectives on the page of a flow and on the availability page of a cluster."""

import html
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from console.accounts.models import ClusterGrant
from tests.console.checks.making import make_objective, make_step
from tests.console.making import count_queries, make_cluster, make_flow, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def flow():
    return make_flow()


def address_of(flow):
    return f"/replication/{flow.pk}/"


def shown(client, address):
    """Return the words of the panel."""
    answer = client.get(address)
    assert answer.status_code == 200
    panel = (
        answer.content.decode()
        .split('aria-labelledby="objectives-title"')[1]
        .split("</section>")[0]
    )
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", panel)).replace("\xa0", " ").split())


def before(**span):
    return int((timezone.now() - timedelta(**span)).timestamp())


def test_a_flow_shows_target_budget_and_burn_rates(sign_in, viewer, flow):
    row = make_objective(flow)
    make_step(row, before(days=20), 20 * 86_400 - 1296, 1296)
    make_step(row, before(hours=5), 5 * 3600)
    make_step(row, before(minutes=5), 1750, 50)
    text = shown(sign_in(viewer), address_of(flow))
    assert "Critical RPO of 1 m 48.1 % 20 m 46 s of 43 m 12 s left" in text
    assert text.endswith("27.8x 2.5x 0.8x 99.90 % 99.9229 % 9 d 18 h")


def test_a_spent_budget_is_critical_and_says_by_how_much(sign_in, viewer, flow):
    make_step(make_objective(flow), before(days=20), 20 * 86_400, 2592 + 180)
    text = shown(sign_in(viewer), address_of(flow))
    assert "Critical RPO of 1 m" in text
    assert "overspent by 3 m budget 43 m 12 s" in text


def test_an_objective_without_a_measurement_is_unknown_and_has_no_numbers(sign_in, viewer, flow):
    make_step(make_objective(flow), before(hours=1), 0)
    text = shown(sign_in(viewer), address_of(flow))
    assert text.endswith(
        "Unknown RPO of 1 m not measured yet \u2014 \u2014 \u2014 99.90 % \u2014 30 d"
    )


def test_the_availability_page_shows_those_of_its_topics(sign_in, viewer):
    east, west = make_cluster("east"), make_cluster("west")
    make_step(make_objective(east, topic_pattern="orders-*"), before(minutes=50), 3000)
    make_objective(west, topic_pattern="payments-*")
    text = shown(sign_in(viewer), "/availability/east/")
    assert "Healthy Availability of topics orders-* 100 % 43 m 12 s of 43 m 12 s left" in text
    assert "payments" not in text


@pytest.mark.parametrize(
    ("role", "is_linked"), [("viewer", False), ("operator", True), ("admin", True)]
)
def test_without_objectives_there_is_one_line_with_a_link_for_who_may_set_one(
    sign_in, flow, role, is_linked
):
    client = sign_in(make_user(role))
    for address, noun in ((address_of(flow), "flow"), ("/availability/east/", "cluster")):
        text = shown(client, address)
        assert f"none set for this {noun}" in text
        assert ("Set an objective" in text) == is_linked


@pytest.mark.parametrize("granted", ["east", "west"])
def test_a_viewer_of_one_cluster_sees_no_objectives_of_others(sign_in, flow, granted):
    viewer = make_user("none")
    ClusterGrant.objects.create(user=viewer, cluster=make_cluster(granted), role="viewer")
    client = sign_in(viewer)
    for alias in ("east", "west"):
        make_objective(make_cluster(alias), topic_pattern=f"of-{alias}")
    make_objective(flow)
    assert f"of-{granted}" in shown(client, f"/availability/{granted}/")
    other = "west" if granted == "east" else "east"
    assert client.get(f"/availability/{other}/").status_code in (403, 404)
    assert client.get(address_of(flow)).status_code in (403, 404)


def test_more_objectives_take_no_more_queries(sign_in, viewer, flow):
    make_objective(flow)
    client = sign_in(viewer)
    one = count_queries(client, address_of(flow))
    make_objective(flow, counts_as="x"), make_objective(flow, counts_as="y")
    assert count_queries(client, address_of(flow)) == one


def test_a_topic_pattern_is_shown_as_text(sign_in, viewer):
    make_objective(make_cluster("east"), topic_pattern="<b>\u202eo*")
    answer = sign_in(viewer).get("/availability/east/").content.decode()
    assert "&lt;b&gt;" in answer
    assert "<b>\u202e" not in answer
