"""The matrix says of every loss exactly what the simulation of every single partition says."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from jobs.availability.what_if.matrix import alike_partitions, matrix, single_failures
from jobs.availability.what_if.model.cluster import ControllerModel
from jobs.availability.what_if.simulation import simulate
from jobs.availability.what_if.steps import Loss
from tests.examples import examples
from tests.jobs.availability.clusters import cluster, clusters, losses, partition

OF_IDS = ("replicas", "isr", "observers", "elr", "last_known_elr", "lagging", "removing")
TOPICS = st.sampled_from(["orders", "payments", "refunds"])


def on_other_brokers(one, renamed):
    """The same partition with other brokers in the same places."""
    changed = {name: tuple(renamed[id_] for id_ in getattr(one, name)) for name in OF_IDS}
    leader = None if one.leader is None else renamed[one.leader]
    adding = None if one.adding is None else tuple(renamed[id_] for id_ in one.adding)
    lag = {renamed[id_]: lag for id_, lag in one.lag_records.items()}
    return replace(one, **changed, leader=leader, adding=adding, lag_records=lag)


@st.composite
def nearly_alike(draw, one):
    """The same partition, but for one field."""
    some = st.lists(st.sampled_from(one.replicas), unique=True).map(tuple)
    name = draw(st.sampled_from([*OF_IDS[1:], "leader", "adding", "min_insync_replicas"]))
    values = {"leader": st.none() | st.sampled_from(one.replicas), "adding": st.none() | some}
    values["min_insync_replicas"] = st.none() | st.integers(1, 3)
    return replace(one, **{name: draw(values.get(name, some))})


@st.composite
def many_alike(draw):
    """Any cluster in which one of the partitions is there again: on other brokers, or nearly the same."""
    model = draw(clusters())
    if draw(st.booleans()):
        plain = {id_: replace(one, is_standby=False) for id_, one in model.brokers.items()}
        model = replace(model, brokers=plain)
    if not model.partitions:
        return model
    one = draw(st.sampled_from(model.partitions))
    ids = {*model.brokers, *one.replicas, *(one.adding or ()), *one.lag_records, one.leader}
    known = sorted(ids.union(*(getattr(one, name) for name in OF_IDS)) - {None})
    more = []
    for number in range(100, 100 + draw(st.integers(0, 8))):
        renamed = dict(zip(known, draw(st.permutations(known)), strict=True))
        other = on_other_brokers(one, renamed) if draw(st.booleans()) else one
        other = draw(nearly_alike(other)) if other.replicas else other
        more.append(replace(other, topic=draw(TOPICS), partition=number))
    return replace(model, partitions=(*model.partitions, *more))


@given(st.data())
@examples(300)
def test_every_sum_and_quorum_is_that_of_the_simulation_of_single_partitions(data):
    model = data.draw(many_alike())
    asked = data.draw(st.lists(losses(model), min_size=1, max_size=3))
    found = matrix(alike_partitions(model), asked)
    assert found.quorum_before == simulate(model, []).quorum_before
    for loss, column in zip(asked, found.columns, strict=True):
        answer = simulate(model, [loss])
        (step,) = answer.steps
        assert column.cluster == step.cluster
        assert column.topics == step.topics
        assert column.quorum == step.quorum
        assert column.does_harm == answer.does_harm
        assert column.harm[0] == sum(harms(model, one) for one in step.partitions)


def harms(model, outcome) -> int:
    """Return how often a partition counts: it stopped, and it has newly lost records."""
    one = next(p for p in model.partitions if p.partition == outcome.partition)
    had_records = any(b in model.brokers and model.brokers[b].is_alive for b in one.replicas)
    return outcome.is_stopped + (outcome.is_lost and had_records)


@given(st.data())
@examples(100)
def test_the_worst_failure_is_none_that_another_one_exceeds(data):
    model = data.draw(many_alike())
    columns = matrix(alike_partitions(model), single_failures(model))
    harm = [column.harm for column in columns.columns]
    if columns.worst is None:
        assert not any(map(any, harm))
    else:
        assert columns.worst.harm == max(harm)


def worst_single_failure(model):
    return matrix(alike_partitions(model), single_failures(model)).worst


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
    assert worst.sentence.startswith("rack west: 2 of 3 partitions refuse writes")


def test_where_no_failure_does_harm_there_is_no_worst_one():
    assert worst_single_failure(cluster(racks={})) is None


def test_a_lost_majority_counts_though_every_leader_lives():
    model = cluster(partition(3, 4), voters=[1, 2, 3], racks={1: "a", 2: "a", 3: "b", 4: "c"})
    worst = worst_single_failure(model)
    assert worst is not None
    assert worst.does_harm
