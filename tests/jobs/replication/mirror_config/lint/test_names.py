"""Aliases that override those of the clusters, and values that policies read with their blanks."""

import pytest

from jobs.replication.mirror_config.lint.rules import lint
from jobs.replication.mirror_config.report import names_of
from jobs.replication.mirror_config.values import Severity
from tests.jobs.replication.mirror_config.making import (
    CHECKPOINT,
    SOURCE,
    TWO,
    bad,
    codes,
    connector,
    connectors,
    flow_of,
    properties,
    read,
)

ONE = TWO | {"A->B.enabled": "true"}
BOTH = ONE | {"B->A.enabled": "true"}
THREE = TWO | {"clusters": "A, B, C", "C.bootstrap.servers": "c:1"}
CLASS, SEPARATOR = "replication.policy.class", "replication.policy.separator"
INTERNAL = "replication.policy.internal.topic.separator.enabled"
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(
            {"source.cluster.alias": "x"}, ("x.orders", "x.checkpoints.internal"), id="top"
        ),
        pytest.param({"A.alias": "x"}, ("x.orders", "x.checkpoints.internal"), id="cluster"),
        pytest.param(
            {"A->B.source.cluster.alias": "x"}, ("x.orders", "x.checkpoints.internal"), id="flow"
        ),
        pytest.param(
            {"source.cluster.alias": "x", "A.alias": "y", "A->B.source.cluster.alias": "z"},
            ("z.orders", "z.checkpoints.internal"),
            id="the flow's wins",
        ),
        pytest.param(
            {"source.cluster.alias": "x "}, ("x.orders", "x.checkpoints.internal"), id="blank"
        ),
        pytest.param(
            {"source.cluster.alias": ""}, (".orders", ".checkpoints.internal"), id="empty"
        ),
    ],
)
def test_topics_follow_the_alias_of_the_connector(settings, expected):
    names = names_of(flow_of(ONE | settings))
    assert (names["remote_topic_of_orders"], names["checkpoints"]) == expected
    assert "alias-overridden" in codes(properties(ONE | settings))


def test_offset_syncs_follow_the_alias_of_the_target():
    names = names_of(flow_of(ONE | {"target.cluster.alias": "y"}))
    assert names["offset_syncs"] == "mm2-offset-syncs.y.internal"
    assert names["remote_topic_of_orders"] == "A.orders"


def test_an_alias_that_is_the_clusters_own_is_no_finding():
    settings = {"A->B.source.cluster.alias": "A", "A->B.target.cluster.alias": "B "}
    assert codes(properties(ONE | settings)) == []


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({"source.cluster.alias": "x"}, True, id="other to the flows to it"),
        pytest.param({"A->B.target.cluster.alias": "x"}, True, id="other in its names"),
        pytest.param(
            {"B->A.source.cluster.alias": "x", "A->B.target.cluster.alias": "x"}, False, id="alike"
        ),
        pytest.param({}, False, id="none"),
    ],
)
def test_a_circle_in_which_a_cluster_has_two_aliases_goes_round(settings, expected):
    assert ("cycle-aliases" in codes(properties(BOTH | settings))) is expected


def test_flows_that_keep_names_by_an_empty_alias_have_no_cycle_protection():
    empty = {"source.cluster.alias": "", SEPARATOR: ""}
    (found,) = [f for f in bad(properties(BOTH | empty)) if f.code == "identity-both-ways"]
    assert found.text.startswith("An empty alias with an empty separator both ways")


def test_flows_into_one_cluster_under_one_alias_write_the_same_topics():
    flows = {"A->C.enabled": "true", "B->C.enabled": "true"}
    assert "same-names" in codes(properties(THREE | flows | {"source.cluster.alias": "x"}))
    assert "same-names" not in codes(properties(THREE | flows))


def test_flows_out_of_one_cluster_under_one_target_alias_share_their_offset_syncs():
    flows = {"A->B.enabled": "true", "A->C.enabled": "true"}
    found = codes(properties(THREE | flows | {"target.cluster.alias": "x"}))
    assert "offset-syncs-shared" in found
    assert "offset-syncs-shared" not in codes(properties(THREE | flows))


def test_an_empty_alias_of_a_connector_invents_no_cluster():
    empty = connector(SOURCE) | {"source.cluster.alias": "", SEPARATOR: ""}
    config = read(connectors(empty, connector(CHECKPOINT)))
    (flow,) = config.flows
    assert flow.name == "A->B"
    assert names_of(flow)["remote_topic_of_orders"] == "orders"
    found = [f.code for f in lint(config) if f.severity is not Severity.INFO]
    assert {"alias-empty", "alias-differs"} <= set(found)
    assert "alias-missing" not in found


def test_a_cluster_without_any_alias_goes_by_its_address():
    config = read(connectors(connector(SOURCE) | {"source.cluster.alias": ""}))
    assert [flow.name for flow in config.flows] == ["a-9092->B"]


def test_connectors_that_know_one_cluster_by_two_aliases_are_not_copied_into_themselves():
    other = connector(SOURCE, topics="x") | {"source.cluster.alias": "other"}
    (found,) = [f for f in bad(connectors(connector(SOURCE), other)) if f.code == "same-bootstrap"]
    assert "into itself" not in found.text


def test_connectors_of_one_mirror_under_different_aliases_do_not_find_each_other():
    other = connector(CHECKPOINT) | {"source.cluster.alias": "other", SEPARATOR: "-"}
    file = connectors(other, connector(SOURCE))
    assert [flow.name for flow in read(file).flows] == ["A->B"]
    assert {"alias-differs", "policy-differs", "alias-overridden"} <= set(codes(file))
    assert "same-bootstrap" not in codes(file)


def test_connectors_of_one_flow_are_compared_across_files():
    one = connectors(connector(SOURCE), name="source.json")
    other = connectors(connector(CHECKPOINT) | {SEPARATOR: "-"}, name="checkpoint.json")
    (found,) = [f for f in bad(one, other) if f.code == "policy-differs"]
    assert found.where == "source.json checkpoint.json"


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        pytest.param({SEPARATOR: "_ "}, "not-a-topic-name", id="a separator"),
        pytest.param({SEPARATOR: "/"}, "not-a-topic-name", id="a separator that no name has"),
        pytest.param({"source.cluster.alias": "a b"}, "not-a-topic-name", id="an alias"),
        pytest.param({SEPARATOR: "_", INTERNAL: "true "}, "blank-after-flag", id="internal names"),
        pytest.param(
            {CLASS: IDENTITY, "source.cluster.alias": "A "}, "alias-blank", id="Identity's alias"
        ),
        pytest.param({"A->B.connector.class": f"{SOURCE.full_name} "}, "class-blank", id="a class"),
    ],
)
def test_what_is_read_with_its_blanks_is_reported(settings, code):
    assert code in codes(properties(ONE | settings))


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({CLASS: f"{IDENTITY} "}, id="the class of the policy"),
        pytest.param({INTERNAL: "true "}, id="internal names without a separator"),
        pytest.param({"offset-syncs.topic.location": "target "}, id="a choice"),
        pytest.param({"tasks.max": "2 ", "topics": "a , b "}, id="a number, a list"),
        pytest.param({"clusters": "A , B "}, id="the clusters"),
        pytest.param({"B->A.enabled": "false ", "emit.heartbeats.enabled": "false "}, id="false"),
        pytest.param({"B.security.protocol": "PLAINTEXT "}, id="a client's"),
    ],
)
def test_a_blank_that_every_reader_trims_is_no_finding(settings):
    assert codes(properties(ONE | settings)) == []


def test_values_are_shown_as_their_readers_see_them():
    settings = {"offset-syncs.topic.location": "target ", SEPARATOR: "_ ", "tasks.max": "2\t"}
    source = flow_of(ONE | settings).first(SOURCE)
    shown = [source.get(key) for key in settings]
    assert shown == ["target", "_ ", "2"]
    assert names_of(flow_of(ONE | settings))["offset_syncs_on"] == "B"
