"""A wish as a document: what it may hold, and each mistake at its field."""

import pytest

from jobs.availability.designer.input import REQUIREMENT_FIELDS, parse_requirements
from jobs.availability.designer.requirements import (
    DesignRequirements,
    InvalidRequirements,
    LossAllowed,
    Site,
    WritableAfter,
)

SITES = [{"name": "a", "brokers": [1, 2]}, {"name": "b", "brokers": [3]}, {"name": "hub"}]


def test_only_sites_are_needed():
    sites = (Site("a", (1, 2)), Site("b", (3,)), Site("hub"))
    assert parse_requirements({"sites": SITES}) == DesignRequirements(sites)


def test_every_field_can_be_given():
    wish = parse_requirements(
        {
            "sites": SITES[:2],
            "rpo": "bounded",
            "rto_s": 30,
            "writable_after": "site",
            "observers": "none",
            "topic": "orders",
            "partitions": 12,
            "preferred_site": "b",
            "majority_site": "a",
            "most_copies": 4,
            "voters": 3,
            "session_timeout_ms": 6_000,
            "is_existing_topic": True,
        }
    )
    assert (wish.rpo, wish.writable_after) == (LossAllowed.BOUNDED, WritableAfter.SITE)
    assert (wish.rto_s, wish.partitions, wish.is_existing_topic) == (30.0, 12, True)
    assert set(REQUIREMENT_FIELDS) == set(DesignRequirements.__dataclass_fields__)


MISTAKES = [
    pytest.param([], "", id="no object"),
    pytest.param({}, "sites", id="no sites"),
    pytest.param({"sites": "a"}, "sites", id="sites that are no list"),
    pytest.param({"sites": ["a"]}, "sites[0]", id="a site that is no object"),
    pytest.param({"sites": [{"name": 5, "brokers": [1]}]}, "sites[0].name", id="a name"),
    pytest.param({"sites": [{"name": "a", "brokers": "1"}]}, "sites[0].brokers", id="brokers"),
    pytest.param({"sites": [{"name": "a", "brokers": [True]}]}, "sites[0].brokers", id="truth"),
    pytest.param({"sites": [{"name": "a", "rack": "b"}]}, "sites[0].rack", id="a strange key"),
    pytest.param({"sites": SITES, "rpo": "none"}, "rpo", id="an unknown word"),
    pytest.param({"sites": SITES, "observers": ["none"]}, "observers", id="a list for a word"),
    pytest.param({"sites": SITES, "rto_s": float("nan")}, "rto_s", id="not a number"),
    pytest.param({"sites": SITES, "rto_s": "5"}, "rto_s", id="a text for a number"),
    pytest.param({"sites": SITES, "partitions": 1.5}, "partitions", id="half a partition"),
    pytest.param({"sites": SITES, "is_existing_topic": 1}, "is_existing_topic", id="one for true"),
    pytest.param({"sites": SITES, "topics": "x"}, "topics", id="an unknown field"),
]


@pytest.mark.parametrize(("document", "field"), MISTAKES)
def test_a_mistake_is_told_at_its_field(document, field):
    with pytest.raises(InvalidRequirements) as refused:
        parse_requirements(document)
    assert field in refused.value.problems


def test_all_mistakes_are_told_at_once():
    with pytest.raises(InvalidRequirements) as refused:
        parse_requirements({"sites": SITES, "rpo": "x", "voters": 2, "topic": 7})
    assert {"rpo", "voters", "topic"} <= set(refused.value.problems)
