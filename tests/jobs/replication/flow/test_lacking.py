"""What a flow needs of its clusters' Kafka versions."""

import pytest

from jobs.cluster.capabilities.verdicts import ClusterVersions, Verdict
from jobs.replication.flow.lacking import find_lacking
from jobs.replication.flow.spec import FlowSpec
from tests.jobs.cluster.capabilities.recorded import recorded_cluster

NEW, OLD = recorded_cluster("4.3.1-kraft"), recorded_cluster("2.8.2-zookeeper")


def flow(**settings):
    sides = {
        side: {"alias": side, "bootstrap_servers": "localhost:9092"}
        for side in ("source", "target")
    }
    return FlowSpec.from_mapping({"name": "orders", **sides, **settings})


@pytest.mark.parametrize(
    ("settings", "source", "target", "expected"),
    [
        pytest.param({}, NEW, NEW, [], id="nothing lacks"),
        pytest.param({}, OLD, NEW, ["source recreated another_way"], id="an old source"),
        pytest.param({}, NEW, OLD, ["target copy_into another_way"], id="an old target"),
        pytest.param({"path": "record"}, NEW, OLD, [], id="record by record into it"),
        pytest.param({"copied_by": "mirror_maker"}, OLD, OLD, [], id="only watched"),
    ],
)
def test_what_the_settings_of_a_flow_need_and_its_clusters_lack_is_found(
    settings, source, target, expected
):
    found = find_lacking(flow(**settings), source, target)
    assert [f"{one.cluster} {one.code} {one.verdict}" for one in found] == expected


def test_of_a_cluster_that_was_not_asked_nothing_is_known():
    found = find_lacking(flow(), NEW, ClusterVersions({}))
    assert {(one.cluster, one.verdict) for one in found} == {("target", Verdict.UNKNOWN)}
    assert [one.code for one in found] == ["copy_into", "offset_syncs", "topic_sync"]


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        pytest.param("target", ["target"], id="target"),
        pytest.param("source", ["source"], id="source"),
        pytest.param("none", [], id="none"),
    ],
)
def test_the_cluster_that_keeps_offset_syncs_is_asked_for_what_they_need(location, expected):
    unknown = ClusterVersions({})
    found = find_lacking(flow(offset_syncs=location), unknown, unknown)
    assert [one.cluster for one in found if one.code == "offset_syncs"] == expected


def test_what_lacks_is_a_sentence_with_the_cluster_first():
    (one,) = find_lacking(flow(), NEW, OLD)
    assert str(one) == (
        "target: Write whole batches into this cluster exactly once: works another way. Unfinished "
        "transactions are found by reading __transaction_state; the principal needs READ on it. No broker "
        "offers ListTransactions 0, which came with Kafka 3.0."
    )
