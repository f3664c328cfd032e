"""Which description is used: that of the broker, else the pasted one, else none."""

import pytest

from console.streams.application.pages import BY_BROKER, DESCRIBED, topology_of
from console.streams.collection.rows import save_application
from console.streams.models import StreamsApplication
from console.streams.snapshots import picture_of
from jobs.cluster.group_members import StreamsDescription, StreamsNode
from tests.console.making import NOW, make_cluster
from tests.console.streams.making import (
    DESCRIPTION,
    SHOP,
    make_streams,
    observation,
    two_instances,
)

pytestmark = pytest.mark.django_db
NODES = (
    StreamsNode("source", 1, ("orders",), (), ("count",)),
    StreamsNode("count", 2, (), ("totals", "cache")),
)
TOLD = StreamsDescription((("0", NODES),))
HAS = {"description": TOLD, "description_status": 3}


@pytest.fixture
def shop():
    return make_streams(make_cluster("east"))


def seen(row, **fields) -> StreamsApplication:
    save_application(row.cluster, row, observation(two_instances(**fields)), NOW)
    return StreamsApplication.objects.get(pk=row.pk)


def paste(row) -> StreamsApplication:
    row.description = DESCRIPTION
    row.save()
    return row


def test_without_any_the_topology_is_that_of_the_group(shop):
    assert "paste" in topology_of(picture_of(shop)).note


def test_a_pasted_one_is_used_where_the_broker_has_none(shop):
    assert topology_of(picture_of(paste(shop))).note == DESCRIBED


def test_the_broker_s_is_used_before_a_pasted_one_which_stays(shop):
    row = seen(paste(shop), **HAS)
    picture = picture_of(row)
    assert topology_of(picture).note == BY_BROKER
    assert picture.application.stores["cache"].reason == "By the description that the broker has."
    assert row.description == DESCRIPTION


def test_the_page_says_that_a_pasted_one_is_not_used(visitor, shop):
    seen(paste(shop), **HAS)
    text = " ".join(visitor.get(f"/streams/east/{SHOP}/").content.decode().split())
    assert "not used: the broker has a description" in text


def test_what_the_broker_does_not_have_any_more_is_not_used(shop):
    row = seen(seen(shop, **HAS), description_status=1)
    assert (row.broker_description, row.cautions) == ("", [])


def test_that_the_broker_could_not_get_it_is_a_caution(shop):
    row = seen(shop, description_status=2)
    assert "could not get the description" in row.cautions[-1]
    assert row.caution_count == len(row.cautions)


def test_one_that_does_not_fit_is_a_caution_and_not_drawn(shop):
    other = StreamsDescription((("0", (StreamsNode("source", 1, ("payments",)),)),))
    picture = picture_of(seen(shop, description=other, description_status=3))
    assert "is not that of what runs" in picture.cautions[-1]
    assert "the description that the broker has is not" in topology_of(picture).note
