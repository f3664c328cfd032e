"""A cluster as a JSON file: every form is read, and errors are at their field."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.what_if.model.cluster import (
    BrokerModel,
    ClusterModel,
    ControllerModel,
    InvalidCluster,
    PartitionModel,
)
from jobs.availability.what_if.model.scenario_json import steps_of
from jobs.availability.what_if.simulation import Loss, PreferredElection, Return, UncleanElection
from tests.examples import examples
from tests.jobs.availability.clusters import clusters

RACKS = {"1": "west", "2": "west", "3": "east", "4": "east"}
PLACEMENT = {
    "version": 2,
    "replicas": [{"count": 2, "constraints": {"rack": "west"}}],
    "observers": [{"count": 1, "constraints": {"rack": "east"}}],
}


def read(**document) -> ClusterModel:
    return ClusterModel.from_json({"brokers": RACKS, **document})


def one(**document) -> PartitionModel:
    (found,) = read(**document).partitions
    return found


def consistent(model: ClusterModel) -> bool:
    known = all(id_ in model.brokers for one in model.partitions for id_ in one.replicas)
    leading = all(one.leader is None or one.leader in one.isr for one in model.partitions)
    return bool(model.partitions) and known and leading


@given(clusters().filter(consistent))
@examples(100)
def test_what_is_written_is_read_again(model):
    again = ClusterModel.from_json(json.loads(json.dumps(model.to_json())))
    assert again.to_json() == ClusterModel.from_json(again.to_json()).to_json()
    assert dict(again.brokers) == dict(model.brokers)
    assert (again.has_elr, again.promotes_itself) == (model.has_elr, model.promotes_itself)
    for found, wanted in zip(again.partitions, model.partitions, strict=True):
        assert found.lag_records == wanted.lag_records
        assert (None if found.adding is None else {*found.adding}) == (
            None if wanted.adding is None else {*wanted.adding}
        )
        assert {*found.isr, *found.observers} == {*wanted.isr, *wanted.observers}
        names = ("leader", "policy", "sync_count", "min_insync_replicas", "is_unclean_allowed")
        assert [getattr(found, name) for name in names] == [getattr(wanted, name) for name in names]
    assert [one.is_alive for one in again.voters] == [one.is_alive for one in model.voters]


@pytest.mark.parametrize(
    "brokers",
    [
        {"1": "west", "2": None},
        {"1": {"rack": "west"}, "2": {}},
        [{"id": 1, "rack": "west"}, {"broker_id": 2}],
        [{"brokerId": 1, "rack": "west"}, 2],
    ],
    ids=["racks by id", "objects by id", "a list of objects", "a list of both"],
)
def test_brokers_are_written_in_any_of_these_ways(brokers):
    model = ClusterModel.from_json(
        {"brokers": brokers, "partitions": [{"topic": "t", "replicas": [1, 2]}]}
    )
    assert dict(model.brokers) == {1: BrokerModel(1, "west"), 2: BrokerModel(2)}


def test_brokers_may_be_listed_by_rack():
    told = {"racks": {"dc-a": [1], "dc_a": [2]}, "partitions": [{"topic": "t", "replicas": [1, 2]}]}
    assert ClusterModel.from_json(told).racks == {1: "dc-a", 2: "dc_a"}


def test_without_brokers_they_are_those_of_the_replicas():
    model = ClusterModel.from_json({"partitions": [{"topic": "t", "replicas": [1, 2]}]})
    assert dict(model.brokers) == {1: BrokerModel(1), 2: BrokerModel(2)}
    assert model.partitions[0].isr == (1, 2)


def test_a_partition_needs_no_more_than_its_replicas():
    found = one(partitions=[{"topic": "orders", "replicas": [2, 3]}])
    unknown = {"min_insync_replicas": None, "is_unclean_allowed": None}
    assert found == PartitionModel("orders", 0, (2, 3), (2, 3), 2, **unknown)


@pytest.mark.parametrize("key", ["min_insync_replicas", "minInsyncReplicas", "min.insync.replicas"])
def test_keys_are_written_in_any_style(key):
    assert one(partitions=[{"topic": "t", "replicas": [1], key: 2}]).min_insync_replicas == 2


def test_topics_say_what_holds_for_their_partitions():
    told = {
        "name": "orders",
        "configs": {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"},
        "partitions": [
            {"partition": 3, "replicas": [1, 3], "isr": [3], "leader": 3},
            {"partition": 4, "replicas": [3, 1], "leader": -1, "isr": [], "elr": [1]},
        ],
    }
    model = read(topics=[told])
    assert [one.partition for one in model.partitions] == [3, 4]
    assert all(one.min_insync_replicas == 2 and one.is_unclean_allowed for one in model.partitions)
    assert [one.leader for one in model.partitions] == [3, None]
    assert model.has_elr


def test_topics_may_stand_under_their_names():
    model = read(
        topics={"orders": {"partitions": [{"replicas": [1]}]}, "payments": {"replicas": [2]}}
    )
    assert [one.topic for one in model.partitions] == ["orders", "payments"]


def test_from_a_placement_the_steady_state_is_made():
    model = read(topics=[{"name": "t", "placement": PLACEMENT, "partitions": 2, "min_isr": 2}])
    first, second = model.partitions
    assert (first.replicas, first.isr, first.observers) == ((1, 2, 3), (1, 2), (3,))
    assert (second.replicas, second.leader, second.observers) == ((2, 1, 4), 2, (4,))
    assert (first.policy, first.sync_count) == (PromotionPolicy.UNDER_MIN_ISR, 2)
    assert model.promotes_itself


def test_a_placement_gives_listed_replicas_their_roles():
    told = {
        "name": "t",
        "placement": json.dumps(PLACEMENT),
        "partitions": [{"replicas": [3, 1, 2]}],
    }
    found = one(topics=[told])
    assert (found.observers, found.isr, found.leader) == ((3,), (1, 2), 1)


def test_dead_brokers_are_in_no_isr_that_is_made():
    brokers = {"1": {"rack": "west", "alive": False}, "2": "west", "3": "east"}
    assert one(brokers=brokers, topic="t", placement=PLACEMENT).isr == (2,)


def test_standby_brokers_make_it_plain_kafka():
    brokers = {"1": "west", "2": "west", "3": {"rack": "east", "standby": True, "fenced": True}}
    model = read(brokers=brokers, topic="t", placement=PLACEMENT)
    assert not model.promotes_itself
    assert model.brokers[3] == BrokerModel(3, "east", is_alive=True, is_standby=True)
    assert model.partitions[0].isr == (1, 2)


@pytest.mark.parametrize(
    "voters",
    [[1, 101], [{"id": 1}, {"nodeId": 101}], {"1": None, "101": None}],
    ids=["ids", "objects", "by id"],
)
def test_voters_are_written_in_any_of_these_ways(voters):
    model = read(partitions=[{"topic": "t", "replicas": [1]}], voters=voters)
    assert tuple(model.voters) == (ControllerModel(1, "west"), ControllerModel(101))


def test_a_voter_on_a_dead_broker_is_dead():
    model = read(
        brokers={"1": {"alive": False}}, partitions=[{"topic": "t", "replicas": [1]}], voters=[1]
    )
    assert not model.voters[0].is_alive


def test_what_crosslog_state_prints_is_a_cluster():
    told = {
        "offset": 930,
        "kraftVersion": 1,
        "votersOffset": 3,
        "voters": [{"id": 1, "directoryId": "x", "endpoints": []}],
        "brokers": [
            {"brokerId": 1, "fenced": False, "rack": "west", "endPoints": []},
            {"brokerId": 2, "fenced": True, "rack": None},
        ],
        "controllers": [{"controllerId": 1}],
        "topics": [{"name": "orders", "topicId": "u", "partitionCount": 1}],
        "partitions": [
            {
                "topic": "orders", "topicId": "u", "partition": 0, "leader": -1, "replicas": [2, 1, 9],
                "isr": [], "elr": [2], "lastKnownElr": [2],
            }
        ],
        "configs": [
            {"resourceType": "BROKER", "resourceName": "", "name": "min.insync.replicas", "value": "2"},
            {"resourceType": "TOPIC", "resourceName": "orders", "name": "unclean.leader.election.enable",
             "value": "true"},
            {"resourceType": "TOPIC", "resourceName": "orders", "name": "cleanup.policy", "value": "compact"},
        ],
        "features": {"eligible.leader.replicas.version": 1},
    }  # fmt: skip
    model = ClusterModel.from_json(told)
    (found,) = model.partitions
    assert model.has_elr
    assert [one.is_alive for one in model.brokers.values()] == [True, False, False]
    assert (found.leader, found.elr, found.last_known_elr) == (None, (2,), (2,))
    assert (found.min_insync_replicas, found.is_unclean_allowed) == (2, True)


def test_a_log_was_written_by_a_majority_of_its_voters():
    told = {
        "votersOffset": 3,
        "voters": [{"id": 1}],
        "brokers": [{"brokerId": 1, "fenced": True}],
        "partitions": [{"topic": "t", "partition": 0, "replicas": [1], "isr": [1], "leader": -1}],
    }
    model = ClusterModel.from_json(told)
    assert [one.is_alive for one in model.brokers.values()] == [False]
    assert [one.is_alive for one in model.voters] == [True]


def part(**more) -> dict:
    return {"partitions": [{"topic": "t", "replicas": [1, 3], **more}]}


@pytest.mark.parametrize(
    ("document", "path", "sentence"),
    [
        ({}, "topics", "A cluster has partitions"),
        ({"brokers": 7, **part()}, "brokers", "A list of nodes"),
        ({"brokers": {"x": "west"}, **part()}, "brokers.x", "The id of a node is wanted"),
        ({"brokers": [{"rack": "a"}], **part()}, "brokers[0].id", "The id of a node is wanted"),
        ({"brokers": [1, 1, 3], **part()}, "brokers[1]", "Broker 1 is there twice"),
        ({"brokers": {"1": 5, "3": ""}, **part()}, "brokers.1", "An object is wanted"),
        ({"brokers": {"1": {"alive": 1}, "3": ""}, **part()}, "brokers.1.alive", "true or false"),
        ({"voters": [{"id": -1}], **part()}, "voters[0].id", "The id of a node is wanted"),
        ({"topics": [{}]}, "topics[0].name", "The name of a topic"),
        ({"topics": [{"name": "t"}]}, "topics[0].partitions", "A list of partitions is wanted"),
        ({"topics": [{"name": "t", "partitions": -1}]}, "topics[0].partitions", "A whole number"),
        ({"partitions": [{"replicas": [1]}]}, "partitions[0].topic", "The name of a topic"),
        ({"partitions": [{"topic": "t"}]}, "partitions[0].replicas", "The brokers of the replicas"),
        ({"partitions": [7]}, "partitions[0]", "An object is wanted"),
        (part(replicas=[1, 9]), "partitions[0].replicas", "There is no broker 9"),
        (part(replicas=[1, 1]), "partitions[0].replicas", "Broker 1 is there twice"),
        (part(replicas=[1, "x"]), "partitions[0].replicas[1]", "The id of a node"),
        (part(isr=[2]), "partitions[0].isr", "Broker 2 holds no replica of it"),
        (part(isr={}), "partitions[0].isr", "A list is wanted"),
        (part(isr=[1], leader=3), "partitions[0].leader", "Leader 3 is not in the ISR"),
        (part(elr=[4]), "partitions[0].elr", "Broker 4 holds no replica"),
        (part(observers=[4]), "partitions[0].observers", "Broker 4 holds no replica"),
        (part(partition=-1), "partitions[0].partition", "A whole number is wanted"),
        (part(minIsr=0), "partitions[0].minIsr", "A whole number is wanted, from 1"),
        (part(policy="never"), "partitions[0].policy", "There is no policy 'never'"),
        (part(lag_records={"4": 1}), "partitions[0].lag_records.4", "Broker 4 holds no replica"),
        (part(lag_records={"3": -1}), "partitions[0].lag_records.3", "A number of records"),
        (part(unclean_allowed="yes"), "partitions[0].unclean_allowed", "true or false"),
        (
            {"partitions": [{"topic": "t", "replicas": [1]}] * 2},
            "t-0",
            "This partition is there twice",
        ),
        (
            {"topic": "t", "placement": {**PLACEMENT, "version": 7}},
            "placement.version",
            "Version 1 or 2",
        ),
        (
            {
                "topic": "t",
                "placement": {"replicas": [{"count": 9, "constraints": {"rack": "west"}}]},
            },
            "placement.replicas[0].count",
            "9 replicas required in rack west, which has 2 brokers",
        ),
        ({"cases": [{"id": "rule", "kind": "rule"}]}, "cases", "No case has a placement"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_what_is_wrong_is_told_at_its_field(document, path, sentence):
    with pytest.raises(InvalidCluster) as refused:
        read(**document)
    assert path in refused.value.problems
    assert sentence in refused.value.problems[path]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(
            ["brokers", "voters", "topics", "partitions", "name", "topic", "replicas", "isr", "leader",
             "placement", "configs", "cases", "lag_records", "racks", "features", "1", "id", "elr"]
        ),
        inner,
        max_size=4,
    ),
)  # fmt: skip


@given(JSON)
@examples(300)
def test_whatever_is_given_is_a_cluster_or_refused(value):
    for told in (value, {"brokers": RACKS, "partitions": value}, {"topics": value}):
        with contextlib.suppress(InvalidCluster):
            ClusterModel.from_json(told)


@pytest.mark.parametrize(
    ("event", "step"),
    [
        ("steady", Loss(name="steady")),
        ({"fail_brokers": [1, 2]}, Loss(brokers=frozenset({1, 2}))),
        ({"event": {"fail_rack": "west"}}, Loss(racks=frozenset({"west"}))),
        ({"failRacks": ["a", "b"], "name": "two"}, Loss(racks=frozenset({"a", "b"}), name="two")),
        ({"return_brokers": [1]}, Return(brokers=frozenset({1}))),
        ({"unclean_election": True}, UncleanElection()),
        ({"preferred_election": "orders"}, PreferredElection("orders")),
    ],
    ids=[
        "steady", "brokers", "a rack inside an event", "racks with a name", "a return",
        "an unclean election", "a preferred election",
    ],
)  # fmt: skip
def test_steps_are_read_as_a_case_writes_them(event, step):
    assert steps_of({"steps": [event]}) == (step,)


@pytest.mark.parametrize(
    "event",
    [{}, 7, {"fail_rack": 7}, {"fail_brokers": ["x"]}, {"fail_rack": "a", "fail_broker": [1]}],
    ids=str,
)
def test_a_step_that_says_nothing_is_refused(event):
    with pytest.raises(InvalidCluster):
        steps_of({"steps": [event]})


@pytest.mark.parametrize(
    "names",
    [("adding", "removing"), ("addingReplicas", "removingReplicas")],
    ids=["written by hand", "of crosslog state"],
)
def test_a_document_tells_what_a_reassignment_adds_and_removes(names):
    told = {"topic": "t", "replicas": [1, 2, 3, 4], names[0]: [4], names[1]: [3]}
    model = read(partitions=[told])
    (one,) = model.partitions
    assert (one.adding, one.removing, one.isr, one.target) == ((4,), (3,), (1, 2, 3), (1, 2, 4))
    assert ClusterModel.from_json(model.to_json()) == model


def test_a_reassignment_is_of_replicas():
    with pytest.raises(InvalidCluster) as refused:
        read(partitions=[{"topic": "t", "replicas": [1, 2], "adding": [4]}])
    assert refused.value.problems == {"partitions[0].adding": "Broker 4 holds no replica of it."}
