"""A cluster as the rules take it: from rows now, from the metadata log then, in units and whole."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from console.availability.placements.placements import CONFIG, PlacementRules, Proposed
from console.availability.status.models import AvailabilityRound, PartitionStatus
from console.availability.what_if.cluster_models import (
    classes_of,
    cluster_model,
    seen_cluster,
    whole_model,
)
from console.availability.what_if.cluster_snapshots import (
    ClusterSnapshot,
    PartitionClass,
    TopicFacts,
    pack,
    unpack,
)
from console.availability.what_if.simulation import simulate_snapshot
from console.availability.what_if.snapshot_reader import UnknownMoment, read_now
from console.clusters.models import Partition
from console.quorum.models import Kind
from jobs.availability.placements.placement import parse_placement
from jobs.availability.what_if.model.cluster import BrokerModel, ControllerModel
from jobs.availability.what_if.outcome import count_outcomes, quorum_outlook
from jobs.availability.what_if.simulation import simulate
from jobs.availability.what_if.steps import Loss, Return, UncleanElection
from tests.console.availability.placed_world import (
    document,
    make_placed,
    make_rule,
    make_sites,
)
from tests.console.making import NOW, make_cluster
from tests.console.quorum.making import (
    make_change,
    make_log,
    make_quorum,
    make_status,
    make_subject,
    replica,
)

OBSERVED = document({"west": 2}, {"east": 1}, "under-min-isr")


# --- now ----------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_the_model_has_what_was_collected():
    cluster = make_sites()
    make_quorum(cluster)
    make_placed(cluster, "orders", [1, 2, 3], [1, 2], partitions=2)
    make_rule(cluster, "orders", OBSERVED)
    model = cluster_model(cluster)
    assert {one.broker_id: one.rack for one in model.brokers.values()} == {
        1: "west", 2: "west", 3: "east", 4: "east", 5: "north",
    }  # fmt: skip
    assert [one.node_id for one in model.voters] == [1, 2, 3]
    assert [one.rack for one in model.voters] == ["west", "west", "east"]
    first, second = model.partitions
    assert (first.topic, first.partition, second.partition) == ("orders", 0, 1)
    assert (first.leader, first.isr, first.replicas) == (1, (1, 2), (1, 2, 3))
    assert (first.observers, first.sync_count) == ((3,), 2)
    assert (first.min_insync_replicas, first.policy.value) == (2, "under-min-isr")


@pytest.mark.django_db
def test_brokers_that_bring_placements_promote_by_themselves():
    cluster = make_sites()
    make_placed(cluster, "clicks", [1, 2])
    assert not cluster_model(cluster).promotes_itself
    make_placed(cluster, "orders", [1, 2], configs={CONFIG: json.dumps(OBSERVED)})
    assert cluster_model(cluster).promotes_itself


@pytest.mark.django_db
def test_a_fenced_broker_that_follows_the_metadata_log_stands_by():
    cluster = make_sites()
    cluster.brokers.filter(broker_id__in=[4, 5]).update(is_live=False)
    log = make_log(cluster)
    make_status(log, replicas=[replica(1, "leader"), replica(4, "observer")])
    for number in (4, 5):
        broker = make_subject(log, Kind.BROKER, str(number), 5, broker=number)
        make_change(broker, 5 + number, 100, {"is_fenced": True, "rack": "east"})
    brokers = cluster_model(cluster).brokers
    assert (brokers[4].is_alive, brokers[4].is_standby) == (True, True)
    assert (brokers[5].is_alive, brokers[5].is_standby) == (False, False)


@pytest.mark.django_db
def test_what_is_not_known_is_said():
    cluster = make_sites("bare", {1: "", 2: "west"})
    make_placed(cluster, "orders", [1, 2], min_insync_replicas=None)
    told = " ".join(seen_cluster(cluster).gaps)
    for words in ("metadata log is not followed", "The quorum is not collected",
                  "min.insync.replicas of 1 topics is not known",
                  "unclean.leader.election.enable of 1 topics is not known, such as orders", "The rack of broker 1 is unknown"):  # fmt: skip
        assert words in told
    assert cluster_model(cluster).partitions[0].min_insync_replicas is None


@pytest.mark.django_db
@pytest.mark.parametrize("is_followed", [True, False], ids=["statuses", "topics of the rounds"])
def test_what_a_reassignment_adds_and_removes_is_in_the_model(is_followed):
    cluster = make_sites()
    make_placed(cluster, "orders", [1, 2, 3, 4], partitions=2)
    make_placed(cluster, "unknown", [1, 2])
    if not is_followed:
        AvailabilityRound.objects.all().delete()
    for rows, topic in ((PartitionStatus.objects, "topic"), (Partition.objects, "topic__name")):
        rows.filter(**{topic: "orders"}).update(adding=[4], removing=[3])
        rows.filter(**{topic: "unknown"}).update(adding=None)
    seen = seen_cluster(cluster)
    first, _, unknown = seen.model.partitions
    assert (first.adding, first.removing, unknown.adding) == ((4,), (3,), None)
    assert "1 partitions are under-replicated, or being reassigned: not known." in " ".join(
        seen.gaps
    )
    again = unpack(pack(read_now(cluster))[0], (), None)
    assert again is not None
    assert list(again.classes) == list(read_now(cluster).classes)


@pytest.mark.django_db
def test_a_cluster_that_was_never_seen_is_empty():
    seen = seen_cluster(make_cluster("new"))
    assert (list(seen.model.partitions), seen.seen_at) == ([], None)


@pytest.mark.django_db
def test_a_model_takes_as_many_queries_whatever_the_cluster():
    cluster = make_sites()
    make_quorum(cluster)
    make_placed(cluster, "orders", [1, 2, 3])

    def count():
        with CaptureQueriesContext(connection) as captured:
            cluster_model(cluster)
        return len(captured)

    few = count()
    for number in range(30):
        make_placed(cluster, f"t-{number}", [1, 2, 3], partitions=10)
    assert count() == few <= 14


@pytest.mark.django_db
def test_a_proposed_placement_draws_replicas_up_anew():
    cluster = make_sites()
    make_placed(cluster, "orders", [1, 2], partitions=2)
    told = parse_placement(document({"west": 1, "east": 1}, {"north": 1}, "under-min-isr"))
    proposed = [Proposed("exact", "orders", told, 1)]
    first, second = cluster_model(cluster, proposed=proposed).partitions
    assert sorted(first.replicas[:2]) == [1, 3]
    assert first.replicas[2:] == (5,) == first.observers
    assert first.isr == first.replicas[:2]
    assert second.leader != first.leader
    assert (first.min_insync_replicas, first.sync_count) == (1, 2)


# --- then ---------------------------------------------------------------------------------------
@pytest.fixture
def past(db):
    """orders-0 on brokers 1, 2, 3, of which 3 was fenced 700 s ago; min.insync.replicas 2 since 300 s."""
    cluster = make_sites()
    log = make_quorum(cluster)
    broker = make_subject(log, Kind.BROKER, "1", 5, broker=1)
    make_change(broker, 6, 2600, {"is_fenced": False, "rack": "west"})
    make_placed(cluster, "orders", [1, 2, 3], [1, 2, 3], min_insync_replicas=1)
    return cluster


@pytest.mark.parametrize(
    ("seconds", "isr", "elr", "least", "is_alive"),
    [(1000, (1, 2, 3), (), 1, True), (650, (1, 2), (3,), 1, False), (200, (1, 2), (3,), 2, False)],
    ids=["before", "after the fencing", "after the setting"],
)
def test_a_moment_of_the_past_is_what_the_log_says(past, seconds, isr, elr, least, is_alive):
    model = cluster_model(past, NOW - timedelta(seconds=seconds))
    (one,) = model.partitions
    assert (one.isr, one.elr, one.min_insync_replicas) == (isr, elr, least)
    assert model.brokers[3].is_alive is is_alive
    assert model.brokers[3].rack == "dc-c"


def test_what_a_log_cannot_tell_of_the_past_is_said(past):
    told = " ".join(seen_cluster(past, NOW - timedelta(seconds=1000)).gaps)
    assert "The log does not record which controllers were alive" in told
    assert "The log has no min.insync.replicas of 1 topics" in told


def test_voters_of_the_past_are_those_of_then(past):
    now = cluster_model(past, NOW - timedelta(seconds=100)).voters
    then = cluster_model(past, NOW - timedelta(seconds=1400)).voters
    assert [one.node_id for one in now] == [1, 2, 3]
    assert [one.node_id for one in then] == [1, 2]


@pytest.mark.parametrize("alias", ["east", "west"])
def test_a_moment_that_nobody_knows_is_refused(past, alias):
    cluster = past if alias == "east" else make_sites("west")
    with pytest.raises(UnknownMoment, match=r"before the known range|no metadata log"):
        cluster_model(cluster, NOW - timedelta(days=400))


# --- units --------------------------------------------------------------------------------------
BROKERS = [BrokerModel(n, rack) for n, rack in enumerate("aabbc", start=1)]
VOTERS = [ControllerModel(n, rack) for n, rack in ((1, "a"), (3, "b"), (5, "c"))]


@st.composite
def classes(draw):
    replicas = draw(st.permutations([1, 2, 3, 4, 5]).map(lambda found: tuple(found[:3])))
    isr = tuple(one for one in replicas if draw(st.booleans()))
    leader = draw(st.sampled_from(isr)) if isr else None
    return PartitionClass(replicas, isr, leader)


@st.composite
def pictures(draw):
    found = draw(st.lists(classes(), min_size=1, max_size=5))
    numbers = st.lists(st.integers(0, len(found) - 1), min_size=1, max_size=6)
    topics = [
        TopicFacts(
            f"t{n}", draw(st.sampled_from([None, 1, 2, 3])), draw(st.booleans()), "",
            range(len(chosen)), chosen,
        )
        for n, chosen in enumerate(draw(st.lists(numbers, max_size=4)))
    ]  # fmt: skip
    return ClusterSnapshot(BROKERS, VOTERS, draw(st.booleans()), found, topics)


STEPS = st.lists(
    st.sampled_from([
        Loss(racks=frozenset("a")), Loss(brokers=frozenset({3})), Loss(controllers=frozenset({5})),
        Return(racks=frozenset("a")), UncleanElection(),
    ]),
    min_size=1, max_size=4,
)  # fmt: skip


@given(pictures(), STEPS)
def test_units_answer_as_single_partitions_do(picture, steps):
    rules = PlacementRules([])
    answer = simulate_snapshot(picture, rules, steps)
    whole = simulate(whole_model(picture, rules), steps)
    assert answer.counts == count_outcomes(whole.overall)
    assert [one.counts for one in answer.steps] == [one.cluster for one in whole.steps]
    expected = {(one.topic, one.partition): one for one in whole.overall}
    found = answer.partitions(lambda one: True)
    assert {(one.topic, one.partition): one for one in found} == expected
    for topic in answer.topics:
        of_topic = [one for one in whole.overall if one.topic == topic.name]
        assert topic.counts == count_outcomes(of_topic)
        assert topic.worst_before == max(one.before.severity for one in of_topic)


@given(pictures())
def test_a_packed_picture_is_the_same_again(picture):
    packed, digest = pack(picture)
    again = unpack(packed, (), None)
    assert pack(again)[1] == digest
    assert whole_model(again, PlacementRules([])) == whole_model(picture, PlacementRules([]))


def test_a_topic_that_goes_its_own_way_shares_no_unit():
    facts = [TopicFacts(name, 1, False, "", [0], [0]) for name in ("a", "b")]
    picture = ClusterSnapshot(BROKERS, VOTERS, False, [PartitionClass((1, 2), (1, 2), 1)], facts)
    rules = PlacementRules([])
    assert len(classes_of(picture, rules).model.partitions) == 1
    apart = classes_of(picture, rules, frozenset({"a"}))
    assert [one.topic for one in apart.model.partitions] == ["a", "b"]


@pytest.mark.django_db
def test_pictures_are_read_from_what_is_followed_when_there_is_something():
    cluster = make_sites()
    make_placed(cluster, "orders", [1, 2, 3], [1, 2, 3])
    AvailabilityRound.objects.create(cluster=cluster, noun="status", succeeded_at=NOW)
    PartitionStatus.objects.create(
        cluster=cluster, key="orders:0", topic="orders", partition=0, leader=2, replicas=[1, 2, 3],
        isr=[2], elr=[3], min_insync_replicas=2, known_since=NOW, since=NOW, seen_at=NOW,
        source="log",
    )  # fmt: skip
    (found,) = read_now(cluster).classes
    assert found == PartitionClass((1, 2, 3), (2,), 2, (3,))


@pytest.mark.django_db
def test_voters_that_were_not_judged_are_not_taken_for_alive():
    cluster = make_sites()
    why = "Not checked yet: the leader was elected 3 s before."
    rows = [replica(1, "leader"), replica(2, words=["not_judged"])]
    make_status(make_log(cluster), replicas=rows, memory={"unjudged": why})
    seen = seen_cluster(cluster)
    assert list(seen.model.voters) == []
    assert why in " ".join(seen.gaps)
    assert quorum_outlook(seen.model, {1, 2}).verdict == "unknown"
