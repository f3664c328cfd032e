import pytest
from django.urls import reverse

from console.overview.first_steps import first_steps
from tests.console.making import NOW, make_cluster, make_flow, make_user

pytestmark = pytest.mark.django_db


def show(client, role):
    client.force_login(make_user(role))
    return client.get(reverse("overview:overview")).content.decode()


@pytest.mark.parametrize(
    ("clusters", "flows", "following"), [(0, 0, 0), (1, 0, 1), (2, 0, 2), (2, 1, 3)]
)
def test_the_first_step_that_is_not_done_is_next(clusters, flows, following):
    steps = first_steps(
        [make_cluster(f"c{n}") for n in range(clusters)], [make_flow(f"f{n}") for n in range(flows)]
    )
    assert [step.is_next for step in steps].index(True) == following
    assert [step.is_done for step in steps].count(True) == following


def test_the_steps_go_away_with_the_first_measurement():
    flow = make_flow(measured_at=NOW)
    assert first_steps([flow.source, flow.target], [flow]) == []


@pytest.mark.parametrize(
    ("made", "role", "link", "words"),
    [
        pytest.param(0, "admin", "clusters:new", "Add the first cluster", id="first cluster"),
        pytest.param(1, "admin", "clusters:new", "Add the other cluster", id="second cluster"),
        pytest.param(2, "operator", "replication:new", "New flow", id="flow"),
    ],
)
def test_each_step_leads_to_the_next(client, made, role, link, words):
    for number in range(made):
        make_cluster(f"c{number}")
    text = show(client, role)
    assert f'href="{reverse(link)}">{words}</a>' in text


def test_an_operator_is_told_who_adds_clusters(client):
    assert "needs the role admin" in show(client, "operator")
