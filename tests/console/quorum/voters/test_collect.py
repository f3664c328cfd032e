"""Rounds that describe quorums: what is written, what stays when one fails, and the life of findings."""

from dataclasses import replace
from datetime import timedelta

import pytest

from console.clusters.models import Broker, CollectionRound
from console.findings.models import Finding
from console.quorum import queries
from console.quorum.facts import quorum_facts
from console.quorum.models import QuorumStatus
from console.quorum.voters import collect
from console.quorum.voters.verdict import verdict_of
from jobs.cluster.admin.quorum import (
    NoQuorum,
    QuorumDescription,
    QuorumEndpoint,
    QuorumNode,
    QuorumReplica,
)
from jobs.cluster.errors import NotAuthorized
from tests.console.clusters.making import NOW, later, make_cluster

pytestmark = pytest.mark.django_db
NOW_MS = int(NOW.timestamp() * 1000)


def replica(node, end=1000, fetched_ms=0, caught_ms=0, disk="d"):
    times = (None if ms is None else NOW_MS - ms for ms in (fetched_ms, caught_ms))
    return QuorumReplica(node, disk and f"{disk}{node}", end, *times)


def described(*voters, observers=(), leader=1, **fields):
    voters = voters or (replica(1, fetched_ms=None), replica(2), replica(3))
    nodes = tuple(
        QuorumNode(one.id, (QuorumEndpoint("CONTROLLER", f"c{one.id}.example", 9093),))
        for one in voters
    )
    values = {"leader_epoch": 7, "high_watermark": 1000, "described_at_ms": NOW_MS} | fields
    return QuorumDescription(
        leader, voters=tuple(voters), observers=tuple(observers), nodes=nodes, **values
    )


def moved(told, seconds):
    """The same answer so much later, with all its times."""

    def then(one):
        times = (one.last_fetch_at_ms, one.last_caught_up_at_ms)
        fetched, caught_up = (None if ms is None else ms + seconds * 1000 for ms in times)
        return replace(one, last_fetch_at_ms=fetched, last_caught_up_at_ms=caught_up)

    return replace(
        told,
        voters=tuple(map(then, told.voters)),
        observers=tuple(map(then, told.observers)),
        described_at_ms=told.described_at_ms + seconds * 1000,
    )


def run(cluster, answer, now=NOW):
    """Run a round at a moment, due or not, and return the row; what is answered is as of that moment."""
    QuorumStatus.objects.update(claimed_until=None)

    def door(_connection):
        if isinstance(answer, Exception):
            raise answer
        return moved(answer, int((now - NOW).total_seconds()))

    assert collect.collect_quorum(cluster.pk, lambda: now, door)
    return QuorumStatus.objects.get(log__cluster=cluster)


@pytest.fixture
def cluster():
    return make_cluster("east")


@pytest.fixture
def brokers(cluster):
    """The brokers of the cluster as a later round than the first of the quorum read them: broker 11."""
    Broker.objects.create(cluster=cluster, broker_id=11, changed_at=NOW)
    CollectionRound.objects.update_or_create(
        cluster=cluster, noun="brokers", defaults={"succeeded_at": later(5)}
    )


def codes():
    return set(Finding.objects.filter(closed_at=None).values_list("code", "subject"))


@pytest.mark.parametrize("end", [None, 1001], ids=["never fetched", "ahead of the leader's end"])
def test_a_lag_that_is_not_known_is_neither_0_nor_negative(cluster, end):
    row = run(cluster, described(replica(1, 1000, None), observers=[replica(9, end, None)]))
    (observer,) = (one for one in row.replicas if one["role"] == "observer")
    assert observer["lag"] is None


def test_a_round_writes_who_leads_and_how_far_everybody_has_come(cluster):
    voters = (replica(1, 1000, None), replica(2, 996, 100, 800), replica(3, 1000, 5))
    row = run(cluster, described(*voters, observers=[replica(9, 990)]))
    assert (row.leader_id, row.leader_epoch, row.high_watermark) == (1, 7, 1000)
    assert (row.voter_count, row.observer_count) == (3, 1)
    assert (row.worst_lag, row.worst_lag_ms) == (4, 800)
    assert [one["role"] for one in row.replicas] == ["leader", "voter", "voter", "observer"]
    assert row.replicas[1]["endpoints"] == ["CONTROLLER://c2.example:9093"]
    assert row.replicas[1]["directory_id"] == "d2"


@pytest.mark.parametrize(
    "fault",
    [NotAuthorized("may not describe", cluster="east"), NoQuorum("ZooKeeper", cluster="east")],
    ids=["not allowed", "no quorum"],
)
def test_a_round_that_fails_keeps_what_was_known(cluster, fault):
    run(cluster, described())
    row = run(cluster, fault, later(20))
    assert (row.leader_id, row.succeeded_at) == (1, NOW)
    assert (row.failing_since, row.error_code) == (later(20), fault.code)
    assert run(cluster, fault, later(40)).failing_since == later(20)
    assert run(cluster, described(), later(60)).failing_since is None


def test_what_breaks_inside_is_reported_as_a_failure(cluster):
    row = run(cluster, RuntimeError("boom"))
    assert "a fault of the program" in row.error


@pytest.mark.parametrize(
    ("voters", "observers", "found"),
    [
        ([replica(1, fetched_ms=None), replica(2, fetched_ms=60_000)], [], ("voter_silent", "2")),
        ([replica(1, fetched_ms=None), replica(2, None, None, None)], [], ("voter_silent", "2")),
        ([replica(1, fetched_ms=None)], [replica(7)], ("dangling_controller", "7")),
        ([replica(1, fetched_ms=None), replica(2)], [replica(2, disk="new")],
         ("other_directory", "2")),
    ],
    ids=["a voter is silent", "a voter was never there", "a controller without a vote", "a new disk"],
)  # fmt: skip
@pytest.mark.usefixtures("brokers")
def test_a_wrong_replica_is_a_finding_when_two_rounds_agree(cluster, voters, observers, found):
    answer = described(*voters, observers=observers)
    run(cluster, answer)
    # The leader is in office for longer than its timeout and a round; one round alone opens nothing.
    for seconds in (20, 30):
        run(cluster, answer, later(seconds))
    assert found in codes()


@pytest.mark.usefixtures("brokers")
def test_a_broker_that_observes_is_not_odd(cluster):
    for seconds in (0, 20, 30):
        row = run(cluster, described(observers=[replica(11)]), later(seconds))
    assert row.replicas[-1]["words"] == []


@pytest.mark.usefixtures("brokers")
def test_an_observer_that_came_after_the_brokers_were_read_may_be_a_new_broker(cluster):
    run(cluster, described())
    for seconds in (20, 30, 40):
        row = run(cluster, described(observers=[replica(12)]), later(seconds))
    assert row.replicas[-1]["words"] == []
    assert codes() == set()


def test_a_fenced_broker_without_partitions_is_known_by_the_log(cluster, brokers):
    from console.quorum.models import Kind
    from tests.console.quorum.making import make_log, make_subject

    make_subject(make_log(cluster), Kind.BROKER, "12", broker=12)
    for seconds in (0, 20, 30):
        row = run(cluster, described(observers=[replica(12)]), later(seconds))
    assert row.replicas[-1]["words"] == []


NEW_LEADER = (
    replica(1, fetched_ms=None),
    replica(2, None, None, None),
    replica(3, None, None, None),
)
SILENT = (replica(1, fetched_ms=None), replica(2, fetched_ms=60_000), replica(3))


def words_of(row):
    return {one["id"]: one["words"] for one in row.replicas}


def spare(row):
    """The tile about what may still fail."""
    return next(one for one in quorum_facts(row.log) if one["label"] == "Failures tolerated")


def verdict(cluster, now):
    return verdict_of(queries.list_logs().get(cluster=cluster), now)


def test_after_an_election_nothing_is_judged_before_the_voters_could_fetch(cluster):
    row = run(cluster, described(*NEW_LEADER))
    assert codes() == set()
    assert words_of(row) == {1: [], 2: ["not_judged"], 3: ["not_judged"]}
    assert (spare(row)["word"], spare(row)["severity"]) == ("Unknown", "unknown")
    assert spare(row)["note"] == "Not checked yet: the leader was elected 0 s before."
    assert verdict(cluster, NOW).word == "Unknown"
    row = run(cluster, described(leader_epoch=7), later(10))
    assert (codes(), spare(row)["note"]) == (set(), "3 of 3 voters online")
    assert verdict(cluster, later(10)).word == "Healthy"


def test_a_voter_that_was_killed_is_a_finding_after_two_rounds(cluster):
    run(cluster, described(), later(-60))
    row = run(cluster, described(*SILENT))
    assert (codes(), spare(row)["word"]) == (set(), "Unknown")
    row = run(cluster, described(*SILENT), later(10))
    assert codes() == {("voter_silent", "2"), ("bare_majority", "")}
    assert (spare(row)["note"], words_of(row)[2]) == ("2 of 3 voters online", ["silent"])
    assert Finding.objects.get(code="voter_silent").opened_at == NOW
    assert verdict(cluster, later(10)).word == "2 findings"


def test_tile_and_finding_agree_while_one_voter_is_judged_and_another_is_not_yet(cluster):
    for seconds in (-60, 0):
        run(cluster, described(*SILENT), later(seconds))
    both = (SILENT[0], SILENT[1], replica(3, fetched_ms=11_000))
    row = run(cluster, described(*both), later(10))
    found = Finding.objects.get(code="bare_majority", closed_at=None)
    assert found.sentence.startswith("At most 2 of 3 voters answer")
    assert spare(row)["note"] == "at most 2 of 3 voters online"
    row = run(cluster, described(*both), later(20))
    assert ("no_majority", "") in codes()
    assert ("bare_majority", "") not in codes()
    assert (spare(row)["note"], spare(row)["word"]) == ("1 of 3 voters online", "No majority")


def test_rounds_that_lie_far_apart_do_not_agree(cluster):
    run(cluster, described(), later(-60))
    run(cluster, described(*SILENT))
    run(cluster, described(*SILENT), later(600))
    assert codes() == set()


def test_what_one_leader_said_of_its_voters_is_over_with_the_next(cluster):
    for seconds in (-60, 0, 10):
        run(cluster, described(*SILENT), later(seconds))
    assert ("bare_majority", "") in codes()
    of_next = described(replica(1, None, None, None), replica(2, fetched_ms=None), leader=2)
    row = run(cluster, replace(of_next, leader_epoch=8), later(20))
    assert ("bare_majority", "") not in codes()
    assert ("voter_silent", "2") not in codes()
    assert words_of(row) == {1: ["not_judged"], 2: []}


def test_a_quorum_without_a_leader_is_reported_by_two_rounds(cluster):
    row = run(cluster, described(leader=None))
    leader = quorum_facts(row.log)[0]
    assert (codes(), leader["word"], leader["severity"]) == (set(), "Unknown", "unknown")
    row = run(cluster, described(leader=None, leader_epoch=9), later(10))
    assert ("no_leader", "") in codes()
    assert quorum_facts(row.log)[0]["severity"] == "critical"


def test_a_finding_ends_with_the_round_that_no_longer_sees_it(cluster):
    for seconds in (-60, 0, 10):
        run(cluster, described(*SILENT), later(seconds))
    row = run(cluster, described(), later(20))
    assert codes() == set()
    found = Finding.objects.get(code="voter_silent")
    assert (found.opened_at, found.closed_at) == (later(-60), later(10))
    assert found.duration_ms == 70_000
    assert spare(row)["note"] == "3 of 3 voters online"


@pytest.mark.parametrize(
    ("fault", "word"), [(NoQuorum("ZooKeeper", cluster="east"), "Unknown")], ids=["no quorum"]
)
def test_a_quorum_that_cannot_be_described_is_unknown(cluster, fault, word):
    run(cluster, described())
    assert verdict(cluster, NOW).word == "Healthy"
    run(cluster, fault, later(10))
    assert verdict(cluster, later(10)).word == word
    assert "ZooKeeper" in verdict(cluster, later(10)).why


def test_an_old_description_says_nothing_of_now(cluster):
    run(cluster, described())
    assert verdict(cluster, later(600)).word == "Unknown"


def test_a_claimed_round_is_left_to_the_worker_that_has_it(cluster):
    run(cluster, described())
    assert not collect.collect_quorum(cluster.pk, lambda: later(1), lambda _: described())
    assert cluster.pk not in collect.QUORUMS.due(later(1))
    assert cluster.pk in collect.QUORUMS.due(NOW + timedelta(minutes=2))


def test_a_disabled_cluster_is_not_asked(cluster):
    type(cluster).objects.update(is_enabled=False)
    assert collect.QUORUMS.due(NOW) == []
    assert not collect.collect_quorum(cluster.pk, lambda: NOW, lambda _: described())


def test_a_high_watermark_that_does_not_move_is_found_after_ten_seconds_by_two_rounds(cluster):
    for seconds in (0, 5, 12):
        run(cluster, described(high_watermark=900), later(seconds))
        assert ("high_watermark_stalled", "") not in codes()
    run(cluster, described(high_watermark=900), later(22))
    assert ("high_watermark_stalled", "") in codes()


@pytest.mark.parametrize("epoch", [7, 8], ids=["same leader", "next leader"])
def test_a_high_watermark_that_moves_again_ends_the_finding(cluster, epoch):
    for seconds in (0, 12, 22):
        run(cluster, described(high_watermark=900), later(seconds))
    assert ("high_watermark_stalled", "") in codes()
    run(cluster, described(high_watermark=950, leader_epoch=epoch), later(32))
    assert ("high_watermark_stalled", "") not in codes()


@pytest.fixture
def followed(cluster):
    """A log that is followed, up to offset 1000, with the voters 1 and 2 and leader 1 in epoch 7."""
    from tests.console.quorum.making import make_election, make_log, make_voter_set, voter

    log = make_log(cluster, high_watermark=999, leader_epoch=7)
    make_voter_set(log, 0, 100, *(voter(n, f"d{n}") for n in (1, 2)))
    make_election(log, 1, 90, 1)
    return log


def test_a_log_that_names_other_voters_than_the_leader_is_a_finding(cluster, followed):
    for seconds in (0, 10):
        run(cluster, described(), later(seconds))
    assert ("log_disagrees", "voters") in codes()


def test_a_change_of_voters_behind_the_description_contradicts_nothing(cluster, followed):
    from tests.console.quorum.making import make_voter_set, voter

    make_voter_set(followed, 1001, 5, *(voter(n, f"d{n}") for n in (1, 2, 3, 4)))
    followed.next_offset = 1200
    followed.save()
    two = (replica(1, fetched_ms=None), replica(2))
    for seconds in (0, 10):
        run(cluster, described(*two), later(seconds))
    assert ("log_disagrees", "voters") not in codes()


def test_a_log_that_read_the_next_epoch_after_the_answer_contradicts_nothing(cluster, followed):
    def door(_connection):
        type(followed).objects.filter(pk=followed.pk).update(leader_epoch=8)
        return described(replica(1, fetched_ms=None), replica(2))

    for seconds in (0, 10):
        QuorumStatus.objects.update(claimed_until=None)
        type(followed).objects.filter(pk=followed.pk).update(leader_epoch=7)
        collect.collect_quorum(cluster.pk, lambda seconds=seconds: later(seconds), door)
    assert ("log_disagrees", "epoch") not in codes()


def test_an_epoch_that_the_log_had_before_the_quorum_was_described_is_a_contradiction(
    cluster, followed
):
    followed.leader_epoch = 8
    followed.save()
    run(cluster, described(replica(1, fetched_ms=None), replica(2)))
    assert ("log_disagrees", "epoch") not in codes()
    run(cluster, described(replica(1, fetched_ms=None), replica(2)), later(10))
    assert ("log_disagrees", "epoch") in codes()
