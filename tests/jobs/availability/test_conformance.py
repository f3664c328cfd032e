"""Every case of `placements`: Confluent's tutorial step by step, and the rules as properties."""

import json
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jobs.availability.placements.placement import (
    InvalidPlacement,
    Placement,
    PromotionPolicy,
    RackCount,
    check_placement,
    parse_placement,
)
from jobs.availability.what_if.model.cluster import BrokerModel, ClusterModel, ControllerModel
from jobs.availability.what_if.model.scenario_json import steps_of
from jobs.availability.what_if.model.topics import placed_replicas
from jobs.availability.what_if.simulation import Loss, UncleanElection, simulate
from tests.jobs.availability.clusters import RACKS, cluster, lose, partition
from tests.support import CONFORMANCE, conformance_cases

FILE = "placements"
AUTOMATIC = (PromotionPolicy.UNDER_MIN_ISR, PromotionPolicy.UNDER_REPLICATED)


@pytest.mark.parametrize("case", conformance_cases(FILE, "simulation"))
def test_each_step_ends_as_the_source_says(case):
    answer = simulate(ClusterModel.from_json(case), steps_of(case))
    for told, step in zip(case["steps"], answer.steps, strict=True):
        (found,) = step.partitions
        seen = {
            "leader": found.after.leader,
            "isr": set(found.after.isr),
            "observers_in_isr": len(found.after.observers_in_isr),
            "writable": found.after.is_writable,
        }
        expected = {name: one for name, one in told["expected"].items() if name in seen}
        if "isr" in expected:
            expected["isr"] = set(expected["isr"])
        assert {name: seen[name] for name in expected} == expected


@pytest.mark.parametrize("case", conformance_cases(FILE, "simulation"))
def test_the_effective_policy_and_the_replication_factor_are_those_of_the_source(case):
    placement = parse_placement(case["placement"])
    assert placement.replication_factor == case["replication_factor"]
    assert placement.policy == (case["effective_policy"] or PromotionPolicy.LEADER_IS_OBSERVER)


def test_the_whole_file_is_read_as_one_cluster():
    model = ClusterModel.from_json(
        json.loads((CONFORMANCE / FILE / "cases.json").read_text("utf-8"))
    )
    assert len(model.partitions) == len(conformance_cases(FILE, "simulation"))
    assert set(model.brokers) == {1, 2, 3, 4, 11, 12, 21, 22}


# rule-v1: version 1 always acts as leader-is-observer; the default of version 2 is under-min-isr.


@pytest.mark.parametrize(
    ("version", "policy"),
    [(1, PromotionPolicy.LEADER_IS_OBSERVER), (2, PromotionPolicy.UNDER_MIN_ISR)],
)
def test_each_version_has_its_default_policy(version, policy):
    entry = {"count": 1, "constraints": {"rack": "a"}}
    assert parse_placement({"version": version, "replicas": [entry]}).policy is policy


def test_version_1_refuses_a_policy():
    entry = {"count": 1, "constraints": {"rack": "a"}}
    with pytest.raises(InvalidPlacement) as refused:
        parse_placement(
            {"version": 1, "replicas": [entry], "observerPromotionPolicy": "under-min-isr"}
        )
    assert list(refused.value.problems) == ["observerPromotionPolicy"]


# Generated placements: so many replicas and observers per rack, on just enough brokers or some more.


@st.composite
def placements(draw, policies=tuple(PromotionPolicy)):
    counts = st.dictionaries(st.sampled_from(RACKS), st.integers(1, 3), max_size=3)
    replicas = draw(counts.filter(bool))
    return Placement(
        version=2,
        replicas=tuple(RackCount(*one) for one in replicas.items()),
        observers=tuple(RackCount(*one) for one in draw(counts).items()),
        policy=draw(st.sampled_from(policies)),
    )


def placed(placement, min_insync_replicas, *, spare=0, **facts):
    """Return a cluster whose one partition matches its placement, and the loss of each rack."""
    racks, id_ = {}, 0
    for rack in placement.racks:
        for _ in range(sum(placement.wanted(rack)) + spare):
            id_ += 1
            racks[id_] = rack
    replicas = placed_replicas(placement, racks)
    model = partition(
        *replicas,
        observers=replicas[placement.sync_count :],
        policy=placement.policy,
        sync_count=placement.sync_count,
        min_insync_replicas=min_insync_replicas,
        **facts,
    )
    return cluster(model, racks=racks, promotes_itself=True)


def after(model, *steps):
    return simulate(model, steps).steps[-1].partitions[0]


# rule-racks: brokers per rack >= replicas + observers of that rack.


@given(placements(), st.dictionaries(st.integers(1, 20), st.sampled_from([*RACKS, None])))
def test_a_cluster_holds_a_placement_when_each_rack_has_brokers_enough(placement, racks):
    here = Counter(racks.values())
    fits = all(here[rack] >= sum(placement.wanted(rack)) for rack in placement.racks)
    assert (not check_placement(placement, racks)) is fits


# rule-promote


@given(placements(AUTOMATIC), st.integers(1, 6), st.data())
def test_observers_come_until_the_policy_is_content_and_not_before(placement, least, data):
    model = placed(placement, least)
    replicas = model.partitions[0].replicas
    sync = replicas[: placement.sync_count]
    gone = data.draw(st.lists(st.sampled_from(replicas), unique=True))
    assume(set(sync) - set(gone))  # rule-all-sync-die is about the others
    state = after(model, lose(*gone)).after
    target = min(least, len(replicas))
    if placement.policy is PromotionPolicy.UNDER_REPLICATED:
        target = placement.sync_count
    alive = len(set(sync) - set(gone))
    observers = len(set(replicas) - set(sync) - set(gone))
    assert len(state.observers_in_isr) == min(max(0, target - alive), observers)


@given(placements((PromotionPolicy.LEADER_IS_OBSERVER,)), st.integers(1, 4), st.data())
def test_with_leader_is_observer_nobody_comes_before_an_unclean_election(placement, least, data):
    model = placed(placement, least)
    gone = data.draw(st.sets(st.sampled_from(model.partitions[0].replicas)))
    assert not after(model, lose(*gone)).after.observers_in_isr


# rule-all-sync-die


@given(placements(), st.integers(1, 4))
def test_without_sync_replicas_there_is_no_leader_until_an_unclean_election(placement, least):
    model = placed(placement, least)
    replicas = model.partitions[0].replicas
    loss = lose(*replicas[: placement.sync_count])
    lost = after(model, loss)
    assert (lost.after.leader, lost.after.is_writable) == (None, False)
    assert lost.needs_unclean is bool(placement.observers)
    elected = after(model, loss, UncleanElection())
    assert (elected.after.leader is not None) is bool(placement.observers)
    if placement.observers:
        assert elected.after.leader in replicas[placement.sync_count :]
        assert elected.data_at_risk.code == "unclean"


# rule-sizing


@given(placements(), st.integers(1, 6), st.data())
def test_no_acknowledged_record_is_lost_with_a_site_iff_min_isr_exceeds_its_replicas(
    placement, least, data
):
    """RPO 0 must hold for every ISR with which acks=all still works, also one that shrank to the site."""
    model = placed(placement, least)
    (one,) = model.partitions
    effective = min(least, len(one.replicas))
    assume(effective <= placement.sync_count)
    site = data.draw(st.sampled_from([one.rack for one in placement.replicas]))
    sync = one.replicas[: placement.sync_count]
    inside = [id_ for id_ in sync if model.racks[id_] == site]
    outside = [id_ for id_ in sync if id_ not in inside]
    shrunk = [*inside, *outside][: max(effective, len(inside))]
    worst = partition(
        *sync, isr=tuple(id_ for id_ in sync if id_ in shrunk), min_insync_replicas=effective
    )
    story = after(cluster(worst, racks=model.racks), Loss(racks=frozenset({site})))
    assert story.before.is_writable
    assert (story.after.leader is not None) is (effective > len(inside))


@given(placements((PromotionPolicy.UNDER_MIN_ISR,)), st.integers(1, 6), st.data())
def test_a_topic_stays_writable_iff_the_other_sites_have_min_isr(placement, least, data):
    model = placed(placement, least)
    site = data.draw(st.sampled_from(placement.racks))
    rest = [placement.wanted(rack) for rack in placement.racks if rack != site]
    assume(sum(sync for sync, _ in rest))  # somebody in sync must live to promote others
    has_enough = min(least, placement.replication_factor) <= sum(map(sum, rest))
    assert after(model, Loss(racks=frozenset({site}))).after.is_writable is has_enough


@given(st.integers(1, 9), st.data())
def test_a_quorum_lives_on_with_half_of_its_voters_and_one(count, data):
    voters = tuple(ControllerModel(100 + number) for number in range(count))
    gone = data.draw(st.frozensets(st.sampled_from([one.node_id for one in voters])))
    model = ClusterModel(
        {1: BrokerModel(1), 2: BrokerModel(2)},
        (partition(1, 2, min_insync_replicas=2),),
        voters,
    )
    loss = Loss(brokers=frozenset({1}), controllers=gone)
    answer = simulate(model, [loss])
    lives = count - len(gone) >= count // 2 + 1
    assert answer.quorum.has_majority is lives
    (found,) = answer.overall
    assert found.after.isr == ((2,) if lives else (1, 2))
    assert found.after.leader == (2 if lives else None)
