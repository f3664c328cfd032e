"""What follows from a description: where stores are, what feeds them, full names of internal topics."""

from jobs.streams.topology.described import StorePlace, stores_of, with_prefix
from jobs.streams.topology.reading import MOST_NODES, read_description
from tests.jobs.streams.topology.descriptions import ORDERS, chain, description


def topics_of(described):
    return [topic for one in described.subtopologies for node in one.nodes for topic in node.topics]


def test_a_store_is_in_its_subtopology_fed_by_the_topics_that_reach_its_processors():
    assert stores_of(read_description(ORDERS)) == {
        "customers": StorePlace(
            "1", ("by-customer-repartition", "customers"), False, is_shared=True
        ),
        "totals-by-customer": StorePlace("1", ("by-customer-repartition",), False),
        "regions": StorePlace("2", ("regions",), True),
    }


def test_a_pattern_feeds_a_store_beside_topics():
    read = read_description(
        description("Source: a (topics: eu-.*)", "--> b", "Processor: b (stores: [s])", "--> none")
    )
    assert stores_of(read) == {"s": StorePlace("0", (), False, ("eu-.*",))}


def test_stores_of_named_topologies_have_the_topology_s_name_as_their_changelogs_have():
    lines = "Sub-topology: {}\nProcessor: p (stores: [s])\n"
    text = "Topology: a:\n" + lines.format(3) + "Topology: b:\n" + lines.format(4)
    assert stores_of(read_description(text)) == {
        "a-s": StorePlace("a__3", (), False),
        "b-s": StorePlace("b__4", (), False),
    }


def test_the_stores_of_the_largest_description_are_found():
    lines = [line for start in range(0, MOST_NODES, 50) for line in chain(50, start)]
    places = stores_of(read_description(description(*lines)))
    assert len(places) == MOST_NODES - MOST_NODES // 50
    assert places["store-4999"].source_topics == ("in-4950",)


def test_internal_topics_get_the_prefix_where_the_cluster_has_them():
    known = {"orders", "customers", "app-by-customer-repartition", "app-orders"}
    topics = topics_of(with_prefix(read_description(ORDERS), "app", known))
    assert topics.count("app-by-customer-repartition") == 2
    assert {"orders", "customers", "orders-enriched"} <= set(topics)
    assert not {"by-customer-repartition", "app-orders"} & set(topics)


def test_the_prefix_of_a_named_topology_ends_with_its_name():
    text = "Topology: eu:\nSub-topology: 0\nSink: a (topic: x-repartition)"
    read = with_prefix(read_description(text), "app", ["app-eu-x-repartition"])
    assert topics_of(read) == ["app-eu-x-repartition"]
