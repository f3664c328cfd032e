"""What becomes of partitions and quorum when nodes are lost and come back, beyond Confluent's own cases."""

import pytest

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.status.severity import Severity
from jobs.availability.what_if.model.cluster import ClusterModel, ControllerModel
from jobs.availability.what_if.outcome import Promoter, RiskCode
from jobs.availability.what_if.simulation import (
    Loss,
    PreferredElection,
    Return,
    UncleanElection,
    UnknownTarget,
    simulate,
)
from tests.jobs.availability.clusters import cluster, lose, partition

UNDER_MIN_ISR = PromotionPolicy.UNDER_MIN_ISR


def back(*brokers, is_clean=False, controllers=()):
    return Return(frozenset(brokers), controllers=frozenset(controllers), is_clean=is_clean)


def last(model, *steps):
    """Return the first partition after the last step."""
    return simulate(model, steps).steps[-1].partitions[0]


def registered(outcome):
    state = outcome.after
    return state.leader, state.isr, state.elr, state.last_known_elr


# Losses on plain Kafka


@pytest.mark.parametrize(
    ("least", "lost", "leader", "isr", "severity"),
    [
        pytest.param(2, [], 1, (1, 2, 3), Severity.OK, id="nothing"),
        pytest.param(2, [3], 1, (1, 2), Severity.AT_MIN_ISR, id="a follower"),
        pytest.param(1, [3], 1, (1, 2), Severity.UNDER_REPLICATED, id="a follower, with one to spare"),
        pytest.param(2, [1], 2, (2, 3), Severity.AT_MIN_ISR, id="the leader"),
        pytest.param(2, [1, 2], 3, (3,), Severity.UNDER_MIN_ISR, id="the leader and a follower"),
        pytest.param(1, [1, 2], 3, (3,), Severity.AT_MIN_ISR, id="all but one, which is enough"),
        pytest.param(2, [1, 2, 3], None, (3,), Severity.OFFLINE, id="all: the last one stays"),
        pytest.param(9, [], 1, (1, 2, 3), Severity.OK, id="more asked for than there are replicas"),
    ],
)  # fmt: skip
def test_a_loss_on_plain_kafka(least, lost, leader, isr, severity):
    state = last(cluster(partition(1, 2, 3, min_insync_replicas=least)), lose(*lost)).after
    assert (state.leader, state.isr, state.severity) == (leader, isr, severity)
    assert state.is_writable is (severity < Severity.UNDER_MIN_ISR)


def test_a_follower_that_lags_does_not_fill_up_the_isr():
    model = cluster(partition(1, 2, 3, isr=(1, 2), min_insync_replicas=2))
    found = last(model, lose(1))
    assert (found.after.leader, found.after.isr) == (2, (2,))
    assert not found.after.is_writable


def test_an_unclean_election_happens_by_itself_where_the_topic_allows_it():
    model = cluster(partition(1, 2, 3, isr=(1,), is_unclean_allowed=True, lag_records={2: 7, 3: 2}))
    found = last(model, lose(1))
    assert (found.after.leader, found.after.isr) == (2, (2, 3))
    assert (found.data_at_risk.code, found.data_at_risk.records) == (RiskCode.UNCLEAN, 7)


def test_where_it_is_not_allowed_it_must_be_asked_for():
    model = cluster(partition(1, 2, isr=(1,), lag_records={2: 7}))
    found = last(model, lose(1))
    assert found.after.leader is None
    assert found.needs_unclean
    assert (found.data_at_risk.code, found.data_at_risk.records) == (RiskCode.WAITING, 7)
    assert "an unclean election of broker 2 loses 7 records" in found.data_at_risk.sentence
    assert last(model, lose(1), UncleanElection("orders")).after.leader == 2


def test_an_unclean_election_of_another_topic_changes_nothing():
    model = cluster(partition(1, 2, isr=(1,)), partition(3, topic="payments"))
    assert last(model, lose(1), UncleanElection("payments")).after.leader is None


@pytest.mark.parametrize(
    ("lost", "code"),
    [
        pytest.param([], RiskCode.NONE, id="all in sync"),
        pytest.param([1], RiskCode.EXPOSED, id="one copy of new records"),
        pytest.param([1, 2], RiskCode.LOST, id="no copy alive"),
    ],
)
def test_the_risk_of_acknowledged_records(lost, code):
    assert last(cluster(partition(1, 2)), lose(*lost)).data_at_risk.code is code


def test_below_min_isr_nothing_more_is_acknowledged_so_nothing_is_exposed():
    found = last(cluster(partition(1, 2, min_insync_replicas=2)), lose(1))
    assert found.data_at_risk.code is RiskCode.NONE


# Eligible leader replicas (KIP-966)


def test_who_leaves_below_min_isr_becomes_eligible():
    model = cluster(partition(1, 2, 3, min_insync_replicas=2), has_elr=True)
    assert registered(last(model, lose(1, 2))) == (3, (3,), (2,), ())


def test_at_min_isr_nobody_is_eligible():
    model = cluster(partition(1, 2, 3, min_insync_replicas=2), has_elr=True)
    assert registered(last(model, lose(1))) == (2, (2, 3), (), ())


def test_an_empty_isr_leaves_the_last_leader_known():
    model = cluster(partition(1, 2, min_insync_replicas=2), has_elr=True)
    assert registered(last(model, lose(1, 2))) == (None, (), (1, 2), (2,))


def test_an_eligible_replica_that_lives_is_elected_alone():
    model = cluster(
        partition(1, 2, 3, isr=(1,), elr=(3,), min_insync_replicas=2, lagging=(2, 3)), has_elr=True
    )
    assert registered(last(model, lose(1))) == (3, (3,), (1,), ())


def test_an_eligible_replica_that_was_stopped_in_order_leads_when_it_returns():
    model = cluster(partition(1, 2, min_insync_replicas=2), has_elr=True)
    found = last(model, lose(1, 2), back(2, is_clean=True))
    assert registered(found) == (2, (2,), (1,), ())
    assert found.data_at_risk.code is RiskCode.NONE


def test_an_eligible_replica_that_crashed_is_no_longer_eligible_when_it_returns():
    """Measured: it leaves the ELR when it registers again."""
    model = cluster(partition(1, 2, min_insync_replicas=2), has_elr=True)
    assert registered(last(model, lose(1, 2), back(1))) == (None, (), (2,), (2,))


def test_the_last_known_leader_leads_when_nobody_is_eligible_any_more():
    model = cluster(partition(1, 2, min_insync_replicas=2), has_elr=True)
    found = last(model, lose(1, 2), back(1), back(2))
    assert registered(found) == (2, (1, 2), (), ())
    assert found.data_at_risk.code is RiskCode.UNCLEAN
    assert "led last and came back after a crash" in found.data_at_risk.sentence


def test_without_elr_the_last_member_of_the_isr_leads_when_it_returns():
    model = cluster(partition(1, 2, min_insync_replicas=2))
    assert registered(last(model, lose(1, 2), back(1))) == (None, (2,), (), ())
    assert registered(last(model, lose(1, 2), back(2))) == (2, (2,), (), ())


def test_who_returns_catches_up_and_a_preferred_election_gives_it_the_lead_back():
    model = cluster(partition(1, 2, 3))
    assert registered(last(model, lose(1), back(1)))[:2] == (2, (1, 2, 3))
    assert last(model, lose(1), back(1), PreferredElection()).after.leader == 1


# The quorum


def quorum_of_two_sites():
    """Brokers and voters 1, 2 in west, 3 in east: west holds the majority."""
    racks = {1: "west", 2: "west", 3: "east"}
    return cluster(
        partition(3, 1, 2, min_insync_replicas=1),
        partition(1, 3, number=1),
        partition(3, number=2),
        racks=racks,
        voters=[1, 2, 3],
        has_elr=True,
    )


def test_without_a_majority_no_isr_changes_and_only_living_leaders_go_on():
    answer = simulate(quorum_of_two_sites(), [Loss(racks=frozenset({"west"}))])
    assert not answer.quorum.has_majority
    assert [registered(one)[:2] for one in answer.overall] == [
        (3, (3, 1, 2)),
        (None, (1, 3)),
        (3, (3,)),
    ]


def test_without_a_majority_a_dead_member_of_the_isr_stops_writes_with_acks_all():
    answer = simulate(quorum_of_two_sites(), [Loss(racks=frozenset({"west"}))])
    assert [one.after.is_writable for one in answer.overall] == [False, False, True]
    assert [one.after.severity for one in answer.overall] == [
        Severity.UNDER_MIN_ISR,
        Severity.OFFLINE,
        Severity.OK,
    ]
    assert answer.overall[1].data_at_risk.code is RiskCode.WAITING
    assert not answer.overall[1].needs_unclean


def test_with_controllers_back_everything_that_had_to_wait_happens():
    steps = [Loss(racks=frozenset({"west"})), back(controllers=[1])]
    found = simulate(quorum_of_two_sites(), steps)
    assert found.quorum.has_majority
    # Node 1 is broker and controller: it comes back as both.
    assert found.overall[0].after.leader == 3


def test_controllers_of_their_own_come_back_alone():
    model = cluster(partition(3, 1, min_insync_replicas=1), voters=[101, 102, 103])
    steps = [lose(1, controllers=[101, 102]), back(controllers=[101])]
    assert [one.partitions[0].after.isr for one in simulate(model, steps).steps] == [(3, 1), (3,)]


def test_a_broker_that_returns_without_a_quorum_serves_nothing():
    model = cluster(partition(1, 2), voters=[101])
    found = last(model, lose(1, 2, controllers=[101]), back(1, 2))
    assert found.after.leader is None


def test_the_quorum_says_which_failure_would_end_it():
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}
    model = cluster(racks=racks, voters=[1, 2, 3, 4, 5])
    quorum = simulate(model, [lose(5)]).quorum
    assert (quorum.failures_tolerated, quorum.deadly_racks, quorum.deadly_nodes) == (
        1,
        ("a", "b"),
        (),
    )
    bare = simulate(model, [lose(4, 5)]).quorum
    assert (bare.failures_tolerated, bare.deadly_nodes) == (0, (1, 2, 3))
    assert bare.sentence == "3 of 5 voters alive, 3 needed: failures tolerated: 0."


def test_voters_that_are_not_known_are_taken_for_alive():
    quorum = simulate(cluster(partition(1)), [lose(1)]).quorum
    assert (quorum.voters, quorum.has_majority) == (0, True)


def test_a_voter_without_a_rack_stands_where_the_broker_with_its_id_does():
    model = ClusterModel(cluster(partition(1)).brokers, (), (ControllerModel(1),))
    assert not simulate(model, [Loss(racks=frozenset({"west"}))]).quorum.has_majority


# Observers


def observed(**facts):
    return partition(
        1, 2, 3, 4, observers=(3, 4), min_insync_replicas=2,
        **{"policy": UNDER_MIN_ISR, **facts},
    )  # fmt: skip


def test_brokers_that_know_observers_demote_them_when_the_isr_is_whole_again():
    model = cluster(observed(), promotes_itself=True)
    found = last(model, lose(1), back(1))
    assert found.after.isr == (1, 2)
    assert found.demoted == (4,)


def test_an_observer_that_leads_stays_until_a_preferred_election():
    model = cluster(observed(), promotes_itself=True)
    steps = [lose(1), lose(2), back(1), back(2)]
    assert registered(last(model, *steps))[:2] == (4, (1, 2, 4))
    assert registered(last(model, *steps, PreferredElection()))[:2] == (1, (1, 2))


def test_an_observer_that_lags_is_not_promoted():
    model = cluster(observed(lagging=(3, 4)), promotes_itself=True)
    assert last(model, lose(1)).after.isr == (2,)


def test_of_several_observers_that_comes_which_lags_least():
    model = cluster(observed(lag_records={4: 9, 3: 1}), promotes_itself=True)
    found = last(model, lose(1))
    assert found.after.isr == (2, 3)
    assert found.promoted == (3,)
    assert found.promoter is Promoter.BROKER


def test_without_a_majority_nobody_is_promoted():
    model = cluster(observed(), promotes_itself=True, voters=[101])
    assert last(model, lose(1, controllers=[101])).after.isr == (1, 2)


def test_on_plain_kafka_a_placement_alone_keeps_nobody_out_of_the_isr():
    found = last(cluster(observed(isr=(1, 2, 3, 4))), lose(1))
    assert found.after.isr == (2, 3, 4)
    assert found.promoter is Promoter.NONE


# Fenced standby brokers of plain Kafka


def with_standbys(*partitions, **facts):
    return cluster(*partitions, standby=(3, 4), **facts)


def test_a_fenced_standby_is_no_leader_and_not_in_the_isr():
    found = last(with_standbys(observed()), lose(1, 2))
    assert (found.after.leader, found.after.isr) == (None, (2,))
    assert "unfence standby broker 3, then an unclean election" in found.data_at_risk.sentence


def test_nobody_promotes_a_standby_where_crosslog_was_not_asked_to():
    found = last(with_standbys(observed()), lose(1))
    assert (found.after.isr, found.promoter) == ((2,), Promoter.NONE)


def test_crosslog_promotes_a_standby_where_it_was_asked_to():
    found = last(with_standbys(observed(is_acted_on=True)), lose(1))
    assert (found.after.isr, found.promoter, found.promoted) == ((2, 4), Promoter.CROSSLOG, (4,))
    assert found.after.is_writable


def test_a_standby_is_promoted_as_a_whole():
    other = partition(2, 4, number=1)
    model = with_standbys(observed(is_acted_on=True), replace_isr(other, (2,)))
    step = simulate(model, [lose(1)]).steps[-1]
    assert [one.after.isr for one in step.partitions] == [(2, 4), (2, 4)]


def replace_isr(one, isr):
    return partition(*one.replicas, number=one.partition, isr=isr)


def test_the_standby_is_demoted_when_the_isr_is_whole_again():
    found = last(with_standbys(observed(is_acted_on=True)), lose(1), back(1))
    assert (found.after.isr, found.demoted) == ((1, 2), (4,))


def test_a_standby_that_is_the_only_one_left_is_not_demoted():
    """Partition 0 is whole again, partition 1 has only the standby."""
    alone = partition(2, 4, number=1, isr=(2,))
    model = with_standbys(observed(is_acted_on=True), alone)
    step = simulate(model, [lose(1), lose(2), back(1)]).steps[-1]
    assert step.partitions[1].after.isr == (4,)


def test_after_the_loss_of_all_sync_replicas_crosslog_unfences_one_for_the_election():
    model = with_standbys(observed(is_acted_on=True))
    found = last(model, lose(1, 2), UncleanElection())
    assert found.after.leader in {3, 4}
    assert found.data_at_risk.code is RiskCode.UNCLEAN


# Stories


def test_losses_that_follow_each_other_are_another_story_than_one_at_once():
    model = cluster(observed(), promotes_itself=True)
    assert last(model, lose(1), lose(2)).after.leader == 4
    assert last(model, lose(1, 2)).after.leader is None


def test_the_answer_tells_each_partition_from_the_first_to_the_last():
    answer = simulate(cluster(observed(), promotes_itself=True), [lose(1), lose(2)])
    (found,) = answer.overall
    assert (found.before.isr, found.after.isr) == ((1, 2), (3, 4))
    assert found.promoted == (3, 4)
    assert not answer.does_harm


def test_sums_are_by_topic_and_for_all():
    model = cluster(partition(1, 2, min_insync_replicas=2), partition(3, topic="payments"))
    (step,) = simulate(model, [lose(1)]).steps
    assert {name: one.unwritable for name, one in step.topics.items()} == {
        "orders": 1,
        "payments": 0,
    }
    assert (step.cluster.unwritable, step.cluster.became_unwritable) == (1, 1)
    assert step.cluster.worst is Severity.UNDER_MIN_ISR


@pytest.mark.parametrize(
    ("step", "path", "sentence"),
    [
        (lose(9), "steps[0].brokers", "Unknown broker: 9. Brokers: 1, 2, 3, 4."),
        (
            lose(racks=["mars"]),
            "steps[0].racks",
            "Nothing is in rack mars; racks are east, west.",
        ),
        (
            lose(controllers=[7]),
            "steps[0].controllers",
            "Unknown voter: 7. Voters: not known.",
        ),
        (UncleanElection("nowhere"), "steps[0].topic", "Unknown topic: nowhere."),
    ],
    ids=["broker", "rack", "controller", "topic"],
)
def test_what_is_not_there_is_refused_at_its_field(step, path, sentence):
    with pytest.raises(UnknownTarget) as refused:
        simulate(cluster(partition(1)), [step])
    assert refused.value.problems == {path: sentence}
