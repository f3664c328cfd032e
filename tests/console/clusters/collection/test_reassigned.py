"""Replicas that a reassignment adds: what a round makes of two answers of different moments."""

import pytest

from console.availability.collection import collect
from console.availability.status.models import OutOfSyncSpan, PartitionStatus
from console.clusters.models import Partition, Topic
from jobs.cluster.admin.reassignments import Reassignment
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import NotAuthorized
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.clusters.making import later, make_cluster, run_rounds

pytestmark = pytest.mark.django_db
WHERE = TopicPartition("orders", 0)
MOVED = {"leader": 1, "replicas": (1, 2, 3, 4), "isr": (1, 2, 3)}
MOVE = Reassignment((1, 2, 3, 4), (4,), (3,))


class Asked:
    """A cluster with one partition, whose rounds both rooms take in."""

    def __init__(self):
        self.kafka, self.cluster, self.at = FakeKafka(), make_cluster(), later(0)
        self.kafka.add_topic("orders", 1)

    def round(self, at_s=0, **partition):
        if partition:
            self.kafka.set_partition("orders", 0, **partition)
        self.at = later(at_s)
        self.rounds = run_rounds(self.cluster, self.kafka, self.at)
        assert collect.take_in(self.cluster.pk, lambda: self.at)
        return self

    @property
    def state(self):
        seen, status = Partition.objects.get(), PartitionStatus.objects.get()
        assert (seen.adding, seen.removing) == (status.adding, status.removing)
        assert (seen.severity, seen.is_unsure) == (status.severity, status.is_unsure)
        return status


@pytest.fixture
def asked():
    return Asked()


def refused():
    fault = NotAuthorized("Listing reassignments: not authorized.", cluster="east")
    fault.hint = "Listing reassignments needs the operation DESCRIBE on the cluster."
    return fault


def test_what_a_reassignment_adds_is_not_missing(asked):
    asked.kafka.reassignments[WHERE] = MOVE
    state = asked.round(**MOVED).state
    assert (state.adding, state.removing, state.missing) == ([4], [3], [])
    assert (state.get_severity_display(), state.counted_text) == ("ok", "")
    assert Topic.objects.get().under_replicated_count == 0
    assert not OutOfSyncSpan.objects.exists()


def test_a_reassignment_that_began_after_the_first_answer_is_in_the_second(asked):
    answers = [{}, {WHERE: MOVE}]
    asked.kafka.list_reassignments = lambda: answers.pop(0)
    assert asked.round(**MOVED).state.adding == [4]


def test_an_answer_counts_only_with_the_replicas_of_the_metadata(asked):
    asked.kafka.reassignments[WHERE] = Reassignment((1, 2, 5), (5,), ())
    state = asked.round(leader=1, isr=(1, 2)).state
    assert (state.adding, state.missing, state.get_severity_display()) == ([], [3], "at_min_isr")


def test_a_partition_that_changed_between_the_answers_is_not_judged_until_the_next_round(asked):
    asked.kafka.reassignments[WHERE] = MOVE
    asked.round(**MOVED)
    asked.kafka.reassignments.clear()
    state = asked.round(10).state
    assert (state.adding, state.is_unsure, state.missing) == (None, True, [])
    state = asked.round(20).state
    assert (state.adding, state.missing) == ([], [4])


def test_where_all_replicas_are_in_sync_reassignments_are_listed_once(asked):
    asked.round()
    assert asked.kafka.asked.count("list_reassignments") == 1


def test_without_the_right_new_replicas_out_of_sync_are_not_judged(asked):
    asked.kafka.faults["list_reassignments"] = refused()
    state = asked.round().state
    assert (state.adding, state.is_unsure) == ([], False)
    state = asked.round(10, **MOVED).state
    assert (state.adding, state.is_unsure, state.missing, state.counted_text) == (
        None,
        True,
        [],
        "",
    )
    assert Topic.objects.get().unsure_count == 1
    assert not OutOfSyncSpan.objects.exists()
    assert "needs the operation DESCRIBE on the cluster" in asked.rounds["topics"].error


def test_without_the_right_a_replica_that_was_in_sync_is_missing(asked):
    asked.kafka.faults["list_reassignments"] = refused()
    state = asked.round().round(10, leader=1, isr=(1, 2)).state
    assert (state.adding, state.missing, state.get_severity_display()) == ([], [3], "at_min_isr")


def test_without_the_right_min_isr_is_judged_all_the_same(asked):
    asked.kafka.faults["list_reassignments"] = refused()
    state = asked.round(leader=1, isr=(1,)).state
    assert (state.get_severity_display(), state.is_unsure) == ("under_min_isr", False)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/availability/east/", "Replica state unknown"),
        ("/availability/east/partitions/?severity=unknown", "Unknown"),
        ("/clusters/east/partitions/?state=unknown", "Unknown"),
        ("/clusters/east/topics/?state=unknown", "Unknown"),
    ],
)
def test_pages_say_what_is_not_known(asked, viewer, sign_in, address, words):
    asked.kafka.faults["list_reassignments"] = refused()
    asked.round(**MOVED)
    page = sign_in(viewer).get(address).content.decode()
    assert words in page


@pytest.mark.parametrize("route", ["topics", "partitions", "availability/partitions"])
def test_routes_say_what_is_not_known(asked, viewer, sign_in, route):
    asked.kafka.faults["list_reassignments"] = refused()
    asked.round(**MOVED)
    visitor = sign_in(viewer)
    found = visitor.get(f"/api/v1/{route}/?cluster=east&severity=unknown").json()["results"]
    assert [one["severity"] for one in found] == ["unknown"]
    assert not visitor.get(f"/api/v1/{route}/?cluster=east&severity=ok").json()["results"]
    whole = visitor.get("/api/v1/availability/east/").json()
    assert (whole["worst"], whole["counts"]["unsure"]) == ("unknown", 1)
