"""Flows that are hardly wanted are made only when their name was typed again."""

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.spec import CopiedBy, PolicyName
from jobs.replication.topics.preview import (
    PreviewInput,
    find_cautions,
    preview_topics,
    refuse_unconfirmed,
)
from tests.jobs.replication.topics.making import flow, topic

IDENTITY = PolicyName.IDENTITY


def cautions(described, *, brokers=1, target=(), **settings):
    known = PreviewInput(described, {one.name: one for one in target}, brokers=brokers)
    made = flow(**settings)
    return find_cautions(made, known, preview_topics(made, known))


@pytest.mark.parametrize(
    ("topics", "settings", "codes"),
    [
        pytest.param(
            ["orders", "clicks"], {"topics": ("nothing",)}, ["selects_nothing"], id="none"
        ),
        pytest.param([], {"topics": ("nothing",)}, [], id="a source without topics"),
        pytest.param(["orders"], {"topics": ("orders", "later")}, [], id="one is there"),
        pytest.param(
            ["west.orders", "heartbeats", "mm2-offset-syncs.west.internal"],
            {"topics": (".*",)},
            [],
            id="a source that had only copies so far",
        ),
        pytest.param(
            ["west.orders", "clicks"],
            {"topics": ("orders",)},
            ["selects_nothing"],
            id="beside a copy",
        ),
        pytest.param(
            ["orders"],
            {"topics": ("nothing",), "copied_by": CopiedBy.MIRROR_MAKER},
            ["selects_nothing"],
            id="a flow that is watched",
        ),
        pytest.param(["west.orders"], {"policy": IDENTITY}, ["copies_back"], id="identity"),
        pytest.param(["west.orders"], {"separator": "_"}, ["copies_back"], id="another separator"),
        pytest.param(
            ["north.west.orders"], {"policy": IDENTITY}, ["copies_back"], id="over another cluster"
        ),
        pytest.param(["north.orders"], {"policy": IDENTITY}, [], id="a copy of a third cluster"),
        pytest.param(["westerly"], {"policy": IDENTITY}, [], id="a name that only begins so"),
        pytest.param(
            ["west.orders", "orders"], {}, [], id="the default policy leaves its own copies out"
        ),
    ],
)
def test_what_a_flow_selects(topics, settings, codes):
    found = cautions([topic(name) for name in topics], **settings)
    assert [one.code for one in found] == codes


@pytest.mark.parametrize(
    ("brokers", "replicas", "factor", "codes"),
    [
        pytest.param(3, 1, None, ["single_replica"], id="as on the source"),
        pytest.param(3, 3, 1, ["single_replica"], id="by the flow's setting"),
        pytest.param(3, 1, 3, [], id="the flow's setting fixes it"),
        pytest.param(1, 3, None, [], id="one broker can have one"),
        pytest.param(None, 1, None, [], id="brokers are not known"),
    ],
)
def test_topics_of_one_replica_on_several_brokers(brokers, replicas, factor, codes):
    found = cautions(
        [topic("orders", 2, replicas=replicas)], brokers=brokers, replication_factor=factor
    )
    assert [one.code for one in found] == codes


def test_a_topic_that_is_there_is_not_made():
    assert not cautions([topic("orders")], brokers=3, target=[topic("east.orders")])


def test_the_refusal_names_the_topics_and_what_to_type():
    found = cautions([topic(f"west.t{n}") for n in range(5)], policy=IDENTITY)
    with pytest.raises(InvalidFields) as refused:
        refuse_unconfirmed(flow(), found, "another name")
    text = refused.value.errors["confirm"]
    assert "west.t0, west.t1, west.t2 and 2 more came from west" in text
    assert text.endswith(f"confirm it: {flow().name}")


def test_the_flows_name_confirms():
    refuse_unconfirmed(flow(), cautions([topic("x")], topics=("y",)), flow().name)
