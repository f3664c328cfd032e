"""Settings that are not known: the answer says so, for each value that matters, instead of taking one."""

import pytest

from jobs.availability.status.severity import Severity
from jobs.availability.what_if.matrix import alike_partitions, matrix, single_failures
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.outcome import RiskCode
from jobs.availability.what_if.simulation import Return, simulate
from tests.jobs.availability.clusters import cluster, lose, partition

UNCLEAN = "unclean.leader.election.enable is not known: no leader if it is false; if it is true, broker 2 is elected"


def unknown(*replicas, **facts):
    return partition(*replicas, min_insync_replicas=None, **facts)


def only(model, *steps):
    (found,) = simulate(model, steps or [lose()]).steps[-1].partitions
    return found


@pytest.mark.parametrize(
    ("isr", "lost", "writable", "severity", "condition"),
    [
        ((1, 2, 3), (), True, Severity.OK, ""),
        ((1, 2), (), None, Severity.UNDER_REPLICATED, "writable if it is 2 or less, not if it is 3 or more"),
        ((1, 2, 3), (3,), None, Severity.UNDER_REPLICATED, "writable if it is 2 or less, not if it is 3 or more"),
        ((1, 2, 3), (2, 3), None, Severity.UNDER_REPLICATED, "writable if it is 1, not if it is 2 or more"),
        ((1,), (1,), False, Severity.OFFLINE, ""),
    ],
    ids=["all in sync", "two of three before", "two of three after", "one of three", "no leader"],
)  # fmt: skip
def test_whether_it_is_writable_is_told_for_each_min_isr(isr, lost, writable, severity, condition):
    found = only(cluster(unknown(1, 2, 3, isr=isr)), lose(*lost))
    assert (found.after.is_writable, found.after.severity) == (writable, severity)
    assert condition in found.condition
    assert bool(found.condition) is bool(condition)
    assert found.min_insync_replicas is None


def test_a_partition_of_one_replica_is_writable_whatever_min_isr_is():
    assert only(cluster(unknown(1))).after.is_writable is True


def test_sums_say_of_how_many_it_is_not_known():
    step = simulate(cluster(unknown(1, 2, 3), partition(1, 2, number=1)), [lose(2)]).steps[0]
    assert (step.cluster.unknown, step.cluster.unwritable, step.cluster.became_unwritable) == (1, 0, 0)  # fmt: skip
    assert step.partitions[0].data_at_risk.code is RiskCode.NONE


def test_a_single_copy_of_what_may_be_written_is_exposed():
    found = only(cluster(unknown(1, 2)), lose(2))
    assert (found.after.is_writable, found.data_at_risk.code) == (None, RiskCode.EXPOSED)


@pytest.mark.parametrize(
    ("one", "lost", "harm"),
    [
        (unknown(1, 2, 3), (3,), False),
        (unknown(1, 2, 3, isr=(1,)), (1,), True),
        (partition(1, 2, 3, isr=(1,), min_insync_replicas=2), (1,), True),
        (partition(1, 2, 3, isr=(1,), min_insync_replicas=2), (3,), False),
    ],
    ids=["perhaps no writes", "no leader", "no leader where no writes were", "nothing more"],
)
def test_the_loss_of_a_leader_is_harm_and_what_is_not_known_is_none(one, lost, harm):
    model = cluster(one)
    assert simulate(model, [lose(*lost)]).does_harm is harm
    assert matrix(alike_partitions(model), [lose(*lost)]).columns[0].does_harm is harm


def test_the_worst_failure_names_what_is_not_known():
    model = cluster(unknown(1, 2, 3), racks={1: None, 2: None, 3: None})
    worst = matrix(alike_partitions(model), single_failures(model)).worst
    assert worst is not None
    assert "1 with unknown writability" in worst.sentence


@pytest.mark.parametrize(
    ("allowed", "told"), [(None, True), (False, False), (True, False)], ids=str
)
def test_an_unclean_election_that_may_happen_is_told(allowed, told):
    model = cluster(partition(1, 2, isr=(1,), is_unclean_allowed=allowed))
    found = only(model, lose(1))
    assert (UNCLEAN in found.condition) is told
    assert found.after.leader == (2 if allowed else None)


def test_no_unclean_election_may_happen_without_a_majority_or_a_living_replica():
    one = partition(1, 2, isr=(1,), is_unclean_allowed=None)
    assert not only(cluster(one, voters=[1]), lose(1)).condition
    assert not only(cluster(one), lose(1, 2)).condition


def test_the_elr_is_told_as_with_one_where_min_isr_is_not_known():
    found = only(cluster(unknown(1, 2, 3), has_elr=True), lose(3))
    assert found.after.elr == ()
    assert found.condition.endswith("ELR and promotions are as with 1.")


# Entries of an ELR, as the controller of Kafka 4.3.1 treats them (seen on a lab, see tests/live)


def registered(found):
    state = found.after
    return state.leader, state.isr, state.elr, state.last_known_elr


@pytest.mark.parametrize(
    ("one", "steps", "wanted"),
    [
        (partition(2, isr=(), elr=(2,), last_known_elr=(2,)), [Return(frozenset({2}))], (2, (2,), (), (2,))),
        (partition(2, isr=(), elr=(2,), last_known_elr=(2,)), [lose()], (None, (), (2,), (2,))),
        (partition(1, 2, isr=(1,), elr=(2,)), [Return(frozenset({2}))], (1, (1, 2), (), ())),
        (partition(1, 2, 3, isr=(1, 3), elr=(2,)), [lose(3)], (1, (1,), (), ())),
        (partition(1, 2, isr=(1,), elr=(2,)), [lose(3)], (1, (1,), (2,), ())),
    ],
    ids=["leads when it returns", "stays while nothing changes", "joins", "another leaves", "an uninvolved loss"],
)  # fmt: skip
def test_entries_that_are_left_when_the_elr_is_off(one, steps, wanted):
    model = cluster(one)
    for id_ in {2} - {*one.isr}:
        brokers = {**model.brokers}
        brokers[id_] = type(brokers[id_])(id_, is_alive=False)
        model = type(model)(brokers, model.partitions)
    assert registered(only(model, *steps)) == wanted


def test_the_last_known_leader_is_the_first_one_until_there_is_a_leader():
    both = partition(1, 2, min_insync_replicas=2)
    model = cluster(both, has_elr=True)
    crashed = [lose(2), lose(1), Return(frozenset({2})), lose(2), Return(frozenset({1}))]
    *_, alone, gone, led = [step.partitions[0] for step in simulate(model, crashed).steps]
    assert registered(alone) == (None, (), (1,), (1,))
    assert registered(gone) == (None, (), (1,), (1,))
    assert registered(led) == (1, (1,), (), ())


def test_a_last_known_leader_that_is_there_already_stays():
    model = cluster(partition(1, 2, isr=(1,), last_known_elr=(2,)), has_elr=True)
    assert registered(only(model, lose(1))) == (None, (), (1,), (2,))


def test_a_partition_that_had_no_leader_leaves_none_known():
    one = partition(1, isr=(1,), leader=None)
    model = cluster(one, has_elr=True)
    brokers = {**model.brokers, 1: type(model.brokers[1])(1, is_alive=False)}
    model = type(model)(brokers, model.partitions, has_elr=True)
    assert registered(only(model, Return(frozenset({1})))) == (None, (), (), ())


MORE = {"topic": "t", "replicas": [1, 2], "min_insync_replicas": 3}


@pytest.mark.parametrize(
    ("document", "writable", "words"),
    [
        pytest.param({}, True, ": writable, brokers before Kafka 3.7 refuse", id="the newest is meant"),
        pytest.param({"limits_min_isr": False}, False, "", id="an older one is meant"),
        pytest.param({"limits_min_isr": None}, None, ": unknown, brokers before", id="not known"),
        pytest.param(
            {"voters_offset": 1, "features": {"metadata.version": 14}}, None, ": unknown", id="log of 3.6"
        ),
        pytest.param(
            {"voters_offset": 1, "features": {"metadata.version": 15}}, True, ": writable", id="log of 3.7"
        ),
    ],
)  # fmt: skip
def test_more_min_isr_than_replicas_is_judged_by_the_kafka_that_is_meant(document, writable, words):
    model = ClusterModel.from_json({"brokers": [1, 2, 3], "partitions": [MORE], **document})
    assert ClusterModel.from_json(model.to_json()).partitions == model.partitions
    found = only(model, lose(3))
    assert found.after.is_writable is writable
    assert found.after.severity is (Severity.UNDER_MIN_ISR if writable is False else Severity.OK)
    assert words in found.condition
    sums = matrix(alike_partitions(model), [lose(3)]).columns[0].cluster
    assert (sums.unknown, sums.unwritable) == (writable is None, writable is False)
