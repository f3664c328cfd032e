"""What a first visit has to load, compressed: at most 120 KB, and nothing from strangers."""

import gzip

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.browser.world import make_person, make_world

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MOST_BYTES = 120_000


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("overview:overview", []),
        ("clusters:partitions", ["east"]),
        ("replication:detail", ["flow"]),
    ],
)
def test_a_first_visit_is_light(watched, name, args):
    flow = make_world(timezone.now())
    watched.sign_in(make_person())
    weights = {}

    def weigh(answer):
        if answer.ok and not answer.url.startswith("data:"):
            weights[answer.url.removeprefix(watched.url)] = len(gzip.compress(answer.body()))

    watched.page.on("requestfinished", lambda sent: weigh(sent.response()))
    watched.open(reverse(name, args=[flow.pk if arg == "flow" else arg for arg in args]))
    assert sum(weights.values()) <= MOST_BYTES, weights
    assert len(weights) > 5
