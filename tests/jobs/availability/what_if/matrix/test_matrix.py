"""The matrix says of every loss exactly what the simulation says."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from jobs.availability.what_if.model.cluster import ControllerModel
from jobs.availability.what_if.simulation import (
    Loss,
    matrix,
    simulate,
    single_failures,
    worst_single_failure,
)
from tests.examples import examples
from tests.jobs.availability.clusters import cluster, clusters, losses, partition


@given(st.data())
@examples(300)
def test_every_partition_sum_and_quorum_is_that_of_the_simulation(data):
    model = data.draw(clusters())
    asked = data.draw(st.lists(losses(model), min_size=1, max_size=3))
    for loss, column in zip(asked, matrix(model, asked).columns, strict=True):
        (step,) = simulate(model, [loss]).steps
        found = tuple(column.outcome(index) for index in range(len(model.partitions)))
        assert found == step.partitions
        assert column.cluster == step.cluster
        assert column.topics == step.topics
        assert column.quorum == step.quorum


@given(st.data())
@examples(100)
def test_partitions_can_be_picked_by_what_became_of_them(data):
    model = data.draw(clusters())
    loss = data.draw(losses(model))
    (column,), (step,) = matrix(model, [loss]).columns, simulate(model, [loss]).steps
    numbered = list(enumerate(step.partitions))
    assert column.indexes(unwritable=True) == [
        n for n, one in numbered if one.after.is_writable is False
    ]
    assert column.indexes(offline=True) == [n for n, one in numbered if one.after.leader is None]
    assert column.indexes(lost=True) == [n for n, one in numbered if one.is_lost]
    assert column.does_harm == simulate(model, [loss]).does_harm


def test_single_failures_are_racks_brokers_and_controllers_of_their_own():
    model = cluster(partition(1, 2), racks={1: "west", 2: None}, voters=[1, 101])
    assert [one.name for one in single_failures(model)] == [
        "rack west",
        "broker 1",
        "broker 2",
        "controller 101",
    ]


def test_the_controller_on_a_node_whose_broker_is_dead_may_fail_by_itself():
    model = cluster(partition(1, 3), racks={1: None, 2: None, 3: None})
    fenced = replace(model.brokers[2], is_alive=False)
    voters = (ControllerModel(1), ControllerModel(2, is_alive=None), ControllerModel(3))
    model = replace(model, brokers=model.brokers | {2: fenced}, voters=voters)
    assert [one.name for one in single_failures(model)] == ["broker 1", "broker 3", "controller 2"]


def test_the_worst_single_failure_is_the_one_that_stops_most():
    model = cluster(
        partition(1, 2, min_insync_replicas=1),
        partition(1, 3, number=1, min_insync_replicas=2),
        partition(3, 4, number=2, min_insync_replicas=2),
    )
    worst = worst_single_failure(model)
    assert worst is not None
    assert worst.loss == Loss(racks=frozenset({"west"}), name="rack west")
    assert worst.sentence.startswith("rack west: 2 of 3 partitions take no writes")


def test_where_no_failure_does_harm_there_is_no_worst_one():
    assert worst_single_failure(cluster(racks={})) is None


def test_a_lost_majority_counts_though_every_leader_lives():
    model = cluster(partition(3, 4), voters=[1, 2, 3], racks={1: "a", 2: "a", 3: "b", 4: "c"})
    worst = worst_single_failure(model)
    assert worst is not None
    assert worst.column.does_harm
