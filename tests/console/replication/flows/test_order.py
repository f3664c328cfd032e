"""The order of parts on the page of a flow and in its form."""

import pytest
from django.urls import reverse

from console.replication.flows.models import FlowTopic
from tests.console.making import NOW, make_cluster, make_flow

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def test_topics_are_sorted_by_lag_and_those_without_a_lag_are_last(as_viewer):
    flow = make_flow(measured_at=NOW)
    for name, lag in (("small", 3), ("unknown", None), ("large", 900)):
        FlowTopic.objects.create(flow=flow, topic=name, lag=lag, updated_at=NOW)
    text = as_viewer.get(reverse("replication:detail", args=[flow.pk])).content.decode()
    places = [text.index(f"topic={name}") for name in ("large", "small", "unknown")]
    assert places == sorted(places)


def test_topics_are_above_the_charts(as_viewer):
    flow = make_flow(measured_at=NOW)
    text = as_viewer.get(reverse("replication:detail", args=[flow.pk])).content.decode()
    assert text.index('id="topics-title"') < text.index("Replication lag (records)</h2>")


def test_the_form_of_a_flow_has_three_parts_of_which_the_last_is_folded(sign_in, operator):
    make_cluster("east"), make_cluster("west")
    text = sign_in(operator).get(reverse("replication:new")).content.decode()
    marks = (
        "<legend>Clusters and topics</legend>",
        'name="topics"',
        "<legend>Delivery and consumer groups</legend>",
    )
    marks += ('name="delivery"', '<details class="form__more"', 'name="separator"', 'id="preview"')
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "sasl" not in text
