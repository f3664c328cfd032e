"""What a first visit has to load, compressed: at most 120 KB, and nothing from strangers."""

import gzip

import pytest
from django.urls import reverse

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

MOST_BYTES = 120_000


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("overview:overview", []),
        ("clusters:partitions", ["east"]),
        ("replication:detail", ["flow"]),
    ],
)
def test_a_first_visit_is_light(reader, site, name, args):
    reader.sign_in(site.person())
    weights = {}

    def weigh(answer):
        if answer.ok and not answer.url.startswith("data:"):
            weights[answer.url.removeprefix(reader.url)] = len(gzip.compress(answer.body()))

    reader.page.on("requestfinished", lambda sent: weigh(sent.response()))
    reader.open(reverse(name, args=[site.flow.pk if arg == "flow" else arg for arg in args]))
    assert sum(weights.values()) <= MOST_BYTES, weights
    assert len(weights) > 5
